/* export/sqlite.c: what readers of Nsight Systems' exports find in ours. */
#include <stdio.h>

#include "base/arena.h"
#include "base/text.h"
#include "test/export/exported.h"

/* Each test is a process: what it made lives until it ends. */
static struct arena answers;
static sqlite3 *opened[4];
static size_t n_opened;

static const char *keep(struct text *text)
{
	const char *kept = arena_copy(&answers, text->p ? text->p : "", text->n);

	text_end(text);
	return kept;
}

/* Rows of a query as text: columns by "|", rows by lines; NULL is "-". */
static const char *ask(sqlite3 *db, const char *sql)
{
	struct text out = { 0 };
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const char *value = (const char *)sqlite3_column_text(statement, i);

			text_print(&out, "%s%s", i ? "|" : "", value ? value : "-");
		}
		text_addc(&out, '\n');
	}
	sqlite3_finalize(statement);
	return keep(&out);
}

/* Open, and forget the file: what is open stays until the test ends. */
static sqlite3 *open_export(struct exported *e, const char *text)
{
	sqlite3 *db;

	if (sqlite3_open_v2(export_text(e, "sqlite", text), &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		test_fail(__FILE__, __LINE__, "%s", sqlite3_errmsg(db));
	ask(db, "SELECT count(*) FROM sqlite_master");
	export_remove(e);
	opened[n_opened++] = db;
	return db;
}

static sqlite3 *export_of(const char *text)
{
	struct exported e = { 0 };

	return open_export(&e, text);
}

/* ---- the schema ---- */

/* A table's columns in the words of the list: "id:# value:T!". */
static const char *describe(sqlite3 *db, const char *table)
{
	struct text sql = { 0 }, out = { 0 }, key = { 0 };
	sqlite3_stmt *statement;

	text_print(&sql, "SELECT name, type, \"notnull\", pk, "
		   "(SELECT count(*) FROM pragma_table_info('%s') WHERE pk > 0) FROM pragma_table_info('%s')", table, table);
	if (sqlite3_prepare_v2(db, sql.p, -1, &statement, NULL) != SQLITE_OK)
		test_fail(__FILE__, __LINE__, "%s", sqlite3_errmsg(db));
	while (sqlite3_step(statement) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);
		const bool in_key = sqlite3_column_int(statement, 3) > 0, alone = sqlite3_column_int(statement, 4) == 1;

		text_print(&out, "%s%s:", out.n ? " " : "", name);
		if (in_key && alone)
			text_addc(&out, '#');
		else
			text_print(&out, "%c%s", sqlite3_column_text(statement, 1)[0],
				   sqlite3_column_int(statement, 2) ? "!" : "");
		if (in_key && !alone)
			text_print(&key, "%s%s", key.n ? "," : "", name);
	}
	sqlite3_finalize(statement);
	if (key.n)
		text_print(&out, " PK(%s)", key.p);
	text_end(&key);
	text_end(&sql);
	return keep(&out);
}

TEST(export_sqlite, has_every_table_and_column_of_schema_3_28_1)
{
	size_t n_tables = 0, size;
	const char *file = test_read("test/data/export/nsys-schema-3.28.1.txt", &size);
	char *list = arena_copy(&answers, file, size);
	sqlite3 *db = export_of("");

	for (char *line = strtok(list, "\n"); line; line = strtok(NULL, "\n")) {
		char *columns = strstr(line, " | ");

		*columns = '\0';
		columns += 3;
		n_tables++;
		/* returnValue is there for scripts of schema 3.20. */
		if (strcmp(line, "PROFILER_OVERHEAD") == 0)
			columns = "start:I! end:I! globalTid:I nameId:I! overheadType:I! returnValue:I!";
		EXPECT_EQ_TEXT(describe(db, line), columns);
	}
	EXPECT_EQ_INT(n_tables, 172);
	EXPECT_EQ_TEXT(ask(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'ENUM_%'"),
		       "172\n");
	EXPECT_EQ_TEXT(ask(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name LIKE 'ENUM_%'"),
		       "68\n");
}

TEST(export_sqlite, writes_enumerations_as_nsys_does)
{
	sqlite3 *db = export_of("");

	EXPECT_EQ_TEXT(ask(db, "SELECT count(*) FROM ENUM_NSYS_EVENT_TYPE"), "150\n");
	EXPECT_EQ_TEXT(ask(db, "SELECT count(*) FROM ENUM_NSYS_EVENT_CLASS"), "89\n");
	EXPECT_EQ_TEXT(ask(db, "SELECT * FROM ENUM_CUDA_MEMCPY_OPER WHERE id IN (1, 13)"),
		       "1|CUDA_MEMCPY_KIND_HTOD|Host-to-Device\n13|CUDA_MEMCPY_KIND_UVM_DTOD|Unified Device-to-Device\n");
	EXPECT_EQ_TEXT(ask(db, "SELECT * FROM ENUM_NSYS_EVENT_TYPE WHERE id = 85"),
		       "85|OS runtime libraries|OS runtime libraries\n");
}

TEST(export_sqlite, leaves_out_empty_tables_when_lazy)
{
	struct exported e = { .options.lazy = true };
	sqlite3 *db = open_export(&e, "kernel gemm 0..100\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'"), "1\n");
	EXPECT_EQ_TEXT(ask(db, "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_MEMCPY'"), "0\n");
}

TEST(export_sqlite, tells_its_schema_and_its_maker)
{
	sqlite3 *db = export_of("");

	EXPECT_EQ_TEXT(ask(db, "SELECT value FROM META_DATA_EXPORT WHERE name IN "
			       "('EXPORT_SCHEMA_VERSION', 'FATHOM_VERSION', 'EXPORT_PARAM_LAZY')"),
		       "3.28.1\nfalse\nfathom 9.9\n");
}

/* ---- rows ---- */

TEST(export_sqlite, joins_a_kernel_to_its_call_by_correlation_and_process)
{
	sqlite3 *db = export_of("kernel gemm stream=7 launch=-10..-2 corr=5 grid=2x3x1 block=128 100..200\n"
				"kernel gemm stream=13 launch=20..30 corr=6 50..90\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT k.start, k.end, k.streamId, k.gridX, k.gridY, k.blockX, r.start, n.value "
			       "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
			       "ON r.correlationId = k.correlationId AND r.globalTid & ~0xffffff = k.globalPid "
			       "JOIN StringIds n ON n.id = k.demangledName ORDER BY k.rowid"),
		       "50|90|13|0|0|0|20|gemm\n100|200|7|2|3|128|-10|gemm\n");
}

TEST(export_sqlite, numbers_processes_as_nsys_does)
{
	sqlite3 *db = export_of("api cudaMalloc process=5081 thread=5082 0..10\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT globalTid, globalTid >> 48, globalTid / 0x1000000 % 0x1000000, "
			       "globalTid % 0x1000000 FROM CUPTI_ACTIVITY_KIND_RUNTIME"),
		       "281560221750234|1|5081|5082\n");
}

