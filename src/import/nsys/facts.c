/*
 * import/nsys/facts.c - tables that are kept as key and value, and those that are not kept.
 *
 * A table without places of its own is kept as one fact for each value, named
 * "line.column". Tables of event rows are not: nobody could ask for them, so
 * they are counted as not understood.
 */
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "import/nsys/nsys.h"

/* Facts of one table; a description of a machine has some hundreds. */
enum { MOST_FACT_LINES = 20000, MOST_COLUMNS = 256 };

void nsys_read_strings(struct nsys *n)
{
	static const char *const columns[] = { "id", "value" };
	struct nsys_listed *listed = nsys_find(&n->database, "StringIds");
	uint64_t n_lost = 0, n_used = 0;
	struct nsys_cursor c;

	if (!listed)
		return;
	nsys_cursor_begin(&c, n, listed, columns, ARRAY_LEN(columns));
	while (nsys_cursor_step(&c)) {
		int64_t id = nsys_integer(&c, 0);
		str_id text = nsys_text(&c, 1);

		if (id == NULL_i64 || text == NULL_str) {
			n_lost++;
			continue;
		}
		nsys_put_string(&n->strings, id, text);
		n_used++;
	}
	nsys_cursor_end(&c);
	builder_count(n->b, listed->name, COUNT_USED, n_used);
	builder_count(n->b, listed->name, COUNT_LOST, n_lost);
	if (n_lost > 0)
		builder_lose(n->b, "wrong_type", listed->name, n_lost, "texts without an id or a value");
}

/* ---- tables of keys and values ---- */

static void add_fact(struct nsys *n, const char *scope, str_id name, str_id value, ref process)
{
	struct fact_row fact = row_null_fact;

	fact.source = builder_source(n->b);
	fact.scope = builder_text(n->b, scope);
	fact.name = name;
	fact.value = value;
	fact.process = process;
	builder_add_fact(n->b, &fact);
}

static void read_pairs(struct nsys *n, const char *table)
{
	static const char *const columns[] = { "name", "value" };
	struct nsys_listed *listed = nsys_find(&n->database, table);
	struct nsys_cursor c;

	if (!listed)
		return;
	nsys_cursor_begin(&c, n, listed, columns, ARRAY_LEN(columns));
	while (nsys_cursor_step(&c))
		add_fact(n, listed->name, nsys_text(&c, 0), nsys_text(&c, 1), NULL_ref);
	nsys_cursor_end(&c);
	builder_count(n->b, listed->name, COUNT_USED, c.n);
}

/* Files and what was written to them, by process. */
static void read_files(struct nsys *n, const char *table)
{
	static const char *const columns[] = { "globalPid", "filename", "filenameId", "contentId" };
	struct nsys_listed *listed = nsys_find(&n->database, table);
	struct nsys_cursor c;

	if (!listed)
		return;
	nsys_cursor_begin(&c, n, listed, columns, ARRAY_LEN(columns));
	while (nsys_cursor_step(&c)) {
		const int64_t name_id = nsys_integer(&c, 2), content_id = nsys_integer(&c, 3);
		str_id name = nsys_text(&c, 1);

		if (name == NULL_str && name_id != NULL_i64)
			name = nsys_string(n, name_id);
		add_fact(n, listed->name, name, content_id == NULL_i64 ? NULL_str : nsys_string(n, content_id),
			 nsys_process(n, nsys_integer(&c, 0)));
	}
	nsys_cursor_end(&c);
	builder_count(n->b, listed->name, COUNT_USED, c.n);
}

/* ---- other small tables ---- */

static bool begins(const char *name, const char *stem)
{
	return strncmp(name, stem, strlen(stem)) == 0;
}

static bool is_description(const char *name)
{
	static const char *const stems[] = {
		"TARGET_INFO_", "ANALYSIS_DETAILS", "NVTX_PAYLOAD_", "NVTX_EXPORT_TRANSLATION", "NVTX_SCOPES",
		"MPI_COMMUNICATORS", "UCP_WORKERS", "NIC_ID_MAP", "NET_IB_DEVICE", "PMU_EVENT_REQUESTS",
		"GENERIC_EVENT_SOURCES", "GENERIC_EVENT_TYPES", "GENERIC_EVENT_TYPE_FIELD", "NVTXT_META_EVENTS",
	};

	for (size_t i = 0; i < ARRAY_LEN(stems); i++)
		if (begins(name, stems[i]))
			return true;
	return false;
}

static void read_lines(struct nsys *n, struct nsys_listed *listed)
{
	const struct arena_mark mark = arena_mark(&n->arena);
	const char **names = arena_array(&n->arena, const char *, MOST_COLUMNS);
	const size_t n_names = nsys_columns(n, listed->name, names, MOST_COLUMNS);
	uint64_t n_kept;
	struct nsys_cursor c;

	nsys_cursor_begin(&c, n, listed, names, n_names);
	while (nsys_cursor_step(&c))
		for (size_t i = 0; i < n_names && c.n <= MOST_FACT_LINES; i++)
			nsys_keep_fact(&c, (int)i, c.row, names[i], NULL_ref);
	nsys_cursor_end(&c);
	n_kept = c.n < MOST_FACT_LINES ? c.n : MOST_FACT_LINES;
	builder_count(n->b, listed->name, COUNT_USED, n_kept);
	builder_count(n->b, listed->name, COUNT_UNKNOWN, c.n - n_kept);
	arena_reset(&n->arena, mark);
}

