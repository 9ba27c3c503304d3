/* collect: what the collector records of a program that goes well. */
#include "test/collect/capture.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* End of the call with which a thread waited for its stream. */
static uint64_t wait_end(const struct captured *p, uint32_t thread)
{
	struct seen *calls = capture_records(p, SPOOL_CALL, NULL);
	uint64_t end = 0;

	for (struct seen *s = calls; s->record; s++) {
		const struct spool_call *call = s->record;

		if (s->thread == thread && strstr(capture_call(p, s), "cudaStreamSynchronize"))
			end = call->start_ns + call->duration_ns;
	}
	free(calls);
	return end;
}

/* One kernel against its launch: name, thread, window, stream. Returns the number in its name. */
static int check_kernel(const struct captured *p, const struct spool_kernel *k, const struct seen *launches)
{
	const struct spool_shape *shape = capture_shape(p, k->shape);
	const struct spool_stream_of *stream = capture_stream(p, k->stream);
	int number = -1, worker = -1, digits = 0;

	EXPECT(shape && stream);
	EXPECT(sscanf(capture_text(p, shape->name), "_Z%dkernel%dv", &digits, &number) == 2);
	EXPECT_EQ_INT(shape->grid[0], number + 1);
	EXPECT_EQ_INT(shape->block[0], 32);
	EXPECT_EQ_INT(shape->registers, 32);
	EXPECT_EQ_INT(stream->context, 1);
	EXPECT(stream->stream >= 13);
	for (const struct seen *s = launches; s->record; s++) {
		const struct spool_call *call = s->record;

		if (call->correlation != k->correlation || !(SPOOL_FLAGS(s->word) & SPOOL_CALL_SYMBOL))
			continue;
		EXPECT_EQ_TEXT(capture_call(p, s), "cudaLaunchKernel_v7000");
		EXPECT_EQ_INT(call->result, 0);
		EXPECT_EQ_TEXT(capture_text(p, (uint32_t)call->more[0]), capture_text(p, shape->name));
		EXPECT(sscanf(capture_thread(p, s->thread), "worker%d", &worker) == 1);
		EXPECT_EQ_INT(worker, number);
		EXPECT(k->start_ns >= call->start_ns);
		EXPECT(k->start_ns + k->duration_ns <= wait_end(p, s->thread));
		return number;
	}
	test_fail(__FILE__, __LINE__, "kernel %d has no launch", number);
}

static void finds_every_launch_of(const char *version, const char *flavour)
{
	struct capture c;
	const struct captured *p = &c.processes[0];
	struct seen *kernels, *calls;
	bool has[23] = { 0 };
	uint32_t streams[23] = { 0 };
	size_t n;

	capture_begin(&c);
	c.flavour = flavour;
	c.variables[0] = version;
	capture_run_same(&c, "init threads:23:1 sync print:done");
	EXPECT_EQ_TEXT(c.output, "done\n");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT_EQ_INT(c.n, 1);
	EXPECT_EQ_INT(p->head->cupti_status, SPOOL_CUPTI_READY);
	EXPECT_EQ_INT(p->head->cupti_version, atoi(strchr(version, '=') + 1));
	EXPECT_EQ_INT(p->head->n_launches, 23);
	EXPECT_EQ_INT(p->head->n_kernels, 23);
	EXPECT_EQ_INT(p->head->ended, 1);
	kernels = capture_records(p, SPOOL_KERNEL, &n);
	calls = capture_records(p, SPOOL_CALL, NULL);
	EXPECT_EQ_INT(n, 23);
	for (size_t i = 0; i < n; i++) {
		const struct spool_kernel *k = kernels[i].record;
		const int number = check_kernel(p, k, calls);

		EXPECT(number >= 0 && number < 23 && !has[number]);
		has[number] = true;
		for (size_t s = 0; s < i; s++)
			EXPECT(streams[s] != k->stream);
		streams[i] = k->stream;
	}
	free(kernels);
	free(calls);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_SYNC), 24);
	EXPECT_EQ_INT(p->head->n_dropped + p->head->n_no_room + p->head->n_unknown + p->head->n_zero_time, 0);
}

TEST(collect, finds_every_launch_of_23_threads)
{
	finds_every_launch_of("FAKE_CUPTI_VERSION=130001", "");
}

TEST(collect, finds_every_launch_with_the_cupti_of_cuda_12_0)
{
	finds_every_launch_of("FAKE_CUPTI_VERSION=18", "");
}