TEST(export_sqlite, gives_small_numbers_to_ids_that_do_not_fit)
{
	sqlite3 *db = export_of("api a process=140000000 thread=7 0..10\n"
				"api b process=1 thread=140000001 20..30\n"
				"api c process=1 thread=140000002 40..50\n"
				"api d process=1 thread=1 60..70\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT globalTid / 0x1000000 % 0x1000000, globalTid % 0x1000000 "
			       "FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start"),
		       "2|7\n1|2\n1|3\n1|1\n");
	EXPECT_EQ_TEXT(ask(db, "SELECT value FROM META_DATA_EXPORT WHERE name LIKE 'FATHOM_RENUMBERED_%'"),
		       "2 was 140000000\n2 of process 1 was 140000001\n3 of process 1 was 140000002\n");
}

TEST(export_sqlite, puts_processes_of_two_hosts_on_two_machines)
{
	sqlite3 *db = export_of("source a rank=0\napi x process=9 thread=9 0..1\n"
				"source b rank=1\napi y process=9 thread=9 2..3\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT globalTid >> 56, globalTid / 0x1000000 % 0x1000000 FROM "
			       "CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start"),
		       "0|9\n1|9\n");
}

TEST(export_sqlite, has_dense_texts_that_rows_name)
{
	sqlite3 *db = export_of("kernel one 0..1\nkernel two 2..3\nkernel one 4..5\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT count(*) = max(id) + 1, count(*) = count(DISTINCT value), min(id) "
			       "FROM StringIds"),
		       "1|1|0\n");
	EXPECT_EQ_TEXT(ask(db, "SELECT value FROM StringIds WHERE id = 0"), "[Unknown]\n");
}

