/* answer/sections_memory.c - copies, peaks, growth, who holds memory, and why an allocation failed; see answer.h. */
#include "answer/answer.h"

static const char *bytes_or_dash(const struct speech *s, int64_t bytes)
{
	return bytes == NULL_i64 ? "-" : say_bytes(s, (double)bytes);
}

static void add_copies(const struct answer *a, struct document *d, struct section *section)
{
	static const enum phrase_id titles[] = { SAY_col_direction, SAY_col_calls, SAY_col_bytes,
		                                 SAY_col_total,     SAY_col_rate,  SAY_col_pageable };
	const struct speech *s = &a->speech;
	const struct memory_facts *m = &a->facts->memory;
	struct block *table;

	if (!m->n_copies) {
		add_note(d, section, say(s, SAY_empty_copies));
		return;
	}
	table = add_table(d, section, "tnnnnn", titles);
	for (size_t i = 0; i < m->n_copies; i++) {
		const struct copy_fact *c = &m->copies[i];

		block_row(d, table,
		          (const char *[]){ c->kind, say_count(s, c->n), say_bytes(s, c->bytes), say_ns(s, c->total_ns),
		                            say_rate(s, c->bytes_per_s),
		                            c->knows_memory && c->bytes > 0
		                                    ? say_percent(s, c->pageable_bytes / c->bytes)
		                                    : NULL });
	}
	add_note(d, section, say(s, SAY_note_copies));
}

static void add_blocks(const struct answer *a, struct document *d, struct section *section, const struct block_fact *of,
                       size_t n)
{
	static const enum phrase_id titles[] = { SAY_col_bytes, SAY_col_at, SAY_col_op, SAY_col_where };
	const struct speech *s = &a->speech;
	const int64_t span_ns = a->facts->environment.recorded_ns;
	struct block *table = add_table(d, section, "nnww", titles);

	for (size_t i = 0; i < n; i++)
		block_row(d, table,
		          (const char *[]){ say_bytes(s, (double)of[i].bytes), say_moment(s, of[i].at_ns, span_ns),
		                            say_name(s, of[i].op), say_name(s, of[i].where) });
}

static void add_peaks(const struct answer *a, struct document *d, struct section *section)
{
	const struct speech *s = &a->speech;
	const struct memory_facts *m = &a->facts->memory;
	const int64_t peak = m->peak_reserved_bytes != NULL_i64 ? m->peak_reserved_bytes : m->peak_driver_bytes;

	add_note(d, section,
	         say_with(s, SAY_note_memory, bytes_or_dash(s, m->peak_allocated_bytes),
	                  bytes_or_dash(s, m->peak_reserved_bytes), bytes_or_dash(s, m->peak_driver_bytes),
	                  bytes_or_dash(s, m->device_bytes)));
	if (peak != NULL_i64 && m->device_bytes != NULL_i64 && peak >= 0 && peak <= m->device_bytes)
		add_note(d, section,
		         say_with(s, SAY_note_headroom,
		                  say_percent(s, (double)(m->device_bytes - peak) / (double)m->device_bytes)));
	if (m->growth_bytes != NULL_i64 && m->n_block_steps)
		add_note(d, section,
		         say_with(s, SAY_note_growth, say_bytes(s, (double)m->growth_bytes),
		                  say_count(s, m->n_block_steps),
		                  say_number(s, (double)m->n_step_blocks / (double)m->n_block_steps, 1),
		                  say_bytes(s, (double)m->step_bytes / (double)m->n_block_steps),
		                  say(s, m->is_framework ? SAY_by_framework : SAY_by_driver)));
}

static void add_held(const struct answer *a, struct document *d, struct section *section)
{
	const struct speech *s = &a->speech;
	const struct memory_facts *m = &a->facts->memory;

	if (m->n_at_peak) {
		add_blocks(a, d, section, m->at_peak, m->n_at_peak);
		add_note(d, section,
		         say_with(s, SAY_note_blocks, say_bytes(s, (double)m->alive_bytes), say_count(s, m->n_alive),
		                  bytes_or_dash(s, m->peak_allocated_bytes != NULL_i64 ? m->peak_allocated_bytes
		                                                                       : m->peak_driver_bytes)));
	}
	if (m->n_frees) {
		add_blocks(a, d, section, m->frees, m->n_frees);
		add_note(d, section, say(s, SAY_note_frees));
	}
	add_note(d, section, say(s, SAY_note_history));
}

const char *say_shortage(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const struct memory_facts *m = &a->facts->memory;
	int64_t unused = NULL_i64;

	if (m->failed_reserved != NULL_i64 && m->failed_allocated != NULL_i64 &&
	    !__builtin_sub_overflow(m->failed_reserved, m->failed_allocated, &unused) && m->failed_bytes != NULL_i64 &&
	    unused >= m->failed_bytes)
		return say_with(s, SAY_oom_fragments, say_bytes(s, (double)unused));
	if (m->growth_bytes != NULL_i64 && m->growth_bytes > 0)
		return say_with(s, SAY_oom_grows, say_bytes(s, (double)m->growth_bytes));
	return say(s, SAY_oom_peak);
}

void section_memory(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	const struct memory_facts *m = &a->facts->memory;
	struct section *section = document_section(d, "memory", say(s, SAY_section_memory), false);

	add_copies(a, d, section);
	if (m->n_failed) {
		add_paragraph(
			d, section, TONE_BAD,
			say_with(s, SAY_note_failed, say_count(s, m->n_failed), bytes_or_dash(s, m->failed_bytes)));
		add_paragraph(d, section, TONE_PLAIN,
		              say_with(s, SAY_note_failed_with, bytes_or_dash(s, m->failed_allocated),
		                       bytes_or_dash(s, m->failed_reserved), say_shortage(a)));
	}
	if (m->has_events) {
		add_peaks(a, d, section);
		add_held(a, d, section);
	} else {
		add_note(d, section, say_with(s, SAY_empty_memory, say(s, SAY_need_memory)));
	}
	add_note(d, section,
	         say_with(s, SAY_note_alloc_calls, say_count(s, m->n_calls), say_ns(s, m->call_ns),
	                  say_count(s, m->n_steady_calls)));
}