TEST(collect, finds_every_launch_with_the_cupti_of_cuda_12_9)
{
	finds_every_launch_of("FAKE_CUPTI_VERSION=28", "");
}

TEST(collect, finds_every_launch_with_the_cupti_of_cuda_13_5)
{
	finds_every_launch_of("FAKE_CUPTI_VERSION=130500", "");
}

TEST(collect, knows_how_long_a_kernels_record_is)
{
	static const struct { const char *version; uint32_t size; } all[] = {
		{ "FAKE_CUPTI_VERSION=18", 208 }, { "FAKE_CUPTI_VERSION=28", 208 }, { "FAKE_CUPTI_VERSION=130001", 216 },
		{ "FAKE_CUPTI_VERSION=130100", 224 }, { "FAKE_CUPTI_VERSION=130300", 232 },
		{ "FAKE_CUPTI_VERSION=130400", 248 },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct capture c;

		capture_begin(&c);
		c.variables[0] = all[i].version;
		capture_run(&c, "launch:23 sync");
		EXPECT_EQ_INT(c.processes[0].head->kernel_size, all[i].size);
		EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 23);
	}
}

TEST(collect, finds_every_node_of_a_replayed_graph)
{
	struct capture c;
	const struct captured *p = &c.processes[0];
	struct seen *kernels;
	uint32_t launches[11] = { 0 };
	uint8_t *per_node = calloc(1010, 1);
	size_t n, n_launches = 0;

	capture_begin(&c);
	capture_run_same(&c, "init graph:1009:11 print:done");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT_EQ_INT(p->head->n_graph_kernels, 11099);
	EXPECT_EQ_INT(p->head->n_graph_launches, 11);
	EXPECT_EQ_INT(p->head->n_kernels, 0);
	EXPECT_EQ_INT(p->head->n_no_room, 0);
	kernels = capture_records(p, SPOOL_KERNEL, &n);
	EXPECT_EQ_INT(n, 11099);
	for (size_t i = 0; i < n; i++) {
		const struct spool_kernel *k = kernels[i].record;
		const uint32_t node = (uint32_t)k->graph_node[0];
		size_t l = 0;

		EXPECT(SPOOL_FLAGS(kernels[i].word) & 1);
		EXPECT_EQ_INT(k->graph_node[0] >> 32, k->graph_node[1]);
		EXPECT(node >= 1 && node <= 1009);
		per_node[node]++;
		while (l < n_launches && launches[l] != k->correlation)
			l++;
		if (l == n_launches) {
			EXPECT(n_launches < 11);
			launches[n_launches++] = k->correlation;
		}
	}
	for (int node = 1; node <= 1009; node++)
		EXPECT_EQ_INT(per_node[node], 11);
	free(per_node);
	free(kernels);
	/* Created in the capture, cloned for the graph that runs. */
	EXPECT_EQ_INT(capture_count(&c, SPOOL_GRAPH_NODE), 2 * 1009);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_GRAPH), 3);
}

TEST(collect, has_one_row_for_a_graph_when_asked)
{
	struct capture c;

	capture_begin(&c);
	c.control.kinds |= SPOOL_GRAPH_WHOLE;
	capture_run(&c, "init graph:101:11 launch:5 sync");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_GRAPH_RUN), 11);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 5);
}

TEST(collect, records_copies_sets_events_and_memory)
{
	struct capture c;
	const struct spool_memcpy *copy;
	const struct spool_memset *set;
	struct seen *all;

	capture_begin(&c);
	c.control.kinds |= SPOOL_MEMORY;
	capture_run(&c, "malloc:4096 copy:1048576:1 copy:65536:2 peer:77777 set:12345 event free sync");
	all = capture_records(&c.processes[0], SPOOL_MEMCPY, NULL);
	copy = all[0].record;
	EXPECT(all[2].record && !all[3].record);
	EXPECT_EQ_INT(copy->bytes, 1048576);
	EXPECT_EQ_INT(copy->kind, 1);
	EXPECT_EQ_INT(copy->src_device, UINT32_MAX);
	copy = all[2].record;
	EXPECT_EQ_INT(copy->bytes, 77777);
	EXPECT_EQ_INT(copy->dst_device, 1);
	free(all);
	all = capture_records(&c.processes[0], SPOOL_MEMSET, NULL);
	set = all[0].record;
	EXPECT(set && set->bytes == 12345);
	free(all);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_ALLOCATION), 2);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_SYNC), 3);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_DEVICE), 1);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_CONTEXT), 1);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_STREAM), 1);
}

