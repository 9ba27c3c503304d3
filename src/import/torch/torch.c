/*
 * import/torch/torch.c - PyTorch's profiler traces (Kineto) and other Chrome
 * traces, however broken.
 *
 *   (1) What can be read is kept, what cannot is counted: each event is in
 *       the books of its category exactly once.
 *   (2) Times are exact: decimal microseconds become integer nanoseconds. The
 *       zero is the start of the profiler's own span, else the first event.
 *   (3) The trace does not depend on the number of threads.
 *
 * json.c scans values, event.c finds events in a chunk of text and rows.c
 * makes rows of them (any thread); document.c walks the file, append.c and
 * tracks.c give the rows to the builder (one thread).
 */
#define _GNU_SOURCE
#include <string.h>

#include "import/torch/torch.h"

/* Keys that tell a trace from other JSON. */
static const char *const signs[] = {
	"\"traceEvents\"",     "\"ph\"",
	"\"schemaVersion\"",   "\"deviceProperties\"",
	"\"displayTimeUnit\"", "\"baseTimeNanoseconds\"",
	"\"distributedInfo\"",
};

static bool sniff(struct span head)
{
	size_t at = head.n >= 3 && memcmp(head.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < head.n && is_space(head.p[at]))
		at++;
	if (at == head.n || (head.p[at] != '{' && head.p[at] != '['))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (memmem(head.p, head.n, signs[i], strlen(signs[i])))
			return true;
	return false;
}

static void begin(struct torch *t, struct source *source, struct builder *b)
{
	struct source_row row = row_null_source;

	*t = (struct torch){
		.source = source,
		.b = b,
		.processes = { .key_size = sizeof(struct process_key), .size = sizeof(struct process_state) },
		.tracks = { .key_size = sizeof(struct track_key), .size = sizeof(struct track_state) },
		.asyncs = { .key_size = sizeof(struct async_key), .size = sizeof(struct async_state) },
		.books = { .key_size = sizeof(struct books_key), .size = sizeof(struct books) },
		.overhead_thread = NULL_ref,
		.first_ns = NULL_i64,
		.span_start_ns = NULL_i64,
		.span_end_ns = NULL_i64,
		.rank = NULL_i32,
		.world = NULL_i32,
		.host = NULL_str,
		.schema = NULL_str,
	};
	row.name = builder_text(b, source_name(source));
	row.format = builder_text(b, "torch-json");
	if (source_size(source))
		row.size = source_size(source);
	builder_begin_source(b, &row);
	for (size_t i = 0; i < N_TABLES; i++)
		t->first_rows[i] = builder_rows(b, i);
}

static void end(struct torch *t)
{
	set_end(&t->processes);
	set_end(&t->tracks);
	set_end(&t->asyncs);
	set_end(&t->books);
	block_end(t->opens);
	text_end(&t->scratch);
	arena_end(&t->arena);
	block_end(t);
}

static void keep_books(struct torch *t)
{
	for (uint32_t i = 0; i < t->books.n; i++) {
		const struct books *books = set_at(&t->books, i);

		for (enum count k = COUNT_KEPT; k <= COUNT_UNKNOWN; k++)
			builder_count(t->b, books->name, k, books->n[k]);
	}
}

static bool read(struct source *source, struct builder *b, struct err *err)
{
	struct torch *t = block_take(sizeof(*t));
	int64_t zero_ns;
	bool done;

	begin(t, source, b);
	done = torch_read_document(t, err);
	if (!done && t->n_elements > 0) {
		builder_lose(b, "unreadable", "file", 1, err->text);
		done = true;
	}
	if (source_damage(source))
		builder_lose(b, "truncated", source_damage(source), 1, "the compressed stream ends early");
	zero_ns = t->span_start_ns != NULL_i64 ? t->span_start_ns : t->first_ns != NULL_i64 ? t->first_ns : 0;
	torch_fill_source(t, zero_ns);
	torch_settle(t);
	keep_books(t);
	builder_end_source(b, zero_ns);
	end(t);
	return done;
}

const struct importer importer_torch = {
	.name = "torch-json",
	.summary = "PyTorch Profiler or Chrome trace, .json or .json.gz",
	.suffix = ".json",
	.sniff = sniff,
	.read = read,
};
