/* base/ui.c - see ui.h. */
#include "base/ui.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

void ui_progress(const struct ui *ui, const char *what, uint64_t done, uint64_t total)
{
	if (ui && ui->progress)
		ui->progress(ui, what, done, total);
}

void ui_note(const struct ui *ui, const char *format, ...)
{
	char text[2048];
	va_list args;

	if (!ui || !ui->note)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	keep_one_line(text);
	ui->note(ui, text);
}