/* The event is recorded on the null stream, a stream waits for it, the host waits for it, and then for all. */
TEST(collect, tells_what_waits_for_what_by_the_calls)
{
	static const uint32_t types[] = { 2, 1, 4 };
	const struct spool_event *event;
	struct seen *all;
	struct capture c;

	capture_begin(&c);
	capture_run(&c, "init launch:5 event sync");
	all = capture_records(&c.processes[0], SPOOL_EVENT, NULL);
	EXPECT(all[0].record && !all[1].record);
	event = all[0].record;
	EXPECT_EQ_INT(event->stream, 7);
	EXPECT_EQ_INT(event->device_ns, 0);
	test_keep(all);
	all = capture_records(&c.processes[0], SPOOL_SYNC, NULL);
	for (size_t i = 0; i < 3; i++) {
		const struct spool_sync *sync = all[i].record;

		EXPECT(sync && sync->end_ns >= sync->start_ns && sync->correlation != event->correlation);
		EXPECT_EQ_INT(sync->type, types[i]);
		EXPECT_EQ_INT(sync->event, i < 2 ? event->event : UINT32_MAX);
		EXPECT_EQ_INT(sync->stream, i == 0 ? 7 : UINT32_MAX);
	}
	EXPECT(!all[3].record);
	free(all);
}

TEST(collect, takes_the_waits_of_cupti_where_events_are_traced)
{
	struct seen *all;
	struct capture c;

	capture_begin(&c);
	c.control.kinds |= SPOOL_CUDA_EVENTS;
	capture_run(&c, "init launch:5 event sync");
	all = capture_records(&c.processes[0], SPOOL_SYNC, NULL);
	EXPECT(all[2].record && !all[3].record);
	EXPECT_EQ_INT(((const struct spool_sync *)all[1].record)->event, 1);
	free(all);
}

TEST(collect, has_a_drivers_call_only_where_no_runtime_call_is)
{
	struct capture c;
	struct seen *all;
	size_t n_driver = 0;

	capture_begin(&c);
	capture_run(&c, "launch:7 drive:5 launch:7 drive:6 sync");
	all = capture_records(&c.processes[0], SPOOL_CALL, NULL);
	for (struct seen *s = all; s->record; s++)
		if (strcmp(capture_call(&c.processes[0], s), "cuLaunchKernel") == 0)
			n_driver++;
	free(all);
	EXPECT_EQ_INT(n_driver, 11);
	EXPECT_EQ_INT(c.processes[0].head->n_launches, 25);
}

TEST(collect, keeps_four_processes_apart)
{
	struct capture c;
	size_t n_kernels[4] = { 0 };

	capture_begin(&c);
	capture_run_same(&c, "fork init launch:7:1 sync end fork init launch:11:2 sync end spawn init launch:13:3 sync end "
			 "init launch:17:4 sync");
	EXPECT_EQ_INT(c.n, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct captured *p = &c.processes[i];
		static const struct { size_t n; const char *name; } expected[] = {
			{ 7, "_Z7kernel1v" }, { 11, "_Z7kernel2v" }, { 13, "_Z7kernel3v" }, { 17, "_Z7kernel4v" } };
		struct seen *all = capture_records(p, SPOOL_KERNEL, &n_kernels[i]);

		EXPECT_EQ_INT(n_kernels[i], expected[i].n);
		for (struct seen *s = all; s->record; s++)
			EXPECT_EQ_TEXT(capture_text(p, capture_shape(p, ((const struct spool_kernel *)s->record)->shape)->name),
				       expected[i].name);
		EXPECT_EQ_INT(p->head->ended, 1);
		free(all);
	}
}

TEST(collect, begins_anew_in_the_child_of_a_fork)
{
	struct capture c;

	capture_begin(&c);
	capture_run_same(&c, "init push:parent launch:23 sync pop fork try mark:child mark:child threads:5:0:100 end launch:5 sync");
	EXPECT_EQ_TEXT(c.output, "launch: 3\n");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT_EQ_INT(c.n, 2);
	EXPECT_EQ_INT(c.processes[0].head->is_fork, 0);
	EXPECT_EQ_INT(c.processes[1].head->is_fork, 1);
	EXPECT_EQ_INT(c.processes[1].head->parent, c.processes[0].head->pid);
	EXPECT_EQ_INT(capture_kernels(&c.processes[0]), 28);
	EXPECT_EQ_INT(capture_kernels(&c.processes[1]), 0);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_MARK), 2);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 501);
}

