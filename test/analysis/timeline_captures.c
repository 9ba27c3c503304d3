/* timeline: what is promised of it, on real captures and on random ones. */
#include <stdio.h>

#include "analysis/scope/scope.h"
#include "import/import.h"
#include "test/test.h"

static struct timeline open_capture(const char *path, struct arena *arena)
{
	const struct import_options options = { .rank = NULL_i32, .jobs = 2 };
	struct timeline tl;
	struct trace *trace;
	struct err err;

	trace = test_keep(import_open(&path, 1, &options, NULL, &err));
	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	EXPECT_DONE(timeline_build(&tl, trace, arena, &err), err);
	return tl;
}

static bool comes_first(const struct op *a, const struct op *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns;
	return a->table != b->table ? a->table < b->table : a->row < b->row;
}

static void check_op(const struct timeline *tl, uint32_t index)
{
	const struct op *op = &tl->ops[index];
	const struct phases p = phases_of(tl, op);
	const ref launch = op->table == OF_KERNEL ? tl->trace->kernel.launch[op->row] :
			   op->table == OF_MEMCPY ? tl->trace->memcpy.launch[op->row] :
			   op->table == OF_MEMSET ? tl->trace->memset.launch[op->row] :
						    tl->trace->graph_run.launch[op->row];

	EXPECT(op->start_ns <= op->end_ns);
	EXPECT_EQ_INT(p.exec_ns, op->end_ns - op->start_ns);
	EXPECT_EQ_INT(op->call, launch == NULL_ref ? NULL_ref : tl->call_of_api[launch]);
	EXPECT((op->call == NULL_ref) == ((op->flags & OP_ORPHAN) != 0));
	EXPECT((op->releaser == NULL_ref) == (op->release == RELEASE_NONE));
	if (op->before != NULL_ref)
		EXPECT(op_ready_ns(tl, op) >= tl->ops[op->before].end_ns && tl->ops[op->before].stream == op->stream);
	if (p.api_pre_ns == NULL_i64)
		return;
	EXPECT(p.api_pre_ns >= 0 && p.queue_wait_ns >= 0 && p.launch_latency_ns >= 0 && p.exec_ns >= 0);
	EXPECT_EQ_INT(p.api_pre_ns + p.queue_wait_ns + p.launch_latency_ns + p.exec_ns,
		      op->end_ns - tl->calls[op->call].start_ns);
}

/* Everything that timeline.h says of any trace. */
static void check_promises(const struct timeline *tl)
{
	size_t n_ops = 0, n_calls = 0;

	for (size_t d = 0; d < tl->n_devices; d++) {
		EXPECT_EQ_INT(tl->devices[d].first_op, n_ops);
		EXPECT(tl->devices[d].n_ops > 0);
		n_ops += tl->devices[d].n_ops;
		for (size_t i = tl->devices[d].first_op; i < n_ops; i++) {
			check_op(tl, (uint32_t)i);
			if (i > tl->devices[d].first_op)
				EXPECT(comes_first(&tl->ops[i - 1], &tl->ops[i]));
		}
	}
	EXPECT_EQ_INT(n_ops, tl->n_ops);
	for (size_t t = 0; t < tl->n_threads; t++) {
		EXPECT_EQ_INT(tl->threads[t].first_call, n_calls);
		n_calls += tl->threads[t].n_calls;
		for (size_t i = tl->threads[t].first_call; i < n_calls; i++) {
			const struct api_call *call = &tl->calls[i];

			EXPECT(call->start_ns <= call->end_ns && call->thread == t);
			if (i > tl->threads[t].first_call)
				EXPECT(call->start_ns >= call[-1].end_ns);
			EXPECT(call->first_op == NULL_ref || tl->ops[call->first_op].call == i);
			EXPECT(!(call->flags & CALL_UNRESOLVED) || call->waits == NULL_ref);
		}
	}
	EXPECT_EQ_INT(n_calls, tl->n_calls);
}

TEST(timeline_captures, keep_every_promise)
{
	static const char *const paths[] = {
		"test/data/nsys/gpt_train.sqlite.gz", "test/data/nsys/cuda_graph.sqlite.gz",
		"test/data/nsys/sync_bound.sqlite.gz", "test/data/nsys/pageable_copy.sqlite.gz",
		"test/data/nsys/launch_bound.sqlite.gz", "test/data/torch/gpt_train.json.gz",
		"test/data/torch/cuda_graph.json.gz", "test/data/torch/sync_bound.json.gz",
		"test/data/torch/pageable_copy.json.gz", "test/data/ddp/balanced.rank0.json.gz",
		"test/data/ddp/balanced.rank1.json.gz", "test/data/ddp/nsys_balanced.sqlite.gz",
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		TEST_ARENA(arena);
		const struct timeline tl = open_capture(paths[i], &arena);

		EXPECT(tl.n_ops > 0 && tl.n_calls > 0);
		EXPECT_EQ_INT(tl.n_inverted, 0);
		EXPECT_EQ_INT(tl.clock_error_ns, 0);
		check_promises(&tl);
		arena_end(&arena);
	}
}

