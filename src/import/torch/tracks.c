/*
 * import/torch/tracks.c - texts, processes, threads and streams of one file.
 *
 *   (1) A thread is (pid, tid) of the file, a stream (pid, device, context,
 *       stream); metadata names what has events and makes nothing.
 *   (2) A stream belongs to the process that made the calls its rows are
 *       correlated with, by majority. Where only one process of the file made
 *       calls, or its rows are correlated with none, it belongs to the process
 *       with the most calls, or without any calls to the one with most rows.
 */
#include <string.h>

#include "import/torch/torch.h"

str_id torch_word(struct torch *t, struct chunk *c, uint32_t word)
{
	struct word *w;

	if (word == NULL_str)
		return NULL_str;
	w = &c->words.at[word];
	if (w->id == UINT32_MAX) {
		const struct json value = { .p = w->p, .n = w->n, .type = JSON_STRING, .escaped = w->escaped };

		w->id = torch_text(t, &value);
	}
	return w->id;
}

str_id torch_text(struct torch *t, const struct json *value)
{
	if (value->type == JSON_NONE)
		return NULL_str;
	if (!value->escaped)
		return builder_intern(t->b, value->p, value->n);
	t->scratch.n = 0;
	json_unescape(&t->scratch, value);
	return builder_intern(t->b, t->scratch.p ? t->scratch.p : "", t->scratch.n);
}

/* A chunk's track key with ids of texts instead of words. */
struct track_key torch_key(struct torch *t, struct chunk *c, const struct track_key *key)
{
	struct track_key out = *key;

	if (out.is_pid_text)
		out.pid = torch_word(t, c, (uint32_t)out.pid);
	if (out.is_tid_text)
		out.tid = torch_word(t, c, (uint32_t)out.tid);
	return out;
}

uint32_t torch_process(struct torch *t, const struct track_key *key)
{
	const struct process_key process = { .pid = key->pid, .is_text = key->is_pid_text };

	return set_add(&t->processes, &process);
}

ref torch_use_process(struct torch *t, uint32_t i)
{
	struct process_state *p = process_at(t, i);

	if (!p->is_used) {
		p->is_used = true;
		p->row = p->key.is_text ? builder_named_process(t->b, (str_id)p->key.pid)
		                        : builder_process(t->b, p->key.pid, NULL_i64);
	}
	return p->row;
}

/* A stream's row without its process, which torch_settle finds. */
static ref add_stream(struct torch *t, const struct track_key *key)
{
	struct stream_row row = row_null_stream;

	if (key->device > INT32_MIN && key->device <= INT32_MAX)
		row.device_number = (int32_t)key->device;
	row.context = key->context;
	row.number = key->tid;
	return builder_add_stream(t->b, &row);
}

/* Rows that do not tell the context are on the first stream of that number. */
static ref use_stream(struct torch *t, uint32_t i)
{
	struct track_key any = track_at(t, i)->key;
	struct track_state *exact, *first;
	uint32_t first_i;

	any.context = NULL_i64;
	first_i = set_add(&t->tracks, &any);
	exact = track_at(t, i);
	first = track_at(t, first_i);
	if (!first->is_used) {
		first->is_used = true;
		first->row = add_stream(t, &exact->key);
	} else if (first != exact && BUILDER_AT(t->b, stream, context, first->row) != NULL_i64) {
		exact->row = add_stream(t, &exact->key);
		exact->is_used = true;
		return exact->row;
	}
	if (first != exact)
		BUILDER_AT(t->b, stream, context, first->row) = exact->key.context;
	exact->is_used = true;
	return exact->row = first->row;
}

static ref use_thread(struct torch *t, uint32_t i)
{
	uint32_t process = torch_process(t, &track_at(t, i)->key);
	ref row = torch_use_process(t, process);
	struct track_state *track = track_at(t, i);

	track->is_used = true;
	track->process = process;
	track->row = track->key.is_tid_text ? builder_named_thread(t->b, row, (str_id)track->key.tid)
	                                    : builder_thread(t->b, row, track->key.tid);
	return track->row;
}

