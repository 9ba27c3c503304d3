/*
 * cmd/ui.c - the terminal: notes and progress on stderr, colour on stdout.
 *
 * Progress is only for a person: it needs a terminal, and leaves no trace on
 * it. NO_COLOR and TERM=dumb are honoured.
 */
#include "cmd/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"

static const char erase_line[] = "\r\033[K";

static void show_progress(const struct ui *ui, const char *what, uint64_t done, uint64_t total)
{
	if (ui->quiet)
		return;
	if (total)
		fprintf(stderr, "%s%s %d %%", erase_line, what, (int)(100.0 * (double)done / (double)total));
	else if (!done)
		fprintf(stderr, "%s%s", erase_line, what);
	else
		fprintf(stderr, "%s%s %.1f MB", erase_line, what, (double)done / 1e6);
	fflush(stderr);
}

static void show_note(const struct ui *ui, const char *text)
{
	if (ui->quiet)
		return;
	ui_clear(ui);
	fflush(stdout);
	fprintf(stderr, "fathom: note: %s\n", text);
}

void ui_clear(const struct ui *ui)
{
	if (ui->progress)
		fputs(erase_line, stderr);
}

struct ui ui_of_terminal(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	const bool is_dumb = !term || strcmp(term, "dumb") == 0;

	return (struct ui){
		.progress = isatty(STDERR_FILENO) && !is_dumb ? show_progress : NULL,
		.note = show_note,
		.colour = isatty(STDOUT_FILENO) && !is_dumb && !(no_color && *no_color),
		.width = os_terminal_width(STDOUT_FILENO),
	};
}
