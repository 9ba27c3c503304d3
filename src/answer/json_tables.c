/* answer/json_tables.c - the tables of a report as JSON; see docs/analysis/json.md. */
#include <math.h>

#include "analysis/thresholds.h"
#include "answer/json_parts.h"

enum { MOST_ROWS = 100 };

void fields_environment(struct json *j, const struct answer *a)
{
	const struct environment *e = &a->facts->environment;
	static const char *const workloads[] = {
		[WORKLOAD_UNKNOWN] = NULL, [WORKLOAD_TRAINING] = "training", [WORKLOAD_INFERENCE] = "inference"
	};

	field_begin(j, "environment", '{');
	field_text(j, "files", e->files);
	field_text(j, "formats", e->formats);
	field_text(j, "producer", e->producer);
	field_text(j, "command", e->command);
	field_text(j, "started", e->started);
	field_int(j, "recorded_ns", e->recorded_ns);
	field_int(j, "recorded_from_ns", a->a->tl.first_ns);
	field_int(j, "recorded_to_ns", a->a->tl.last_ns);
	field_text(j, "host", e->host);
	field_text(j, "devices", e->devices);
	field_count(j, "device_count", e->n_devices);
	field_text(j, "driver", e->driver);
	field_text(j, "cuda", e->cuda);
	field_int(j, "world", e->world == NULL_i32 ? NULL_i64 : e->world);
	field_text(j, "workload", workloads[a->facts->workload]);
	field_text(j, "condition_hash", e->condition_hash);
	field_begin(j, "conditions", '[');
	for (int c = 0; c < N_CONDITIONS; c++) {
		if (!e->conditions.value[c])
			continue;
		field_flat(j, NULL, '{');
		field_text(j, "name", condition_defs[c].name);
		field_text(j, "value", e->conditions.value[c]);
		field_bool(j, "blocks", condition_defs[c].blocks);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_end(j, '}');
}

void fields_kernels(struct json *j, const struct answer *a)
{
	const struct facts *f = a->facts;

	field_begin(j, "kernels", '{');
	field_int(j, "accumulated_ns", f->kernel_total_ns);
	field_count(j, "names", f->n_kernels);
	field_begin(j, "of", '[');
	for (size_t i = 0; i < f->n_kernels && i < MOST_ROWS; i++) {
		const struct kernel_fact *k = &f->kernels[i];

		field_flat(j, NULL, '{');
		field_text(j, "name", k->name);
		field_count(j, "calls", k->of.n);
		field_int(j, "total_ns", k->clipped_ns);
		field_part(j, "share_of_accumulated", k->clipped_ns, f->kernel_total_ns);
		field_double(j, "mean_ns", k->of.mean_ns);
		field_double(j, "median_ns", k->of.median_ns);
		field_double(j, "p95_ns", k->of.p95_ns);
		field_int(j, "on_path_ns", k->on_path_ns);
		field_int(j, "ceiling_ns", k->ceiling_ns);
		field_bool(j, "communication", k->is_comm);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_end(j, '}');
}

void fields_api(struct json *j, const struct answer *a)
{
	const struct facts *f = a->facts;
	const struct wait_blames *w = &a->a->waits;

	field_begin(j, "api", '{');
	field_int(j, "accumulated_ns", f->api_total_ns);
	field_flat(j, "waits", '{');
	field_count(j, "waits", w->n_waits);
	field_count(j, "late", w->n_late);
	field_count(j, "unresolved", w->n_unresolved);
	field_int(j, "device_wait_ns", w->device_wait_ns);
	field_int(j, "return_ns", w->return_ns);
	field_int(j, "late_ns", w->late_ns);
	field_end(j, '}');
	field_begin(j, "of", '[');
	for (size_t i = 0; i < f->n_apis && i < MOST_ROWS; i++) {
		const struct api_fact *c = &f->apis[i];

		field_flat(j, NULL, '{');
		field_text(j, "name", c->name);
		field_count(j, "calls", c->of.n);
		field_int(j, "total_ns", c->clipped_ns);
		field_part(j, "share_of_api", c->clipped_ns, f->api_total_ns);
		field_double(j, "mean_ns", c->of.mean_ns);
		field_double(j, "median_ns", c->of.median_ns);
		field_double(j, "p95_ns", c->of.p95_ns);
		field_int(j, "waiting_ns", c->waiting_ns);
		field_int(j, "backpressure_ns", c->backpressure_ns);
		field_count(j, "failed", c->n_failed);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_begin(j, "waited_for", '[');
	for (size_t i = 0; i < w->n && i < MOST_ROWS; i++) {
		field_flat(j, NULL, '{');
		field_text(j, "call", trace_text(a->a->trace, w->of[i].sync_name));
		field_text(j, "work", trace_text(a->a->trace, w->of[i].launch_name));
		field_count(j, "waits", w->of[i].n_waits);
		field_int(j, "device_wait_ns", w->of[i].device_wait_ns);
		field_int(j, "return_ns", w->of[i].return_ns);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_end(j, '}');
}

void fields_launch_phases(struct json *j, const struct answer *a)
{
	const struct facts *f = a->facts;

	field_begin(j, "launch_phases", '[');
	for (size_t i = 0; i < f->n_kernels && i < MOST_ROWS; i++) {
		const struct kernel_fact *k = &f->kernels[i];

		field_flat(j, NULL, '{');
		field_text(j, "name", k->name);
		field_count(j, "launches", k->n_phases);
		field_double(j, "api_pre_ns", k->api_pre_ns);
		field_double(j, "queue_wait_ns", k->queue_wait_ns);
		field_double(j, "launch_latency_ns", k->launch_latency_ns);
		field_double(j, "exec_ns", k->exec_ns);
		field_count(j, "orphans", k->n_orphans);
		field_count(j, "inverted", k->n_inverted);
		field_end(j, '}');
	}
	field_end(j, ']');
}

void fields_comm(struct json *j, const struct answer *a)
{
	const struct ranks *r = &a->a->ranks;

	field_begin(j, "communication", '[');
	for (size_t i = 0; i < r->n_rows && i < MOST_ROWS; i++) {
		const struct comm_row *c = &r->rows[i];

		field_flat(j, NULL, '{');
		field_text(j, "name", c->name);
		field_text(j, "group", c->group);
		field_text(j, "dtype", c->dtype);
		field_int(j, "group_size", c->group_size == NULL_i32 ? NULL_i64 : c->group_size);
		field_count(j, "calls", c->n_calls);
		field_int(j, "bytes", c->bytes);
		field_int(j, "total_ns", c->total_ns);
		field_int(j, "exposed_ns", c->exposed_ns);
		field_double(j, "overlap", c->overlap);
		field_int(j, "wait_ns", c->wait_ns);
		field_int(j, "transfer_ns", c->transfer_ns);
		field_double(j, "algbw_bytes_per_s", c->algbw);
		field_double(j, "busbw_bytes_per_s", c->busbw);
		field_double(j, "effective_busbw_bytes_per_s", c->effective_busbw);
		field_end(j, '}');
	}
	field_end(j, ']');
}

static void add_rank(struct json *j, const struct ranks *r, size_t i)
{
	const struct rank_summary *s = &r->of[i];
	const struct rank_clock *c = r->clocks ? &r->clocks[i] : NULL;

	field_begin(j, NULL, '{');
	field_int(j, "rank", s->rank);
	field_count(j, "device", s->device);
	field_count(j, "collectives", s->n_collectives);
	field_count(j, "last", s->n_late);
	field_int(j, "wait_ns", s->wait_ns);
	field_int(j, "transfer_ns", s->transfer_ns);
	field_int(j, "caused_ns", s->caused_ns);
	field_int(j, "critical_ns", s->critical_ns);
	field_bool(j, "straggler", s->is_straggler);
	field_bool(j, "persistent", s->is_persistent);
	field_text(j, "cause", s->is_straggler ? lateness_name(s->cause) : NULL);
	field_text(j, "also", s->is_straggler && s->also != LATE_UNKNOWN ? lateness_name(s->also) : NULL);
	field_text(j, "extra_kernel", s->extra_kernel);
	field_double(j, "extra_per_step", s->extra_kernel ? s->extra_per_step : NAN);
	field_int(j, "extra_ns_per_step", s->extra_kernel ? s->extra_ns_per_step : NULL_i64);
	field_int(j, "at_peer_speed_ns", s->at_peer_speed_ns);
	field_bool(j, "clock_aligned", c && c->is_aligned);
	field_int(j, "clock_correction_ns", c && c->is_aligned ? c->correction_ns : NULL_i64);
	field_int(j, "clock_error_ns", c && c->is_aligned ? c->error_ns : NULL_i64);
	field_end(j, '}');
}

void fields_ranks(struct json *j, const struct answer *a)
{
	const struct ranks *r = &a->a->ranks;

	field_begin(j, "ranks", '{');
	field_text(j, "reason", say_text(&a->speech, r->reason));
	field_count(j, "collectives", r->n_collectives);
	field_count(j, "split", r->n_split);
	field_count(j, "incomplete", r->n_incomplete);
	field_count(j, "rejected", r->n_rejected);
	field_begin(j, "of", '[');
	for (size_t i = 0; i < r->n_ranks; i++)
		add_rank(j, r, i);
	field_end(j, ']');
	field_end(j, '}');
}

static void add_blocks(struct json *j, const char *name, const struct block_fact *of, size_t n)
{
	field_begin(j, name, '[');
	for (size_t i = 0; i < n; i++) {
		field_flat(j, NULL, '{');
		field_int(j, "bytes", of[i].bytes);
		field_int(j, "at_ns", of[i].at_ns);
		field_text(j, "op", of[i].op);
		field_text(j, "function", of[i].where);
		field_end(j, '}');
	}
	field_end(j, ']');
}

void fields_memory(struct json *j, const struct answer *a)
{
	const struct memory_facts *m = &a->facts->memory;

	field_begin(j, "memory", '{');
	field_begin(j, "copies", '[');
	for (size_t i = 0; i < m->n_copies; i++) {
		const struct copy_fact *c = &m->copies[i];

		field_flat(j, NULL, '{');
		field_text(j, "kind", c->kind);
		field_count(j, "copies", c->n);
		field_double(j, "bytes", c->bytes);
		field_int(j, "total_ns", c->total_ns);
		field_double(j, "bytes_per_s", c->bytes_per_s);
		field_int(j, "pageable", c->knows_memory ? (int64_t)c->n_pageable : NULL_i64);
		field_double(j, "pageable_bytes", c->knows_memory ? c->pageable_bytes : NAN);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_bool(j, "has_events", m->has_events);
	field_int(j, "peak_allocated_bytes", m->peak_allocated_bytes);
	field_int(j, "peak_reserved_bytes", m->peak_reserved_bytes);
	field_int(j, "peak_driver_bytes", m->peak_driver_bytes);
	field_int(j, "peak_at_ns", m->peak_at_ns);
	field_int(j, "device_bytes", m->device_bytes);
	field_count(j, "failed", m->n_failed);
	field_int(j, "failed_bytes", m->failed_bytes);
	field_int(j, "failed_allocated_bytes", m->failed_allocated);
	field_int(j, "failed_reserved_bytes", m->failed_reserved);
	field_text(j, "allocator", !m->n_frees && !m->n_alive ? NULL : m->is_framework ? "framework" : "driver");
	field_int(j, "growth_per_step_bytes", m->growth_bytes);
	field_count(j, "blocks_in_steps", m->n_step_blocks);
	field_int(j, "bytes_in_steps", m->step_bytes);
	field_count(j, "alive_blocks", m->n_alive);
	field_int(j, "alive_bytes", m->alive_bytes);
	add_blocks(j, "at_peak", m->at_peak, m->n_at_peak);
	add_blocks(j, "largest_frees", m->frees, m->n_frees);
	field_count(j, "calls", m->n_calls);
	field_count(j, "calls_in_steps", m->n_steady_calls);
	field_int(j, "call_ns", m->call_ns);
	field_end(j, '}');
}

void fields_loss(struct json *j, const struct answer *a)
{
	static const char *const quarantines[N_QUARANTINES] = {
		[QUARANTINE_REVERSED] = "reversed",
		[QUARANTINE_ZERO] = "zero_timestamp",
		[QUARANTINE_NO_TRACK] = "no_track",
		[QUARANTINE_OVERFLOW] = "overflow",
	};
	const struct timeline *tl = &a->a->tl;
	const struct trace *t = a->a->trace;

	field_begin(j, "loss", '{');
	field_begin(j, "told", '[');
	for (size_t i = 0; i < t->loss.n && i < MOST_ROWS; i++) {
		field_flat(j, NULL, '{');
		field_text(j, "kind", trace_text(t, t->loss.kind[i]));
		field_text(j, "place", trace_text(t, t->loss.place[i]));
		field_count(j, "amount", t->loss.amount[i] == NULL_u64 ? 0 : t->loss.amount[i]);
		field_text(j, "detail", trace_text(t, t->loss.detail[i]));
		field_end(j, '}');
	}
	field_end(j, ']');
	field_count(j, "told_total", t->loss.n);
	field_flat(j, "left_out", '{');
	for (int i = 0; i < N_QUARANTINES; i++)
		field_count(j, quarantines[i], tl->quarantined[i]);
	field_end(j, '}');
	field_count(j, "operations", tl->n_ops);
	field_count(j, "orphans", tl->n_orphans);
	field_count(j, "inverted", tl->n_inverted);
	field_count(j, "opaque_graphs", tl->n_opaque);
	field_count(j, "unresolved", tl->n_unresolved);
	field_int(j, "clock_error_ns", tl->clock_error_ns);
	field_int(j, "profiler_ns", a->facts->environment.overhead_ns);
	field_end(j, '}');
}

void fields_thresholds(struct json *j, const struct answer *a)
{
	field_begin(j, "thresholds", '{');
	for (size_t i = 0; i < n_threshold_defs; i++)
		field_double(j, threshold_defs[i].name,
		             *(const double *)((const char *)&a->a->limits + threshold_defs[i].at));
	field_end(j, '}');
}