static uint64_t count_release(const struct timeline *tl, enum release release)
{
	uint64_t n = 0;

	for (size_t i = 0; i < tl->n_ops; i++)
		n += tl->ops[i].release == release;
	return n;
}

TEST(timeline_captures, resolve_events_of_two_ranks)
{
	TEST_ARENA(arena);
	const struct timeline tl = open_capture("test/data/ddp/nsys_balanced.sqlite.gz", &arena);
	uint64_t n_comm = 0;

	for (size_t i = 0; i < tl.n_ops; i++)
		n_comm += tl.ops[i].class == OP_COMM;
	EXPECT_EQ_INT(tl.n_devices, 2);
	EXPECT_EQ_INT(n_comm, 88);
	EXPECT_EQ_INT(tl.n_orphans, 0);
	EXPECT_EQ_INT(tl.n_unresolved, 0);
	/* 44 and 37 by rank; the rows of the second one name the device of the first. */
	EXPECT_EQ_INT(count_release(&tl, RELEASE_EVENT), 81);
}

TEST(timeline_captures, do_not_claim_events_that_a_source_leaves_out)
{
	TEST_ARENA(arena);
	const struct timeline tl = open_capture("test/data/ddp/balanced.rank0.json.gz", &arena);

	/* The calls are there, without stream and event: 132 of them. */
	EXPECT_EQ_INT(count_release(&tl, RELEASE_EVENT), 0);
	EXPECT_EQ_INT(tl.n_unresolved, 96);
}

TEST(timeline_captures, order_the_nodes_of_graphs)
{
	TEST_ARENA(arena);
	const struct timeline tl = open_capture("test/data/nsys/cuda_graph.sqlite.gz", &arena);
	uint64_t n_later = 0;

	for (size_t i = 0; i < tl.n_ops; i++)
		n_later += (tl.ops[i].flags & OP_GRAPH_LATER) != 0;
	EXPECT_EQ_INT(tl.n_ops, 4 * 43);
	EXPECT_EQ_INT(n_later, 4 * 42);
	EXPECT_EQ_INT(count_release(&tl, RELEASE_GRAPH), 4 * 42);
}

/* Both sources of one pattern: eight waits a step, all but the last ones for the copy before. */
TEST(timeline_captures, agree_on_what_waits_wait_for)
{
	static const struct {
		const char *path;
		int n_steps;
	} captures[] = {
		{ "test/data/nsys/sync_bound.sqlite.gz", 4 }, { "test/data/torch/sync_bound.json.gz", 3 },
	};

	for (size_t k = 0; k < ARRAY_LEN(captures); k++) {
		TEST_ARENA(arena);
		const struct timeline tl = open_capture(captures[k].path, &arena);
		int n_copies = 0, n_unresolved = 0;

		for (size_t i = 0; i < tl.n_calls; i++) {
			n_copies += tl.calls[i].waits != NULL_ref && tl.calls[i].class == CALL_SYNC &&
				    tl.ops[tl.calls[i].waits].class == OP_DTOH;
			n_unresolved += (tl.calls[i].flags & CALL_UNRESOLVED) != 0;
		}
		EXPECT_EQ_INT(n_copies, captures[k].n_steps * 8 + 1);
		EXPECT_EQ_INT(n_unresolved, 0);
	}
}

TEST(timeline_captures, hold_the_host_in_pageable_copies)
{
	TEST_ARENA(arena);
	const struct timeline tl = open_capture("test/data/nsys/pageable_copy.sqlite.gz", &arena);
	int n = 0;

	for (size_t i = 0; i < tl.n_calls; i++)
		if (tl.calls[i].class == CALL_COPY) {
			EXPECT_EQ_INT(tl.calls[i].flags, CALL_BLOCKS);
			EXPECT_EQ_INT(tl.calls[i].waits, tl.calls[i].first_op);
			n++;
		}
	EXPECT_EQ_INT(n, 8);
}