void nsys_read_facts(struct nsys *n)
{
	static const char *const pairs[] = { "META_DATA_CAPTURE", "META_DATA_EXPORT", "TARGET_INFO_SYSTEM_ENV" };
	static const char *const files[] = { "ProcessStreams", "ANALYSIS_FILE" };

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		read_pairs(n, pairs[i]);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		read_files(n, files[i]);
}

/* ---- enums ---- */

/*
 * XXH64 of each ENUM table as Nsight Systems 2025.3 writes it: id, 0x1f, name,
 * 0x1f, label, 0x1e for each line. One that differs is kept as facts.
 */
static const struct {
	const char *name;
	uint64_t hash;
} known_enums[] = {
	{ "ENUM_CUDA_DEV_MEM_EVENT_OPER", 0xf9eb9c9b4d883a2a },
	{ "ENUM_CUDA_FUNC_CACHE_CONFIG", 0x45095f734b875ec1 },
	{ "ENUM_CUDA_KERNEL_LAUNCH_TYPE", 0xbbffae6b9d665712 },
	{ "ENUM_CUDA_MEMCPY_OPER", 0xef3bbd6065882cc6 },
	{ "ENUM_CUDA_MEMPOOL_OPER", 0x422ccc02c2009e37 },
	{ "ENUM_CUDA_MEMPOOL_TYPE", 0x008781a89cb07dbd },
	{ "ENUM_CUDA_MEM_KIND", 0x28d6de3f0a873436 },
	{ "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG", 0xa4c7ec15caa9da75 },
	{ "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE", 0x7c734055ed1652d5 },
	{ "ENUM_CUDA_UNIF_MEM_MIGRATION", 0xe70fc881120233c3 },
	{ "ENUM_CUPTI_STREAM_TYPE", 0x85c85bbd2e5c865d },
	{ "ENUM_CUPTI_SYNC_TYPE", 0xe196591ae12adb12 },
	{ "ENUM_DIAGNOSTIC_SEVERITY_LEVEL", 0xe2f98b138e8c8f3a },
	{ "ENUM_DIAGNOSTIC_SOURCE_TYPE", 0xfd1fe05b898b4736 },
	{ "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE", 0xc2d66b10b2849c5c },
	{ "ENUM_NSYS_EVENT_CLASS", 0x3d826e0ac240047c },
	{ "ENUM_NSYS_EVENT_TYPE", 0x247f73c4af71e6b9 },
	{ "ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_FLAGS", 0xddf3d7df3c0fda77 },
	{ "ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_PROPERTY", 0xd2840817b929c96c },
	{ "ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_TYPE", 0x0108b61cb8b49250 },
	{ "ENUM_NSYS_GENERIC_EVENT_FIELD_TYPE", 0x02420a5f2116e7fb },
	{ "ENUM_NSYS_GENERIC_EVENT_GROUP", 0x80c376b67f9eeda1 },
	{ "ENUM_NSYS_GENERIC_EVENT_SOURCE", 0xd4b65f4a299cada5 },
	{ "ENUM_SAMPLING_THREAD_STATE", 0x3db53ba0a14e6d57 },
	{ "ENUM_SCHEDULING_THREAD_BLOCK", 0xc15f017590ef9212 },
	{ "ENUM_STACK_UNWIND_METHOD", 0x881703edfa915815 },
};

static uint64_t hash_enum(struct nsys *n, struct nsys_listed *listed)
{
	static const char *const columns[] = { "id", "name", "label" };
	struct text all = { 0 };
	struct nsys_cursor c;
	uint64_t hash;

	nsys_cursor_glance(&c, n, listed, columns, ARRAY_LEN(columns));
	while (nsys_cursor_step(&c) && c.n <= MOST_FACT_LINES) {
		text_print(&all, "%lld", (long long)sqlite3_column_int64(c.statement, 1));
		for (int i = 2; i <= 3; i++) {
			const char *text = (const char *)sqlite3_column_text(c.statement, i);

			text_addc(&all, '\x1f');
			if (text)
				text_adds(&all, text);
		}
		text_addc(&all, '\x1e');
	}
	nsys_cursor_end(&c);
	hash = hash_bytes(all.p ? all.p : "", all.n);
	text_end(&all);
	return hash;
}

static bool is_known_enum(struct nsys *n, struct nsys_listed *listed)
{
	for (size_t i = 0; i < ARRAY_LEN(known_enums); i++)
		if (strcmp(known_enums[i].name, listed->name) == 0)
			return hash_enum(n, listed) == known_enums[i].hash;
	return false;
}

static uint64_t count_lines(struct nsys *n, struct nsys_listed *listed)
{
	struct nsys_cursor c;

	nsys_cursor_begin(&c, n, listed, NULL, 0);
	while (nsys_cursor_step(&c))
		continue;
	nsys_cursor_end(&c);
	return c.n;
}

void nsys_read_rest(struct nsys *n)
{
	for (size_t i = 0; i < n->database.n_tables; i++) {
		struct nsys_listed *listed = &n->database.tables[i];

		if (listed->read)
			continue;
		if (begins(listed->name, "ENUM_") && is_known_enum(n, listed))
			builder_count(n->b, listed->name, COUNT_USED, count_lines(n, listed));
		else if (begins(listed->name, "ENUM_") || is_description(listed->name))
			read_lines(n, listed);
		else
			builder_count(n->b, listed->name, COUNT_UNKNOWN, count_lines(n, listed));
	}
}
