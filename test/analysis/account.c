/* analysis/account.c: compute, exposed communication, exposed copies and idle time are the wall time, to the ns. */
#include "analysis/account.h"

#include "test/test.h"

#define MAX_OPS 64

/* A timeline of one device with these operations. */
struct hand {
	struct op ops[MAX_OPS];
	struct timeline_device device;
	struct timeline tl;
	struct arena arena;
	struct states *states;
};

static void end_hand(struct hand *h)
{
	arena_end(&h->arena);
}

/* An empty one that ends with its scope. */
#define HAND(name) struct hand name __attribute__((cleanup(end_hand))) = { 0 }

static int by_start(const void *pa, const void *pb)
{
	const struct op *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns == b->end_ns ? 0 : a->end_ns > b->end_ns ? -1 : 1;
}

static void finish(struct hand *h, size_t n)
{
	qsort(h->ops, n, sizeof(h->ops[0]), by_start);
	h->device.n_ops = (uint32_t)n;
	h->tl.ops = h->ops;
	h->tl.n_ops = n;
	h->tl.devices = &h->device;
	h->tl.n_devices = 1;
	h->states = states_of(&h->tl, &h->arena);
}

static void add(struct hand *h, size_t i, enum op_class class, int64_t start_ns, int64_t end_ns)
{
	h->ops[i] = (struct op){ .class = (uint8_t)class, .start_ns = start_ns, .end_ns = end_ns };
}

static struct account account(struct hand *h, int64_t from, int64_t to)
{
	return account_of(&h->tl, 0, h->states, (struct interval){ from, to });
}

/* C = [0,6) [10,14), M = [4,12), Y = [11,16) [20,22). */
static void make_example(struct hand *h)
{
	add(h, 0, OP_COMPUTE, 0, 6);
	add(h, 1, OP_COMPUTE, 10, 14);
	add(h, 2, OP_COMM, 4, 12);
	add(h, 3, OP_HTOD, 11, 16);
	add(h, 4, OP_MEMSET, 20, 22);
	finish(h, 5);
}

TEST(account, is_exact_for_the_example_of_overlap)
{
	HAND(h);
	struct account a;

	make_example(&h);
	a = account(&h, 0, 24);
	EXPECT_EQ_INT(a.wall_ns, 24);
	EXPECT_EQ_INT(a.exposed_ns[OP_COMPUTE], 10);
	EXPECT_EQ_INT(account_exposed_comm_ns(&a), 4);
	EXPECT_EQ_INT(a.exposed_copy_ns, 4);
	EXPECT_EQ_INT(a.exposed_ns[OP_HTOD], 2);
	EXPECT_EQ_INT(a.exposed_ns[OP_MEMSET], 2);
	EXPECT_EQ_INT(a.idle_ns, 6);
	EXPECT_EQ_INT(a.comm_busy_ns, 8);
	EXPECT_EQ_INT(a.hidden_comm_ns, 4);
	EXPECT_EQ_INT(a.memory_busy_ns, 7);
	EXPECT_EQ_INT(a.kernel_busy_ns, 14);
	EXPECT_EQ_INT(a.leading_ns, 0);
	EXPECT_EQ_INT(a.trailing_ns, 2);
	EXPECT_EQ_INT(a.accumulated_ns[OP_COMPUTE], 10);
	EXPECT_EQ_INT(a.accumulated_ns[OP_COMM], 8);
	EXPECT_EQ_INT(a.n_ops[OP_COMPUTE], 2);
}

