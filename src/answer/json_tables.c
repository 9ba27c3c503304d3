/* answer/json_tables.c - the tables of a report as JSON; see docs/analysis/json.md. */
#include <math.h>

#include "analysis/thresholds.h"
#include "answer/json_parts.h"

enum { MOST_ROWS = 100 };

void json_environment(struct json *j, const struct answer *a)
{
	const struct environment *e = &a->facts->environment;
	static const char *const workloads[] = { [WORKLOAD_UNKNOWN] = NULL, [WORKLOAD_TRAINING] = "training",
						 [WORKLOAD_INFERENCE] = "inference" };

	json_begin(j, "environment", '{');
	json_text(j, "files", e->files);
	json_text(j, "formats", e->formats);
	json_text(j, "producer", e->producer);
	json_text(j, "command", e->command);
	json_text(j, "started", e->started);
	json_int(j, "recorded_ns", e->recorded_ns);
	json_text(j, "host", e->host);
	json_text(j, "devices", e->devices);
	json_count(j, "device_count", e->n_devices);
	json_text(j, "driver", e->driver);
	json_text(j, "cuda", e->cuda);
	json_int(j, "world", e->world == NULL_i32 ? NULL_i64 : e->world);
	json_text(j, "workload", workloads[a->facts->workload]);
	json_end(j, '}');
}

