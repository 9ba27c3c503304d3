/*
 * cmd/losses.c - tells what a trace lacks; every command that prints numbers
 * of a trace calls it. No loss is silent: it is told on stderr under --quiet
 * as well.
 */
#include "cmd/command.h"

#include <string.h>

#include "trace/trace.h"

/* True for a file among several that could not be read: import said so when it met it. */
static bool is_told(const struct trace *trace, const char *kind, const char *place, const char *detail)
{
	const size_t n = place ? strlen(place) : 0;

	return !trace->file && kind && strcmp(kind, "unreadable") == 0 && detail && n &&
	       strncmp(detail, place, n) == 0 && detail[n] == ':';
}

void note_losses(struct trace *trace, const struct ui *asked)
{
	struct ui loud = *asked, *ui = &loud;
	static const struct need needs[] = { NEED(loss), NEED(source) };
	const struct loss_table *loss = &trace->loss;
	struct err err;

	loud.quiet = false;
	if (!trace_need(trace, needs, ARRAY_LEN(needs), &err)) {
		ui_note(ui, "%s: what was lost is not known: %s", trace->path, err.text);
		return;
	}
	for (size_t i = 0; i < loss->n; i++) {
		const ref source = loss->source[i];
		const char *name = source < trace->source.n ? trace_text(trace, trace->source.name[source]) : NULL;
		const char *detail = trace_text(trace, loss->detail[i]);
		const char *place = trace_text(trace, loss->place[i]), *kind = trace_text(trace, loss->kind[i]);

		if (is_told(trace, kind, place, detail))
			continue;
		/* The place of what a whole file lost is the file. */
		if (name && place && strcmp(name, place) == 0)
			place = "file";
		ui_note(ui, "%s: %s: %llu %s%s%s", name ? name : trace->path, place ? place : "somewhere",
			(unsigned long long)loss->amount[i], kind ? kind : "lost", detail ? ", " : "",
			detail ? detail : "");
	}
}