TEST(account, names_each_change_of_what_is_alive_once)
{
	static const struct state_piece expected[] = {
		{ 0, OP_COMPUTE, 1 << OP_COMPUTE },
		{ 4, OP_COMPUTE, 1 << OP_COMPUTE | 1 << OP_COMM },
		{ 6, OP_COMM, 1 << OP_COMM },
		{ 10, OP_COMPUTE, 1 << OP_COMPUTE | 1 << OP_COMM },
		{ 11, OP_COMPUTE, 1 << OP_COMPUTE | 1 << OP_COMM | 1 << OP_HTOD },
		{ 12, OP_COMPUTE, 1 << OP_COMPUTE | 1 << OP_HTOD },
		{ 14, OP_HTOD, 1 << OP_HTOD },
		{ 16, STATE_IDLE, 0 },
		{ 20, OP_MEMSET, 1 << OP_MEMSET },
	};
	HAND(h);

	make_example(&h);
	EXPECT_EQ_INT(h.states[0].n, ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		EXPECT_EQ_INT(h.states[0].at[i].start_ns, expected[i].start_ns);
		EXPECT_EQ_INT(h.states[0].at[i].class, expected[i].class);
		EXPECT_EQ_INT(h.states[0].at[i].alive, expected[i].alive);
	}
	EXPECT_EQ_INT(h.states[0].end_ns, 22);
}

/* Prepare 2 ms on the host, compute 6 and communication 9 ms side by side, finalise 1 ms on the host. */
TEST(account, is_exact_for_two_branches_that_overlap)
{
	HAND(h);
	struct account a;

	add(&h, 0, OP_COMPUTE, 2000000, 8000000);
	add(&h, 1, OP_COMM, 2000000, 11000000);
	finish(&h, 2);
	a = account(&h, 0, 12000000);
	EXPECT_EQ_INT(a.exposed_ns[OP_COMPUTE], 6000000);
	EXPECT_EQ_INT(account_exposed_comm_ns(&a), 3000000);
	EXPECT_EQ_INT(a.exposed_copy_ns, 0);
	EXPECT_EQ_INT(a.idle_ns, 3000000);
	EXPECT_EQ_INT(a.leading_ns, 2000000);
	EXPECT_EQ_INT(a.trailing_ns, 1000000);
	EXPECT_EQ_INT(a.hidden_comm_ns, 6000000);
	EXPECT_EQ_INT(a.accumulated_ns[OP_COMPUTE] + a.accumulated_ns[OP_COMM], 15000000);
	EXPECT_EQ_INT(a.kernel_busy_ns, 9000000);
}

/* {} is 0; [0,1) [1,2) is 2; [0,10) [2,3) is 10; [4,4) is 0 and one operation. */
TEST(account, unites_intervals)
{
	HAND(none);
	HAND(neighbours);
	HAND(nested);
	HAND(empty);
	struct account a;

	finish(&none, 0);
	a = account(&none, 0, 9);
	EXPECT_EQ_INT(a.kernel_busy_ns, 0);
	EXPECT_EQ_INT(a.idle_ns, 9);
	EXPECT_EQ_INT(a.leading_ns + a.trailing_ns, 0);

	add(&neighbours, 0, OP_COMPUTE, 0, 1);
	add(&neighbours, 1, OP_COMPUTE, 1, 2);
	finish(&neighbours, 2);
	EXPECT_EQ_INT(account(&neighbours, 0, 9).kernel_busy_ns, 2);
	EXPECT_EQ_INT(neighbours.states[0].n, 1);

	add(&nested, 0, OP_COMPUTE, 0, 10);
	add(&nested, 1, OP_COMPUTE, 2, 3);
	finish(&nested, 2);
	EXPECT_EQ_INT(account(&nested, 0, 10).kernel_busy_ns, 10);
	EXPECT_EQ_INT(account(&nested, 0, 10).accumulated_ns[OP_COMPUTE], 11);
	EXPECT_EQ_INT(account(&nested, 0, 2).accumulated_ns[OP_COMPUTE], 2);
	EXPECT_EQ_INT(account(&nested, 0, 2).n_ops[OP_COMPUTE], 1);

	add(&empty, 0, OP_COMPUTE, 4, 4);
	finish(&empty, 1);
	EXPECT_EQ_INT(account(&empty, 0, 9).kernel_busy_ns, 0);
	EXPECT_EQ_INT(account(&empty, 0, 9).n_ops[OP_COMPUTE], 1);
	EXPECT_EQ_INT(account(&empty, 0, 4).n_ops[OP_COMPUTE], 0);
	EXPECT_EQ_INT(account(&empty, 4, 9).n_ops[OP_COMPUTE], 1);
}

