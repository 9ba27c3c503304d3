/*
 * report/mpi.c - MPI calls: by name, one by one, and by size of message.
 *
 * Unproven: written after the documentation of the original, for want of a
 * capture with MPI in it.
 */
#include "query/stats.h"
#include "report/rows.h"
#include "report/summary.h"

static const char *const sources[] = {
	[MPI_P2P] = "p2p", [MPI_COLLECTIVE] = "coll", [MPI_START_WAIT] = "start_wait", [MPI_OTHER] = "other",
};

static bool is_mpi(uint8_t kind)
{
	return kind < ARRAY_LEN(sources);
}

static const char *name_of(const struct trace *trace, ref i)
{
	const char *name = trace_text(trace, trace->mpi.name[i]);

	return name ? name : "";
}

static void gather_events(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	const struct mpi_table *t = &trace->mpi;
	struct summary_groups groups = { 0 };
	uint32_t *key = arena_array(s->scratch, uint32_t, t->n);

	(void)args;
	for (ref i = 0; i < t->n; i++)
		key[i] = is_mpi(t->kind[i]) ?
			 summary_group(s, &groups, sources[t->kind[i]], name_of(trace, i), NULL) : NO_GROUP;
	*summary_add_rows(s) = (struct stats_rows){
		.n = t->n, .start_ns = t->start_ns, .end_ns = t->end_ns, .key = key,
	};
}

/* One direction of messages: rows of a kind whose bytes are known. */
static void add_sizes(const struct trace *trace, struct summary *s, struct summary_groups *groups, uint8_t kind,
		      const int64_t *bytes, const char *source)
{
	const struct mpi_table *t = &trace->mpi;
	uint32_t *key = arena_array(s->scratch, uint32_t, t->n);

	for (ref i = 0; i < t->n; i++)
		key[i] = t->kind[i] == kind && bytes[i] != NULL_i64 ?
			 summary_group(s, groups, source, name_of(trace, i), NULL) : NO_GROUP;
	*summary_add_rows(s) = (struct stats_rows){
		.n = t->n, .start_ns = t->start_ns, .end_ns = t->end_ns, .value = bytes, .key = key,
	};
}

static void gather_sizes(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	struct summary_groups groups = { 0 };

	(void)args;
	add_sizes(trace, s, &groups, MPI_P2P, trace->mpi.bytes, "p2p");
	add_sizes(trace, s, &groups, MPI_COLLECTIVE, trace->mpi.bytes, "coll_send");
	add_sizes(trace, s, &groups, MPI_COLLECTIVE, trace->mpi.recv_bytes, "coll_recv");
}

enum { START, END_, DURATION, EVENT, PID, TID, TAG, RANK, PEER, ROOT, SIZE, SEND_SIZE, RECV_SIZE };

static const struct sheet_column trace_columns[] = {
	[START] = { "start_ns", "Start", UNIT_NS },
	[END_] = { "end_ns", "End", UNIT_NS },
	[DURATION] = { "duration_ns", "Duration", UNIT_NS },
	[EVENT] = { "name", "Event", UNIT_TEXT },
	[PID] = { "pid", "Pid", UNIT_ID },
	[TID] = { "tid", "Tid", UNIT_ID },
	[TAG] = { "tag", "Tag", UNIT_ID },
	[RANK] = { "rank", "Rank", UNIT_ID },
	[PEER] = { "peer", "PeerRank", UNIT_ID },
	[ROOT] = { "root", "RootRank", UNIT_ID },
	[SIZE] = { "bytes", "Size", UNIT_BYTES },
	[SEND_SIZE] = { "send_bytes", "CollSendSize", UNIT_BYTES },
	[RECV_SIZE] = { "recv_bytes", "CollRecvSize", UNIT_BYTES },
};

static void add_event(const struct trace *trace, ref i, struct cell *row)
{
	const struct mpi_table *t = &trace->mpi;
	ref process = t->track[i] < trace->thread.n ? trace->thread.process[t->track[i]] : NULL_ref;

	row[START] = cell_integer(t->start_ns[i]);
	row[END_] = cell_integer(t->end_ns[i]);
	row[DURATION] = cell_integer(duration_ns(t->start_ns[i], t->end_ns[i]));
	row[EVENT] = cell_text(name_of(trace, i));
	row[PID] = cell_i64_or_null(rows_pid(trace, t->track[i]));
	row[TID] = cell_i64_or_null(rows_tid(trace, t->track[i]));
	row[TAG] = cell_i64_or_null(t->tag[i]);
	if (process < trace->process.n)
		row[RANK] = cell_i32_or_null(trace->process.rank[process]);
	row[PEER] = cell_i32_or_null(t->peer_rank[i]);
	row[ROOT] = cell_i32_or_null(t->root_rank[i]);
	if (t->kind[i] != MPI_COLLECTIVE) {
		row[SIZE] = cell_i64_or_null(t->bytes[i]);
		return;
	}
	row[SEND_SIZE] = cell_i64_or_null(t->bytes[i]);
	row[RECV_SIZE] = cell_i64_or_null(t->recv_bytes[i]);
}

static void run_trace(const struct trace *trace, const struct report *self, const struct report_args *args,
		      struct sheet *out)
{
	const struct mpi_table *t = &trace->mpi;
	struct arena scratch = { 0 };
	struct row_keys keys = { .arena = &scratch };

	(void)self;
	rows_add(&keys, 0, t->start_ns, t->end_ns, t->source_row, t->n, args);
	rows_sort(&keys, args);
	for (size_t i = 0; i < keys.n; i++)
		if (is_mpi(t->kind[keys.at[i].row]))
			add_event(trace, keys.at[i].row, sheet_add_row(out));
	arena_end(&scratch);
}

static const struct need needs[] = {
	NEED(mpi), NEED_THREADS, { TABLE_process, BIT(process, rank) },
};

static const struct sheet_column sum_columns[] = {
	SUMMARY_COLUMNS("Instances"), { "source", "Source", UNIT_TEXT }, { "name", "Name", UNIT_TEXT },
};
static const struct sheet_column size_columns[] = {
	SUMMARY_SIZE_COLUMNS("Total Message Volume", "Instances"), { "source", "Source", UNIT_TEXT },
	{ "name", "Name", UNIT_TEXT },
};

static const char *const sum_aliases[] = { "mpieventsum", NULL };
static const char *const trace_aliases[] = { "mpieventtrace", NULL };
static const char *const size_aliases[] = { "mpimsgsizesum", NULL };

const struct report report_mpi_event_sum = {
	.name = "mpi_event_sum", .title = "MPI Event Summary",
	.question = "which MPI calls take the time?", .aliases = sum_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
	.columns = sum_columns, .n_columns = ARRAY_LEN(sum_columns),
	.spec = &(const struct summary_spec){ gather_events, false }, .run = summary_run,
};

const struct report report_mpi_event_trace = {
	.name = "mpi_event_trace", .title = "MPI Event Trace",
	.question = "which MPI calls did the program make, one after the other?", .aliases = trace_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
	.columns = trace_columns, .n_columns = ARRAY_LEN(trace_columns), .run = run_trace,
};

const struct report report_mpi_msg_size_sum = {
	.name = "mpi_msg_size_sum", .title = "MPI Message Size Summary",
	.question = "how large are the messages of MPI?", .aliases = size_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
	.columns = size_columns, .n_columns = ARRAY_LEN(size_columns),
	.spec = &(const struct summary_spec){ gather_sizes, true }, .run = summary_run,
};