void json_kernels(struct json *j, const struct answer *a)
{
	const struct facts *f = a->facts;

	json_begin(j, "kernels", '{');
	json_int(j, "accumulated_ns", f->kernel_total_ns);
	json_count(j, "names", f->n_kernels);
	json_begin(j, "of", '[');
	for (size_t i = 0; i < f->n_kernels && i < MOST_ROWS; i++) {
		const struct kernel_fact *k = &f->kernels[i];

		json_flat(j, NULL, '{');
		json_text(j, "name", k->name);
		json_count(j, "calls", k->of.n);
		json_int(j, "total_ns", k->clipped_ns);
		json_part(j, "share_of_accumulated", k->clipped_ns, f->kernel_total_ns);
		json_double(j, "mean_ns", k->of.mean_ns);
		json_double(j, "median_ns", k->of.median_ns);
		json_double(j, "p95_ns", k->of.p95_ns);
		json_int(j, "on_path_ns", k->on_path_ns);
		json_int(j, "ceiling_ns", k->ceiling_ns);
		json_bool(j, "communication", k->is_comm);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
}

void json_api(struct json *j, const struct answer *a)
{
	const struct facts *f = a->facts;
	const struct wait_blames *w = &a->a->waits;

	json_begin(j, "api", '{');
	json_int(j, "accumulated_ns", f->api_total_ns);
	json_flat(j, "waits", '{');
	json_count(j, "waits", w->n_waits);
	json_count(j, "late", w->n_late);
	json_count(j, "unresolved", w->n_unresolved);
	json_int(j, "device_wait_ns", w->device_wait_ns);
	json_int(j, "return_ns", w->return_ns);
	json_int(j, "late_ns", w->late_ns);
	json_end(j, '}');
	json_begin(j, "of", '[');
	for (size_t i = 0; i < f->n_apis && i < MOST_ROWS; i++) {
		const struct api_fact *c = &f->apis[i];

		json_flat(j, NULL, '{');
		json_text(j, "name", c->name);
		json_count(j, "calls", c->of.n);
		json_int(j, "total_ns", c->clipped_ns);
		json_part(j, "share_of_api", c->clipped_ns, f->api_total_ns);
		json_double(j, "mean_ns", c->of.mean_ns);
		json_double(j, "median_ns", c->of.median_ns);
		json_double(j, "p95_ns", c->of.p95_ns);
		json_int(j, "waiting_ns", c->waiting_ns);
		json_int(j, "backpressure_ns", c->backpressure_ns);
		json_count(j, "failed", c->n_failed);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_begin(j, "waited_for", '[');
	for (size_t i = 0; i < w->n && i < MOST_ROWS; i++) {
		json_flat(j, NULL, '{');
		json_text(j, "call", trace_text(a->a->trace, w->of[i].sync_name));
		json_text(j, "work", trace_text(a->a->trace, w->of[i].launch_name));
		json_count(j, "waits", w->of[i].n_waits);
		json_int(j, "device_wait_ns", w->of[i].device_wait_ns);
		json_int(j, "return_ns", w->of[i].return_ns);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
}

void json_phases(struct json *j, const struct answer *a)
{
	const struct facts *f = a->facts;

	json_begin(j, "phases", '[');
	for (size_t i = 0; i < f->n_kernels && i < MOST_ROWS; i++) {
		const struct kernel_fact *k = &f->kernels[i];

		json_flat(j, NULL, '{');
		json_text(j, "name", k->name);
		json_count(j, "launches", k->n_phases);
		json_double(j, "api_pre_ns", k->api_pre_ns);
		json_double(j, "queue_wait_ns", k->queue_wait_ns);
		json_double(j, "launch_latency_ns", k->launch_latency_ns);
		json_double(j, "exec_ns", k->exec_ns);
		json_count(j, "orphans", k->n_orphans);
		json_count(j, "inverted", k->n_inverted);
		json_end(j, '}');
	}
	json_end(j, ']');
}

void json_comm(struct json *j, const struct answer *a)
{
	const struct ranks *r = &a->a->ranks;

	json_begin(j, "communication", '[');
	for (size_t i = 0; i < r->n_rows && i < MOST_ROWS; i++) {
		const struct comm_row *c = &r->rows[i];

		json_flat(j, NULL, '{');
		json_text(j, "name", c->name);
		json_text(j, "group", c->group);
		json_text(j, "dtype", c->dtype);
		json_int(j, "group_size", c->group_size == NULL_i32 ? NULL_i64 : c->group_size);
		json_count(j, "calls", c->n_calls);
		json_int(j, "bytes", c->bytes);
		json_int(j, "total_ns", c->total_ns);
		json_int(j, "exposed_ns", c->exposed_ns);
		json_double(j, "overlap", c->overlap);
		json_int(j, "wait_ns", c->wait_ns);
		json_int(j, "transfer_ns", c->transfer_ns);
		json_double(j, "algbw_bytes_per_s", c->algbw);
		json_double(j, "busbw_bytes_per_s", c->busbw);
		json_double(j, "effective_busbw_bytes_per_s", c->effective_busbw);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void add_rank(struct json *j, const struct ranks *r, size_t i)
{
	const struct rank_summary *s = &r->of[i];
	const struct rank_clock *c = r->clocks ? &r->clocks[i] : NULL;

	json_begin(j, NULL, '{');
	json_int(j, "rank", s->rank);
	json_count(j, "device", s->device);
	json_count(j, "collectives", s->n_collectives);
	json_count(j, "last", s->n_late);
	json_int(j, "wait_ns", s->wait_ns);
	json_int(j, "transfer_ns", s->transfer_ns);
	json_int(j, "caused_ns", s->caused_ns);
	json_int(j, "critical_ns", s->critical_ns);
	json_bool(j, "straggler", s->is_straggler);
	json_bool(j, "persistent", s->is_persistent);
	json_text(j, "cause", s->is_straggler ? lateness_name(s->cause) : NULL);
	json_text(j, "also", s->is_straggler && s->also != LATE_UNKNOWN ? lateness_name(s->also) : NULL);
	json_text(j, "extra_kernel", s->extra_kernel);
	json_double(j, "extra_per_step", s->extra_kernel ? s->extra_per_step : NAN);
	json_int(j, "extra_ns_per_step", s->extra_kernel ? s->extra_ns_per_step : NULL_i64);
	json_int(j, "at_peer_speed_ns", s->at_peer_speed_ns);
	json_bool(j, "clock_aligned", c && c->is_aligned);
	json_int(j, "clock_correction_ns", c && c->is_aligned ? c->correction_ns : NULL_i64);
	json_int(j, "clock_error_ns", c && c->is_aligned ? c->error_ns : NULL_i64);
	json_end(j, '}');
}

void json_ranks(struct json *j, const struct answer *a)
{
	const struct ranks *r = &a->a->ranks;

	json_begin(j, "ranks", '{');
	json_text(j, "reason", r->reason);
	json_count(j, "collectives", r->n_collectives);
	json_count(j, "split", r->n_split);
	json_count(j, "incomplete", r->n_incomplete);
	json_count(j, "rejected", r->n_rejected);
	json_begin(j, "of", '[');
	for (size_t i = 0; i < r->n_ranks; i++)
		add_rank(j, r, i);
	json_end(j, ']');
	json_end(j, '}');
}

void json_memory(struct json *j, const struct answer *a)
{
	const struct memory_facts *m = &a->facts->memory;

	json_begin(j, "memory", '{');
	json_begin(j, "copies", '[');
	for (size_t i = 0; i < m->n_copies; i++) {
		const struct copy_fact *c = &m->copies[i];

		json_flat(j, NULL, '{');
		json_text(j, "kind", c->kind);
		json_count(j, "copies", c->n);
		json_double(j, "bytes", c->bytes);
		json_int(j, "total_ns", c->total_ns);
		json_double(j, "bytes_per_s", c->bytes_per_s);
		json_int(j, "pageable", c->knows_memory ? (int64_t)c->n_pageable : NULL_i64);
		json_double(j, "pageable_bytes", c->knows_memory ? c->pageable_bytes : NAN);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_bool(j, "has_events", m->has_events);
	json_int(j, "peak_allocated_bytes", m->peak_allocated_bytes);
	json_int(j, "peak_reserved_bytes", m->peak_reserved_bytes);
	json_int(j, "peak_driver_bytes", m->peak_driver_bytes);
	json_int(j, "peak_at_ns", m->peak_at_ns);
	json_int(j, "device_bytes", m->device_bytes);
	json_count(j, "failed", m->n_failed);
	json_int(j, "failed_bytes", m->failed_bytes);
	json_count(j, "calls", m->n_calls);
	json_count(j, "calls_in_steps", m->n_steady_calls);
	json_int(j, "call_ns", m->call_ns);
	json_end(j, '}');
}

void json_loss(struct json *j, const struct answer *a)
{
	static const char *const quarantines[N_QUARANTINES] = {
		[QUARANTINE_REVERSED] = "reversed", [QUARANTINE_ZERO] = "zero_timestamp", [QUARANTINE_NO_TRACK] = "no_track",
		[QUARANTINE_OVERFLOW] = "overflow",
	};
	const struct timeline *tl = &a->a->tl;
	const struct trace *t = a->a->trace;

	json_begin(j, "loss", '{');
	json_begin(j, "told", '[');
	for (size_t i = 0; i < t->loss.n && i < MOST_ROWS; i++) {
		json_flat(j, NULL, '{');
		json_text(j, "kind", trace_text(t, t->loss.kind[i]));
		json_text(j, "place", trace_text(t, t->loss.place[i]));
		json_count(j, "amount", t->loss.amount[i] == NULL_u64 ? 0 : t->loss.amount[i]);
		json_text(j, "detail", trace_text(t, t->loss.detail[i]));
		json_end(j, '}');
	}
	json_end(j, ']');
	json_count(j, "told_total", t->loss.n);
	json_flat(j, "left_out", '{');
	for (int i = 0; i < N_QUARANTINES; i++)
		json_count(j, quarantines[i], tl->quarantined[i]);
	json_end(j, '}');
	json_count(j, "operations", tl->n_ops);
	json_count(j, "orphans", tl->n_orphans);
	json_count(j, "inverted", tl->n_inverted);
	json_count(j, "opaque_graphs", tl->n_opaque);
	json_count(j, "unresolved", tl->n_unresolved);
	json_int(j, "clock_error_ns", tl->clock_error_ns);
	json_int(j, "profiler_ns", a->facts->environment.overhead_ns);
	json_end(j, '}');
}

void json_thresholds(struct json *j, const struct answer *a)
{
	json_begin(j, "thresholds", '{');
	for (size_t i = 0; i < n_threshold_defs; i++)
		json_double(j, threshold_defs[i].name, *(const double *)((const char *)&a->a->limits + threshold_defs[i].at));
	json_end(j, '}');
}