TEST(account, tells_leading_and_trailing_time_of_the_capture_alone)
{
	HAND(h);

	add(&h, 0, OP_COMPUTE, 10, 20);
	add(&h, 1, OP_COMPUTE, 80, 90);
	finish(&h, 2);
	EXPECT_EQ_INT(account(&h, 0, 100).leading_ns, 10);
	EXPECT_EQ_INT(account(&h, 0, 100).trailing_ns, 10);
	EXPECT_EQ_INT(account(&h, 30, 70).leading_ns, 0);
	EXPECT_EQ_INT(account(&h, 30, 70).idle_ns, 40);
	EXPECT_EQ_INT(account(&h, -20, 5).leading_ns, 25);
	EXPECT_EQ_INT(account(&h, 95, 99).trailing_ns, 4);
	EXPECT_EQ_INT(account(&h, 99, 95).wall_ns, 0);
}

/* The times that a timeline lets in end here. */
static const int64_t LARGEST = (int64_t)1 << 61;

TEST(account, holds_at_the_ends_of_time)
{
	HAND(h);
	struct account a;

	add(&h, 0, OP_COMPUTE, -LARGEST, LARGEST);
	add(&h, 1, OP_COMPUTE, -LARGEST, LARGEST);
	add(&h, 2, OP_COMPUTE, -LARGEST, 0);
	add(&h, 3, OP_HTOD, LARGEST - 1, LARGEST);
	finish(&h, 4);
	a = account(&h, INT64_MIN, INT64_MAX);
	EXPECT_EQ_INT(a.accumulated_ns[OP_COMPUTE], INT64_MAX);
	EXPECT_EQ_INT(a.exposed_ns[OP_COMPUTE], a.wall_ns);
	a = account(&h, -5, 5);
	EXPECT_EQ_INT(a.accumulated_ns[OP_COMPUTE], 25);
	EXPECT_EQ_INT(a.exposed_ns[OP_COMPUTE], 10);
	EXPECT_EQ_INT(a.idle_ns, 0);
}

/* ---- random timelines against counting every ns ---- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

enum { SPAN = 200 };

static void expect_as_counted(struct hand *h, size_t n, int64_t from, int64_t to)
{
	const struct account a = account(h, from, to);
	int64_t exposed[N_OP_CLASSES + 1] = { 0 }, busy[N_OP_CLASSES] = { 0 }, accumulated[N_OP_CLASSES] = { 0 };
	uint64_t n_ops[N_OP_CLASSES] = { 0 };
	int64_t hidden = 0, memory = 0, kernels = 0, copies = 0;

	for (int64_t t = from; t < to; t++) {
		unsigned alive = 0;

		for (size_t i = 0; i < n; i++)
			if (h->ops[i].start_ns <= t && t < h->ops[i].end_ns) {
				alive |= 1u << h->ops[i].class;
				accumulated[h->ops[i].class]++;
			}
		exposed[alive ? __builtin_ctz(alive) : STATE_IDLE]++;
		for (unsigned c = 0; c < N_OP_CLASSES; c++)
			busy[c] += alive >> c & 1;
		hidden += (alive & 3) == 3;
		kernels += (alive & 3) != 0;
		memory += alive >> OP_HTOD != 0;
		copies += alive && (alive & 3) == 0;
	}
	for (size_t i = 0; i < n; i++) {
		const struct op *o = &h->ops[i];

		n_ops[o->class] +=
			o->start_ns < to && (o->start_ns == o->end_ns ? o->start_ns >= from : o->end_ns > from);
	}
	for (size_t c = 0; c < N_OP_CLASSES; c++) {
		EXPECT_EQ_INT(a.exposed_ns[c], exposed[c]);
		EXPECT_EQ_INT(a.busy_ns[c], busy[c]);
		EXPECT_EQ_INT(a.accumulated_ns[c], accumulated[c]);
		EXPECT_EQ_INT(a.n_ops[c], n_ops[c]);
	}
	EXPECT_EQ_INT(a.idle_ns, exposed[STATE_IDLE]);
	EXPECT_EQ_INT(a.hidden_comm_ns, hidden);
	EXPECT_EQ_INT(a.kernel_busy_ns, kernels);
	EXPECT_EQ_INT(a.memory_busy_ns, memory);
	EXPECT_EQ_INT(a.exposed_copy_ns, copies);
	EXPECT_EQ_INT(a.exposed_ns[OP_COMPUTE] + account_exposed_comm_ns(&a) + a.exposed_copy_ns + a.idle_ns,
	              to - from);
}

TEST(account, is_what_counting_every_ns_gives_on_a_thousand_timelines)
{
	uint64_t random = 20240229;

	for (int round = 0; round < 1000; round++) {
		HAND(h);
		const size_t n = next_random(&random) % MAX_OPS;

		for (size_t i = 0; i < n; i++) {
			const int64_t start = (int64_t)(next_random(&random) % SPAN);

			add(&h, i, next_random(&random) % N_OP_CLASSES, start,
			    start + (int64_t)(next_random(&random) % (round % 2 ? 8 : 60)));
		}
		finish(&h, n);
		expect_as_counted(&h, n, -3, SPAN + 80);
		for (int i = 0; i < 3; i++) {
			const int64_t from = (int64_t)(next_random(&random) % SPAN);

			expect_as_counted(&h, n, from, from + 1 + (int64_t)(next_random(&random) % 90));
		}
	}
}

/* ---- the ladder ---- */