/* ---- random traces ---- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int below(uint64_t *state, int n)
{
	return (int)(next_random(state) % (uint64_t)n);
}

/* A time that may be anything. */
static const char *random_span(uint64_t *state)
{
	static const char *const odd[] = {
		"10..5", "5..", "0..0", "-9223372036854775807..9223372036854775807",
		"9223372036854775806..9223372036854775807",
		"-2305843009213693952..2305843009213693952", "-2305843009213693953..0",
	};
	static char text[64];
	const int start = below(state, 300);

	if (below(state, 20) == 0)
		return odd[below(state, ARRAY_LEN(odd))];
	snprintf(text, sizeof(text), "%d..%d", start, start + below(state, 40));
	return text;
}

static size_t add_row(uint64_t *state, char *out, size_t size)
{
	static const char *const functions[] = {
		"cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync", "cudaMemcpy", "cudaStreamSynchronize",
		"cudaDeviceSynchronize", "cudaEventSynchronize", "cudaEventQuery", "cudaEventRecord",
		"cudaStreamWaitEvent",
		"cudaFree", "cudaLaunchHostFunc", "cuLibraryLoadData", "odd",
	};
	static const char *const ops[] = {
		"kernel k graph_node=1", "kernel ncclDevKernel", "memcpy kind=HtoD src_kind=pageable",
		"memcpy kind=DtoH",
		"memset", "graph_run graph=1", "kernel k",
	};
	const int correlation = below(state, 40), stream = 7 + below(state, 3), thread = 1 + below(state, 3);
	const int process = 1 + below(state, 2), device = below(state, 2);

	switch (below(state, 5)) {
	case 3:
		return (size_t)snprintf(out, size, "%s \"%s %d\" kind=%s process=%d thread=%d %s\n",
					below(state, 4) ? "nvtx" : "op", below(state, 2) ? "step" : "inner",
					below(state, 9), below(state, 4) ? "59" : "1", process, thread,
					random_span(state));
	case 0:
		return (size_t)snprintf(out, size, "api %s process=%d thread=%d correlation=%d result=%d %s\n",
					functions[below(state, ARRAY_LEN(functions))], process, thread, correlation,
					below(state, 3) ? 0 : 600, random_span(state));
	case 1:
		return (size_t)snprintf(out, size,
					"sync kind=%d process=%d device=%d stream=%d event=%d event_sync=%d "
					"correlation=%d %s\n",
					below(state, 5), process, device, stream, below(state, 3), below(state, 3),
					correlation, random_span(state));
	case 2:
		return (size_t)snprintf(out, size,
					"cuda_event process=%d device=%d stream=%d event=%d event_sync=%d "
					"correlation=%d\n",
					process, device, stream, below(state, 3), below(state, 3), correlation);
	default:
		return (size_t)snprintf(out, size, "%s process=%d device=%d stream=%d correlation=%d %s\n",
					ops[below(state, ARRAY_LEN(ops))], process, device, stream, correlation,
					random_span(state));
	}
}

/* Completions of a thread come one after the other, and the window lies in the capture. */
static void check_scope(const struct timeline *tl, const struct scope *scope)
{
	size_t n_used = 0;

	EXPECT(scope->window.start_ns >= tl->first_ns && scope->window.start_ns <= scope->window.end_ns);
	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct scope_step *s = &scope->steps[i];

		n_used += scope_uses(scope, i);
		EXPECT(s->host.start_ns <= s->host.end_ns && s->completion.start_ns <= s->completion.end_ns);
		if (i)
			EXPECT(s[-1].process < s->process || s[-1].host.start_ns <= s->host.start_ns);
		for (size_t k = i; k-- > 0;)
			if (scope->steps[k].thread == s->thread) {
				EXPECT(scope->steps[k].completion.end_ns <= s->completion.start_ns);
				break;
			}
	}
	EXPECT_EQ_INT(n_used, scope->n_used);
}

TEST(timeline_random, keeps_every_promise_whatever_comes)
{
	static char text[200 * 200];

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		TEST_ARENA(arena);
		struct timeline tl;
		struct scope scope;
		struct scope_args args = { .with_warm_up = seed % 2 };
		struct trace *trace;
		struct err err;
		uint64_t state = seed * 0x9e3779b97f4a7c15u;
		const int n_rows = below(&state, 150);
		size_t n = (size_t)snprintf(text, sizeof(text), "%s", below(&state, 2) ?
					    "stream stream=7 number=7 flag=3\nstream stream=8 number=8 flag=1\n" : "");

		for (int i = 0; i < n_rows; i++)
			n += add_row(&state, text + n, sizeof(text) - n);
		trace = trace_of(text);
		EXPECT_DONE(timeline_build(&tl, trace, &arena, &err), err);
		check_promises(&tl);
		EXPECT_DONE(scope_find(&scope, &tl, &args, &arena, &err), err);
		check_scope(&tl, &scope);
		arena_end(&arena);
		trace_close(trace);
	}
}