/* Place of a chunk's track in the file's tracks. */
uint32_t torch_track(struct torch *t, struct chunk *c, uint32_t i)
{
	struct track *local = set_at(&c->tracks, i);

	if (local->row == NULL_ref) {
		const struct track_key key = torch_key(t, c, &local->key);
		uint32_t at = set_add(&t->tracks, &key);

		if (!track_at(t, at)->is_used) {
			if (key.is_device)
				use_stream(t, at);
			else
				use_thread(t, at);
		}
		local->row = at;
	}
	return local->row;
}

ref torch_stream(struct torch *t, struct chunk *c, uint32_t i)
{
	return track_at(t, torch_track(t, c, i))->row;
}

ref torch_thread(struct torch *t, struct chunk *c, uint32_t i, bool is_call)
{
	struct track_state *track;
	struct process_state *process;

	if (i == NULL_ref)
		return NULL_ref;
	track = track_at(t, torch_track(t, c, i));
	process = process_at(t, track->process);
	process->n_rows++;
	process->n_calls += is_call;
	return track->row;
}

/* The profiler's work on pid -1 is on a thread of the file's process, which torch_settle finds. */
ref torch_overhead(struct torch *t, struct chunk *c, uint32_t i)
{
	const struct track *local = set_at(&c->tracks, i);
	struct thread_row row = row_null_thread;

	if (local->key.is_pid_text || local->key.pid >= 0)
		return torch_thread(t, c, i, false);
	if (t->overhead_thread == NULL_ref) {
		row.label = builder_text(t->b, "profiler");
		t->overhead_thread = builder_add_thread(t->b, &row);
	}
	return t->overhead_thread;
}

/* ---- at the end ---- */

/* Promise (2): the process that most of the file's rows are about. */
static ref main_process(struct torch *t)
{
	const struct process_state *best = NULL;

	for (uint32_t i = 0; i < t->processes.n; i++) {
		const struct process_state *p = process_at(t, i);

		if (p->is_used &&
		    (!best || p->n_calls > best->n_calls || (p->n_calls == best->n_calls && p->n_rows > best->n_rows)))
			best = p;
	}
	return best ? best->row : builder_process(t->b, NULL_i64, NULL_i64);
}

/* Which process a correlation id belongs to, and how often a stream's rows have one of a process. */
struct caller {
	int64_t correlation;
	ref process;
};

struct vote {
	ref stream, process;
	uint64_t n;
};

static void find_callers(struct torch *t, struct set *callers)
{
	for (ref i = (ref)t->first_rows[TABLE_api]; i < builder_rows(t->b, TABLE_api); i++) {
		const int64_t correlation = BUILDER_AT(t->b, api, correlation, i);
		size_t n = callers->n;
		struct caller *caller = set_at(callers, set_add(callers, &correlation));

		if (callers->n > n)
			caller->process = BUILDER_AT(t->b, thread, process, BUILDER_AT(t->b, api, track, i));
	}
}

static void add_vote(struct set *votes, const struct set *callers, ref stream, uint32_t correlation)
{
	const int64_t key = correlation;
	uint32_t at = correlation == NULL_u32 ? UINT32_MAX : set_find(callers, &key);

	if (at != UINT32_MAX) {
		const ref pair[2] = { stream, ((struct caller *)set_at(callers, at))->process };

		((struct vote *)set_at(votes, set_add(votes, pair)))->n++;
	}
}