static struct ladder ladder_in(const char *text, int64_t from, int64_t to)
{
	const struct interval window = { from, to };
	struct arena arena = { 0 };
	struct trace *trace = trace_of(text);
	struct timeline tl;
	struct ladder ladder;
	struct account a;
	struct err err;

	EXPECT_DONE(timeline_build(&tl, trace, &arena, &err), err);
	a = account_of(&tl, 0, states_of(&tl, &arena), window);
	ladder = ladder_of(&tl, 0, &a, window);
	trace_close(trace);
	arena_end(&arena);
	return ladder;
}

TEST(account, climbs_the_ladder_by_the_metrics_of_the_device)
{
	const struct ladder l = ladder_in(
		"device \"NVIDIA H200\" ordinal=0\n"
		"kernel a 0..80\n"
		"counter_value \"SMs Active [Throughput %]\" value=40 @10\n"
		"counter_value \"SMs Active [Throughput %]\" value=60 @50\n"
		"counter_value \"SMs Active [Throughput %]\" value=99 @150\n"
		"counter_value \"Compute Warps in Flight [Throughput %]\" value=10 @10\n"
		"counter_value \"Compute Warps in Flight [Throughput %]\" value=20 @50\n"
		"counter_value \"SM Issue [Throughput %]\" value=5 @10\n"
		"counter_value \"Tensor Active [Throughput %]\" value=3 @10\n"
		"counter_value \"Tensor Active [Throughput %]\" value=4 @50\n"
		"counter_value \"Compute Warps in Flight [avg warps per cycle]\" value=7 @10\n", 0, 100);

	EXPECT_NEAR(l.kernel_resident, 0.8, 1e-12);
	EXPECT_NEAR(l.without_waiting_comm, 0.8, 1e-12);
	EXPECT_NEAR(l.sm_active, 0.5, 1e-12);
	EXPECT_NEAR(l.occupancy, 0.15 / 0.5, 1e-12);
	EXPECT_NEAR(l.tensor_active, 0.035, 1e-12);
	EXPECT(isnan(l.issue_slot)); /* one sample is none */
}

/* How much of a communication waits is known from all ranks alone. */
TEST(account, stops_on_the_ladder_where_nothing_was_recorded)
{
	const struct ladder l = ladder_in("kernel a 0..20\nkernel ncclDevKernel_AllReduce 20..60\n", 0, 100);

	EXPECT_NEAR(l.kernel_resident, 0.6, 1e-12);
	EXPECT(isnan(l.without_waiting_comm));
	EXPECT(isnan(l.sm_active) && isnan(l.occupancy) && isnan(l.issue_slot) && isnan(l.tensor_active));
}
