/*
 * cmd/info_recording.c - how a recording of fathom profile was made: what was
 * not recorded, its windows, what it cost, and why a process has no kernels.
 * Other formats have no such rows.
 */
#include "cmd/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/recording.h"

const struct sheet_column info_recording_columns[N_RECORDING_COLUMNS] = {
	{ .name = "pid", .title = "PID", .unit = UNIT_ID },
	{ .name = "what", .title = "What", .unit = UNIT_TEXT },
	{ .name = "value", .title = "Value", .unit = UNIT_TEXT },
};

static void add(const struct trace *trace, struct sheet *out, ref process, const char *what, const char *value)
{
	struct cell *row = sheet_add_row(out);
	const bool is_known = trace->process.state == STATE_RECORDED && process < trace->process.n;
	const int64_t pid = is_known ? trace->process.pid[process] : NULL_i64;

	row[0] = pid == NULL_i64 ? (struct cell){ CELL_NULL, { 0 } } : cell_integer(pid);
	row[1] = cell_text(arena_copy(out->arena, what, strlen(what)));
	row[2] = cell_text(arena_copy(out->arena, value, strlen(value)));
}

static bool is(const struct trace *trace, str_id text, const char *word)
{
	const char *s = trace_text(trace, text);

	return s && strcmp(s, word) == 0;
}

/* A fact's value, or NULL; process is that of the fact. */
static const char *fact_of(const struct trace *trace, ref process, const char *scope, const char *name)
{
	const struct fact_table *f = &trace->fact;

	for (size_t i = 0; i < f->n; i++)
		if (f->process[i] == process && is(trace, f->scope[i], scope) && is(trace, f->name[i], name))
			return trace_text(trace, f->value[i]);
	return NULL;
}

/* ---- windows and the launcher's words ---- */

static void add_facts(const struct trace *trace, struct sheet *out, const char *scope)
{
	const struct fact_table *f = &trace->fact;

	for (size_t i = 0; i < f->n; i++) {
		const char *name = trace_text(trace, f->name[i]), *value = trace_text(trace, f->value[i]);
		long long begin, end;
		char text[96];

		if (!is(trace, f->scope[i], scope) || !name || !value)
			continue;
		if (sscanf(value, "%lld..%lld ns", &begin, &end) == 2) {
			snprintf(text, sizeof(text), "%.3f to %.3f ms", (double)begin / 1e6, (double)end / 1e6);
			value = text;
		}
		add(trace, out, f->process[i], name, value);
	}
}

/* ---- the ledger ---- */

static void add_costs(const struct trace *trace, struct sheet *out)
{
	const struct fact_table *f = &trace->fact;

	for (size_t i = 0; i < f->n; i++) {
		const char *scope = trace_text(trace, f->scope[i]), *calls = trace_text(trace, f->value[i]), *ns;
		char text[160];

		if (!scope || !calls || strncmp(scope, "cost of ", 8) != 0 || !is(trace, f->name[i], "calls"))
			continue;
		ns = fact_of(trace, f->process[i], scope, "estimated ns");
		if (ns)
			snprintf(text, sizeof(text), "%s times, some %.3f ms", calls, strtod(ns, NULL) / 1e6);
		else
			snprintf(text, sizeof(text), "%s times, too few to measure", calls);
		add(trace, out, f->process[i], scope, text);
	}
}

/* ---- processes without kernels ---- */

static bool has_kernels(const struct trace *trace, ref process)
{
	if (trace->kernel.state != STATE_RECORDED || trace->stream.state != STATE_RECORDED)
		return false;
	for (size_t i = 0; i < trace->kernel.n; i++)
		if (trace->kernel.track[i] < trace->stream.n && trace->stream.process[trace->kernel.track[i]] == process)
			return true;
	return false;
}

/* Why, as a loss of this process tells; NULL when none does. */
static const char *loss_of(const struct trace *trace, int64_t pid)
{
	char place[40];
	const size_t n = (size_t)snprintf(place, sizeof(place), "process %lld", (long long)pid);

	for (size_t i = 0; i < trace->loss.n; i++) {
		const char *at = trace_text(trace, trace->loss.place[i]);

		if (at && strncmp(at, place, n) == 0 && (at[n] == ' ' || at[n] == '\0') &&
		    (is(trace, trace->loss.kind[i], "not_recorded") || is(trace, trace->loss.kind[i], "missing_kernels")))
			return trace_text(trace, trace->loss.detail[i]);
	}
	return NULL;
}

static void add_silent(const struct trace *trace, struct sheet *out)
{
	for (size_t p = 0; trace->process.state == STATE_RECORDED && p < trace->process.n; p++) {
		const char *cupti = fact_of(trace, (ref)p, "collector", "CUPTI");
		const char *why;

		if (!cupti || has_kernels(trace, (ref)p))
			continue;
		why = loss_of(trace, trace->process.pid[p]);
		if (!why && strcmp(cupti, "ready") == 0)
			why = fact_of(trace, (ref)p, "collector", "kernels launched") ? "none was launched in a window" :
											 "it launched none";
		add(trace, out, (ref)p, "no kernels", why ? why : cupti);
	}
}

/* ---- what the collector said while it recorded ---- */

static void add_messages(const struct trace *trace, struct sheet *out)
{
	struct recording_message said[MOST_MESSAGES];
	const size_t n = recording_messages(trace, said);

	for (size_t i = 0; i < n; i++)
		add(trace, out, said[i].process, "message", said[i].text);
}

void info_fill_recording(const struct trace *trace, bool all, struct sheet *out)
{
	(void)all;
	if (trace->fact.state != STATE_RECORDED)
		return;
	add_facts(trace, out, "profile");
	add_facts(trace, out, "window");
	add_silent(trace, out);
	add_costs(trace, out);
	add_messages(trace, out);
}