TEST(export_sqlite, finds_the_short_name_of_a_signature)
{
	sqlite3 *db = export_of("kernel \"void at::native::(anonymous namespace)::norm<float, (int)4>(int, float*)\" "
				"0..1\n"
				"kernel \"nvjet_tst_128\" 2..3\n"
				"kernel \"f::operator()(int) const\" 4..5\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName "
			       "ORDER BY start"),
		       "norm\nnvjet_tst_128\nf::operator()(int) const\n");
}

/* ---- ranges ---- */

TEST(export_sqlite, writes_ops_as_ranges_of_a_domain)
{
	sqlite3 *db = export_of("op ProfilerStep#1 kind=annotation 0..100\n"
				"op aten::mm kind=framework 10..20\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT eventId, eventType, start, end, text, domainId FROM NVTX_EVENTS"),
		       "1|59|0|100|ProfilerStep#1|0\n2|75|10|-|PyTorch|1\n3|59|10|20|aten::mm|1\n");
}

TEST(export_sqlite, keeps_row_numbers_as_ids_of_ranges)
{
	sqlite3 *db = export_of("nvtx second kind=push source_row=4 50..60\nnvtx first kind=push source_row=9 0..10\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT eventId, rowid, text FROM NVTX_EVENTS"), "4|4|second\n9|9|first\n");
}

TEST(export_sqlite, never_leaves_a_named_range_without_text)
{
	sqlite3 *db = export_of("nvtx plain kind=push 0..10\nnvtx known kind=push is_registered=1 20..30\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT coalesce(text, value), text IS NULL, textId IS NULL FROM NVTX_EVENTS "
			       "LEFT JOIN StringIds ON id = textId"),
		       "plain|0|1\nknown|1|0\n");
}

/* ---- what is asked for ---- */

TEST(export_sqlite, writes_what_lies_in_a_window)
{
	static const struct export_window strict = { 10, 50, false, false }, loose = { 10, 50, true, true };
	static const char text[] = "kernel before 0..5\nkernel enters 5..15\nkernel inside 20..30\nkernel leaves 40..60\n";
	static const char sql[] = "SELECT value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName";
	struct exported e = { .options = { .windows = &strict, .n_windows = 1 } };

	EXPECT_EQ_TEXT(ask(open_export(&e, text), sql), "inside\n");
	e.options.windows = &loose;
	EXPECT_EQ_TEXT(ask(open_export(&e, text), sql), "enters\ninside\nleaves\n");
}

TEST(export_sqlite, writes_the_tables_that_patterns_match)
{
	static const char *const patterns[] = { "NVTX_EVENTS", "kind_mem.*" };
	struct exported e = { .options = { .patterns = patterns, .n_patterns = 2 } };
	sqlite3 *db = open_export(&e, "kernel gemm 0..1\n");

	EXPECT_EQ_TEXT(ask(db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"),
		       "CUPTI_ACTIVITY_KIND_MEMCPY\nCUPTI_ACTIVITY_KIND_MEMSET\nCUPTI_ACTIVITY_KIND_MEM_DECOMPRESS\n"
		       "META_DATA_EXPORT\nNVTX_EVENTS\nStringIds\n");
}

TEST(export_sqlite, replaces_nothing_unless_told)
{
	struct exported e = { 0 };
	struct trace *trace = trace_of("kernel gemm 0..1\n");
	const char *path = export_text(&e, "sqlite", "kernel gemm 0..1\n");
	bool replaced;

	EXPECT(!export_write(trace, exporter_find("sqlite"), path, &e.options, NULL, &e.err));
	EXPECT(strstr(e.err.text, "/out: exists (-f true replaces it)"));
	e.options.replace = true;
	replaced = export_write(trace, exporter_find("sqlite"), path, &e.options, NULL, &e.err);
	export_remove(&e);
	EXPECT_DONE(replaced, e.err);
	trace_close(trace);
}
