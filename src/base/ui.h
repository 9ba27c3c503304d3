/*
 * base/ui.h - how the rooms below a command speak to the person in front of it.
 *
 * Commands fill it; everybody else only calls ui_progress and ui_note. A zeroed
 * struct is silent, which is what tests use.
 */
#pragma once

#include "base/base.h"

struct ui {
	/* Called from one thread, at most some ten times a second. total 0 is unknown; both 0: what says it. */
	void (*progress)(const struct ui *ui, const char *what, uint64_t done, uint64_t total);
	/* One line for stderr: a loss, a choice made. Never an error. */
	void (*note)(const struct ui *ui, const char *text);
	bool colour;
	bool quiet;
	int width; /* columns of the terminal on stdout; 0 when it is none */
};

/* Tell how far a long work is. */
void ui_progress(const struct ui *ui, const char *what, uint64_t done, uint64_t total);

/* Tell a loss or a choice in one line. */
void ui_note(const struct ui *ui, const char *format, ...) PRINTF(2, 3);