#define VOTE(t, votes, callers, table)                                                                                 \
	for (ref i = (ref)(t)->first_rows[TABLE_##table]; i < builder_rows((t)->b, TABLE_##table); i++)                \
	add_vote((votes), (callers), BUILDER_AT((t)->b, table, track, i), BUILDER_AT((t)->b, table, correlation, i))

static void vote_for_processes(struct torch *t)
{
	struct set callers = { .key_size = sizeof(int64_t), .size = sizeof(struct caller) };
	struct set votes = { .key_size = 2 * sizeof(ref), .size = sizeof(struct vote) };
	struct set best = { .key_size = sizeof(ref), .size = sizeof(struct vote) };

	find_callers(t, &callers);
	VOTE(t, &votes, &callers, kernel);
	VOTE(t, &votes, &callers, memcpy);
	VOTE(t, &votes, &callers, memset);
	for (uint32_t i = 0; i < votes.n; i++) {
		const struct vote *vote = set_at(&votes, i);
		struct vote *leader = set_at(&best, set_add(&best, &vote->stream));

		if (vote->n > leader->n)
			*leader = *vote;
	}
	for (uint32_t i = 0; i < best.n; i++) {
		const struct vote *leader = set_at(&best, i);

		BUILDER_AT(t->b, stream, process, leader->stream) = leader->process;
	}
	set_end(&callers);
	set_end(&votes);
	set_end(&best);
}

static void place_streams(struct torch *t, ref process)
{
	size_t n_callers = 0;

	for (uint32_t i = 0; i < t->processes.n; i++)
		n_callers += process_at(t, i)->n_calls > 0;
	if (n_callers > 1)
		vote_for_processes(t);
	for (ref i = (ref)t->first_rows[TABLE_stream]; i < builder_rows(t->b, TABLE_stream); i++)
		if (BUILDER_AT(t->b, stream, process, i) == NULL_ref)
			BUILDER_AT(t->b, stream, process, i) = process;
}

/* "thread 1540 (pt_autograd_0)" is pt_autograd_0; blanks at the end are none of the name. */
static str_id thread_name(struct torch *t, str_id id)
{
	const char *name = builder_get_text(t->b, id), *p = name;
	size_t n = strlen(name);

	while (n > 0 && name[n - 1] == ' ')
		n--;
	if (n > 9 && strncmp(name, "thread ", 7) == 0 && name[n - 1] == ')') {
		p = name + 7 + strspn(name + 7, "-0123456789");
		if (p[0] == ' ' && p[1] == '(')
			return builder_intern(t->b, p + 2, (size_t)(name + n - 1 - p - 2));
	}
	return builder_intern(t->b, name, n);
}

/* A stream's name, unless it is only its number: "stream 7 ". */
static void name_stream(struct torch *t, const struct track_state *stream)
{
	struct track_key key = stream->key;
	const struct track_state *named;
	const char *name;
	uint32_t at;

	key.device = key.context = NULL_i64;
	key.is_device = 0;
	at = set_find(&t->tracks, &key);
	if (at == UINT32_MAX || !track_at(t, at)->has_name)
		return;
	named = track_at(t, at);
	name = builder_get_text(t->b, named->name);
	if (strncmp(name, "stream ", 7) == 0 && name[7 + strspn(name + 7, " -0123456789")] == '\0')
		return;
	BUILDER_AT(t->b, stream, name, stream->row) = thread_name(t, named->name);
}

static void name_processes(struct torch *t)
{
	for (uint32_t i = 0; i < t->processes.n; i++) {
		const struct process_state *p = process_at(t, i);

		if (!p->is_used)
			continue;
		if (p->has_name)
			BUILDER_AT(t->b, process, name, p->row) = p->name;
		if (p->has_label && strcmp(builder_get_text(t->b, p->label), "CPU") != 0)
			builder_fact(t->b, "process_labels", builder_get_text(t->b, p->has_name ? p->name : 0),
			             builder_get_text(t->b, p->label));
	}
}

static void count_open(struct torch *t, uint32_t top)
{
	uint64_t n = 0;

	for (; top; top = t->opens[top - 1].below)
		n++;
	if (n)
		builder_lose(t->b, "unmatched", "slice", n, "spans that begin and never end");
}

void torch_settle(struct torch *t)
{
	bool has_streams = builder_rows(t->b, TABLE_stream) > t->first_rows[TABLE_stream];

	if (has_streams || t->overhead_thread != NULL_ref || t->n_devices > 0) {
		ref process = main_process(t);

		place_streams(t, process);
		if (t->overhead_thread != NULL_ref)
			BUILDER_AT(t->b, thread, process, t->overhead_thread) = process;
	}
	for (uint32_t i = 0; i < t->tracks.n; i++) {
		struct track_state *track = track_at(t, i);

		count_open(t, track->open);
		if (track->is_used && track->key.is_device)
			name_stream(t, track);
		else if (track->is_used && track->has_name)
			BUILDER_AT(t->b, thread, name, track->row) = thread_name(t, track->name);
	}
	for (uint32_t i = 0; i < t->asyncs.n; i++)
		count_open(t, ((struct async_state *)set_at(&t->asyncs, i))->open);
	name_processes(t);
}