TEST(collect, follows_exec_vfork_and_spawn)
{
	struct capture c;

	capture_begin(&c);
	capture_run_same(&c, "init launch:3 sync vfork init launch:5 sync end spawn init launch:7 sync end "
			 "exec init launch:11 sync print:last");
	EXPECT_EQ_TEXT(c.output, "last\n");
	EXPECT_EQ_INT(c.n, 4);
	EXPECT_EQ_INT(c.processes[0].head->pid, c.processes[3].head->pid);
	EXPECT_EQ_INT(capture_kernels(&c.processes[0]), 3); /* the file of an exec'ed process: lent, not taken over */
	EXPECT_EQ_INT(capture_kernels(&c.processes[3]), 11);
	EXPECT_EQ_INT(capture_kernels(&c.processes[1]) + capture_kernels(&c.processes[2]), 12);
}

TEST(collect, leaves_a_program_without_cuda_alone)
{
	struct capture c;

	capture_begin(&c);
	capture_run_same(&c, "print:hello exit:7");
	EXPECT_EQ_INT(WEXITSTATUS(c.status), 7);
	EXPECT_EQ_INT(c.n, 0);
}

TEST(collect, outlives_a_thousand_short_threads)
{
	struct capture c;

	capture_begin(&c);
	capture_run_same(&c, "init churn:1000:3:7 sync");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 3000);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 7000);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_POP), 7000);
	EXPECT_EQ_INT(c.processes[0].head->n_no_room, 0);
	EXPECT(c.processes[0].size < 64 << 20);
}

/* The parts that several threads share, under a sanitizer: it must find nothing. */
static void is_clean(struct capture *c, const char *flavour, const char *words)
{
	char program[100];

	snprintf(program, sizeof(program), "test/fake/app%s", flavour);
	if (access(capture_built(program), X_OK) != 0)
		SKIP("needs a compiler with that sanitizer");
	c->flavour = flavour;
	capture_run(c, words);
	if (c->status != 0 || strstr(c->output, "Sanitizer") || strstr(c->output, "runtime error"))
		test_fail(__FILE__, __LINE__, "%s: status 0x%x\n%s", words, (unsigned)c->status, c->output);
}

TEST(collect, has_no_race)
{
	struct capture c;

	capture_begin(&c);
	is_clean(&c, "-thread", "init threads:23:41:301 sync graph:101:11 churn:60:3:5 launch:5 sync");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 23 * 41 + 101 * 11 + 60 * 3 + 5);
}

TEST(collect, has_no_race_in_windows)
{
	struct capture c;

	capture_begin(&c);
	c.control.trigger = SPOOL_TRIGGER_CUDA_PROFILER;
	c.control.after = SPOOL_AFTER_REPEAT;
	is_clean(&c, "-thread", "init windows:20:7 background threads:1:0:10 end profile:1 threads:11:41:301 profile:0 "
				"profile:1 threads:5:3 profile:0");
}

TEST(collect, has_no_race_when_flushing_and_in_a_ring)
{
	struct capture c;

	capture_begin(&c);
	c.control.flush_ms = 5;
	c.control.keep_ms = 20;
	is_clean(&c, "-thread", "init threads:7:300:6000 sync unique:20000:50 threads:7:3:6000");
}

TEST(collect, has_no_race_without_room)
{
	struct capture c;

	capture_begin(&c);
	c.control.most_bytes = 2 << 20;
	is_clean(&c, "-thread", "init threads:9:900:6000 sync unique:20000:3");
	EXPECT(c.processes[0].head->n_no_room > 0);
}

TEST(collect, touches_no_memory_that_is_not_its_own)
{
	struct capture c;

	capture_begin(&c);
	is_clean(&c, "-address", "init threads:23:41:301 sync graph:101:11 churn:60:3:5 wide:x payload:p:3 registered:r:9 deep:50 "
				 "nvtx:2 push:a mark:b pop fork mark:c end malloc:77 copy:5 peer:6 set:7 event free exit:0");
	capture_begin(&c);
	c.control.most_bytes = 1 << 20;
	is_clean(&c, "-address", "init threads:9:900:6000 sync unique:20000:3 churn:60:3:5");
}
