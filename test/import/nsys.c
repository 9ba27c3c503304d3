/* import/nsys/: what becomes of an export of Nsight Systems. */
#include <sys/stat.h>

#include "test/import/nsys_test.h"

#define STRINGS                                                                                    \
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"            \
	"INSERT INTO StringIds VALUES (0, '[Unknown]'), (1, 'cudaLaunchKernel_v7000'), (2, 'gemm'),"\
	" (3, 'gemm<float>'), (4, '_Z4gemmIfEvv'), (9000000000, 'far away');"
#define KERNELS                                                                                    \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"    \
	" deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,"        \
	" correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,"                \
	" shortName INTEGER NOT NULL, gridX INTEGER NOT NULL);"
#define CALLS                                                                                      \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"   \
	" eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,"\
	" returnValue INTEGER NOT NULL, callchainId INTEGER);"

static const char *name_of(const struct trace *t, str_id id)
{
	return trace_text(t, id);
}

TEST(import_nsys, ties_a_kernel_to_the_call_of_its_own_process)
{
	/* 281474993487872 is process 1, 281475010265088 process 2; both use correlation 7. */
	struct trace *t = nsys_trace_of(STRINGS KERNELS CALLS
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, 281474993487873, 7, 1, 0, NULL),"
		" (30, 40, 1, 281475010265091, 7, 1, 600, NULL);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (25, 28, 0, 1, 7, 7, 281474993487872, 3, 2, 5),"
		" (45, 50, 1, 1, 7, 7, 281475010265088, 3, 2, 5);");

	EXPECT_EQ_INT(t->kernel.n, 2);
	EXPECT_EQ_INT(t->api.n, 2);
	for (size_t i = 0; i < 2; i++) {
		ref launch = t->kernel.launch[i], shape = t->kernel.shape[i];

		EXPECT(launch != NULL_ref);
		EXPECT_EQ_INT(t->thread.process[t->api.track[launch]], t->stream.process[t->kernel.track[i]]);
		EXPECT_EQ_TEXT(name_of(t, t->kernel_shape.demangled[shape]), "gemm<float>");
		EXPECT_EQ_TEXT(name_of(t, t->kernel_shape.short_name[shape]), "gemm");
		EXPECT_EQ_INT(t->kernel_shape.grid_x[shape], 5);
	}
	EXPECT_EQ_INT(t->kernel_shape.n, 1);
	EXPECT_EQ_TEXT(nsys_books(t, "CUPTI_ACTIVITY_KIND_KERNEL"), "2/2/0/0/0");
	trace_close(t);
}

TEST(import_nsys, decodes_threads_and_keeps_their_ids)
{
	struct trace *t = nsys_trace_of(STRINGS CALLS
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-5, 20, 0, 281560221750233, 7, 1, 0, NULL);");

	EXPECT_EQ_INT(t->api.start_ns[0], -5);
	EXPECT_EQ_INT(t->thread.tid[t->api.track[0]], 5081);
	EXPECT_EQ_INT(t->thread.global_id[t->api.track[0]], 281560221750233);
	EXPECT_EQ_INT(t->process.pid[t->thread.process[t->api.track[0]]], 5081);
	EXPECT_EQ_INT(t->api.domain[0], API_RUNTIME);
	trace_close(t);
}

TEST(import_nsys, refuses_and_counts_rows_that_end_before_they_start)
{
	struct trace *t = nsys_trace_of(STRINGS CALLS
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, 1, 7, 1, 0, NULL), (20, 10, 0, 1, 8, 1, 0, NULL);");

	EXPECT_EQ_INT(t->api.n, 1);
	EXPECT_EQ_TEXT(nsys_books(t, "CUPTI_ACTIVITY_KIND_RUNTIME"), "2/1/0/1/0");
	EXPECT_EQ_INT(nsys_lost(t, "reversed", "CUPTI_ACTIVITY_KIND_RUNTIME"), 1);
	trace_close(t);
}

TEST(import_nsys, reads_a_wrong_type_as_null_and_loses_a_row_without_a_time)
{
	struct trace *t = nsys_trace_of(STRINGS CALLS
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, 1, 'seven', 1, 0, NULL),"
		" ('early', 30, 0, 1, 8, 1, 0, NULL), (30, 40, 0, 1, 9, 77, 0, NULL);");

	EXPECT_EQ_INT(t->api.n, 2);
	EXPECT_EQ_INT(t->api.correlation[0], NULL_u32);
	EXPECT_EQ_INT(t->api.name[1], NULL_str);
	EXPECT_EQ_TEXT(nsys_books(t, "CUPTI_ACTIVITY_KIND_RUNTIME"), "3/2/0/1/0");
	EXPECT_EQ_INT(nsys_lost(t, "wrong_type", "CUPTI_ACTIVITY_KIND_RUNTIME.correlationId"), 1);
	EXPECT_EQ_INT(nsys_lost(t, "wrong_type", "CUPTI_ACTIVITY_KIND_RUNTIME"), 1);
	EXPECT_EQ_INT(nsys_lost(t, "orphan", "CUPTI_ACTIVITY_KIND_RUNTIME.nameId"), 1);
	trace_close(t);
}

TEST(import_nsys, runs_no_view_of_a_stranger)
{
	struct trace *t = nsys_trace_of(STRINGS
		"CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS WITH RECURSIVE c(start) AS"
		" (SELECT 1 UNION ALL SELECT start + 1 FROM c) SELECT start, start AS end FROM c;");

	EXPECT_EQ_INT(t->api.n, 0);
	EXPECT_EQ_INT(t->api.state, STATE_ABSENT);
	EXPECT(nsys_books(t, "CUPTI_ACTIVITY_KIND_RUNTIME") == NULL);
	trace_close(t);
}

TEST(import_nsys, runs_no_virtual_table_and_no_computed_column)
{
	struct trace *t = nsys_trace_of(STRINGS
		"CREATE VIRTUAL TABLE OSRT_API USING fts5(start, end);"
		"INSERT INTO OSRT_API VALUES ('1', '2');"
		"CREATE TABLE SCHED_EVENTS (start INTEGER NOT NULL, cpu INTEGER AS (start * 2), isSchedIn INTEGER NOT NULL);"
		"INSERT INTO SCHED_EVENTS (start, isSchedIn) VALUES (5, 1);");

	EXPECT_EQ_INT(t->osrt.n, 0);
	EXPECT_EQ_INT(t->sched.n, 1);
	EXPECT_EQ_INT(t->column_state[TABLE_sched][COL_sched_cpu], STATE_ABSENT);
	trace_close(t);
}

TEST(import_nsys, takes_the_highest_suffix_when_there_is_no_table_without_one)
{
	struct trace *t = nsys_trace_of(STRINGS
		"CREATE TABLE SCHED_EVENTS_V2 (start INTEGER NOT NULL);"
		"CREATE TABLE SCHED_EVENTS_V10 (start INTEGER NOT NULL);"
		"INSERT INTO SCHED_EVENTS_V2 VALUES (2), (3);"
		"INSERT INTO SCHED_EVENTS_V10 VALUES (10);");

	EXPECT_EQ_INT(t->sched.n, 1);
	EXPECT_EQ_INT(t->sched.time_ns[0], 10);
	EXPECT_EQ_TEXT(nsys_books(t, "SCHED_EVENTS_V10"), "1/1/0/0/0");
	EXPECT_EQ_TEXT(nsys_books(t, "SCHED_EVENTS_V2"), "2/0/0/0/2");
	trace_close(t);
}

TEST(import_nsys, tells_empty_from_not_recorded_from_absent)
{
	struct trace *t = nsys_trace_of(STRINGS KERNELS
		"CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
		"INSERT INTO META_DATA_CAPTURE VALUES ('CAPTURE_EVENT_TYPE', 'Cuda');");

	EXPECT_EQ_INT(t->kernel.n, 0);
	EXPECT_EQ_INT(t->kernel.state, STATE_RECORDED);
	EXPECT_EQ_INT(t->column_state[TABLE_kernel][COL_kernel_correlation], STATE_RECORDED);
	EXPECT_EQ_INT(t->column_state[TABLE_kernel][COL_kernel_graph_node], STATE_ABSENT);
	EXPECT_EQ_INT(t->memcpy.state, STATE_ABSENT);
	EXPECT_EQ_INT(t->nvtx.state, STATE_NOT_RECORDED);
	EXPECT_EQ_INT(t->osrt.state, STATE_NOT_RECORDED);
	trace_close(t);
}

TEST(import_nsys, names_ranges_and_domains_of_each_process)
{
	struct trace *t = nsys_trace_of(STRINGS
		"CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,"
		" globalTid INTEGER, textId INTEGER, domainId INTEGER, floatValue REAL, uint64Value INTEGER);"
		"INSERT INTO NVTX_EVENTS VALUES (5, 9, 59, NULL, 281474993487873, 2, 1, NULL, -1),"
		" (6, 7, 59, 'plain', 281474993487873, NULL, 0, 2.5, NULL),"
		" (6, 8, 59, 'other', 281475010265090, NULL, 1, NULL, NULL),"
		" (1, NULL, 75, 'NCCL', 281474993487873, NULL, 1, NULL, NULL),"
		" (1, NULL, 75, 'CCCL', 281475010265090, NULL, 1, NULL, NULL);");
	size_t n_seen = 0;

	EXPECT_EQ_INT(t->nvtx.n, 5);
	for (size_t i = 0; i < t->nvtx.n; i++) {
		const char *name = name_of(t, t->nvtx.name[i]);
		const char *domain = name_of(t, t->nvtx_domain.name[t->nvtx.domain[i]]);

		if (t->nvtx.kind[i] != NVTX_PUSH_POP)
			continue;
		n_seen++;
		if (strcmp(name, "gemm") == 0) {
			EXPECT_EQ_TEXT(domain, "NCCL");
			EXPECT_EQ_INT(t->nvtx.is_registered[i], 1);
			EXPECT_EQ_INT(t->nvtx.value_type[i], NVTX_UINT64);
			EXPECT_EQ_INT(t->nvtx.value_int[i], -1);
			EXPECT_EQ_INT(t->nvtx.source_row[i], 1);
		} else if (strcmp(name, "plain") == 0) {
			EXPECT(domain == NULL);
			EXPECT_EQ_INT(t->nvtx.value_type[i], NVTX_FLOAT);
			EXPECT_NEAR(t->nvtx.value_double[i], 2.5, 0);
		} else {
			EXPECT_EQ_TEXT(domain, "CCCL");
		}
	}
	EXPECT_EQ_INT(n_seen, 3);
	trace_close(t);
}

TEST(import_nsys, counts_what_it_has_no_place_for)
{
	struct trace *t = nsys_trace_of(STRINGS
		"CREATE TABLE SCHED_EVENTS (start INTEGER NOT NULL, mood TEXT);"
		"INSERT INTO SCHED_EVENTS VALUES (1, 'good'), (2, NULL), (3, ''), (4, 'bad');"
		"CREATE TABLE VULKAN_API (start INTEGER); INSERT INTO VULKAN_API VALUES (1), (2), (3);"
		"CREATE TABLE TARGET_INFO_NEW (a INTEGER, b TEXT); INSERT INTO TARGET_INFO_NEW VALUES (1, 'x');"
		"CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
		"INSERT INTO ENUM_CUDA_MEM_KIND VALUES (8, 'NEW', 'New');");

	EXPECT_EQ_INT(nsys_lost(t, "unknown_column", "SCHED_EVENTS.mood"), 2);
	EXPECT_EQ_TEXT(nsys_books(t, "VULKAN_API"), "3/0/0/0/3");
	EXPECT_EQ_TEXT(nsys_books(t, "TARGET_INFO_NEW"), "1/0/1/0/0");
	EXPECT_EQ_TEXT(nsys_books(t, "ENUM_CUDA_MEM_KIND"), "1/0/1/0/0");
	EXPECT_EQ_INT(t->fact.n, 5);
	EXPECT_EQ_TEXT(name_of(t, t->fact.name[4]), "1.b");
	EXPECT_EQ_TEXT(name_of(t, t->fact.value[4]), "x");
	trace_close(t);
}

TEST(import_nsys, keeps_devices_streams_and_releases_of_memory)
{
	struct trace *t = nsys_trace_of(STRINGS
		"CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER NOT NULL, name TEXT, uuid TEXT, cuDevice INTEGER);"
		"INSERT INTO TARGET_INFO_GPU VALUES (1, 3, 'NVIDIA H200', 'abc', 0);"
		"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);"
		"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 1);"
		"CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, hwId INTEGER, vmId INTEGER,"
		" processId INTEGER, deviceId INTEGER, contextId INTEGER);"
		"INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 0, 1, 1, 0, 1);"
		"CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER,"
		" contextId INTEGER, priority INTEGER, flag INTEGER);"
		"INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (13, 0, 1, 1, 1, 4294967291, 2);"
		"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER, deviceId INTEGER,"
		" bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER);"
		"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 281474993487872, 3, 512, 2, 0), (2, 281474993487872, 3, 512, 2, 1);");

	EXPECT_EQ_INT(t->device.n, 1);
	EXPECT_EQ_INT(t->device.ordinal[0], 3);
	EXPECT_EQ_INT(t->ordinal.device[0], 0);
	EXPECT_EQ_INT(t->stream.n, 1);
	EXPECT_EQ_INT(t->stream.priority[0], -5);
	EXPECT_EQ_INT(t->stream.device_number[0], 0);
	EXPECT_EQ_INT(t->stream.device[0], 0);
	EXPECT_EQ_INT(t->memory.bytes[0] + t->memory.bytes[1], 0);
	EXPECT_EQ_INT(t->memory.device[0], 0);
	EXPECT_EQ_TEXT(name_of(t, t->fact.name[0]), "3.vmId");
	trace_close(t);
}

TEST(import_nsys, says_that_another_database_is_no_export)
{
	const struct import_options options = { .rank = NULL_i32 };
	const char *path = nsys_path("other.sqlite");
	struct err err;

	nsys_make(path, "CREATE TABLE songs (title TEXT);");
	EXPECT(import_open(&path, 1, &options, NULL, &err) == NULL);
	unlink(path);
	EXPECT(strstr(err.text, "an SQLite database without a table of Nsight Systems") != NULL);
}

/* ---- real captures ---- */

static void write_file(const char *path, const char *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	EXPECT(f && fwrite(p, 1, n, f) == n && fclose(f) == 0);
}

static void expect_every_row_counted(const char *capture)
{
	const char *path = nsys_path("capture.sqlite");
	struct trace *t = nsys_open_path(capture);
	sqlite3_stmt *tables, *count;
	size_t n, n_tables = 0;
	const char *bytes = test_read(capture, &n);
	sqlite3 *db;

	write_file(path, bytes, n);
	EXPECT(sqlite3_open(path, &db) == SQLITE_OK);
	EXPECT(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master WHERE type = 'table'", -1, &tables, NULL) == SQLITE_OK);
	while (sqlite3_step(tables) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(tables, 0), *books = nsys_books(t, table);
		char sql[256];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM \"%s\"", table);
		EXPECT(sqlite3_prepare_v2(db, sql, -1, &count, NULL) == SQLITE_OK && sqlite3_step(count) == SQLITE_ROW);
		if (!books || strtoll(books, NULL, 10) != sqlite3_column_int64(count, 0))
			test_fail(__FILE__, __LINE__, "%s: %s: %lld rows, counted %s", capture, table,
				  (long long)sqlite3_column_int64(count, 0), books ? books : "nothing");
		sqlite3_finalize(count);
		n_tables++;
	}
	sqlite3_finalize(tables);
	sqlite3_close(db);
	unlink(path);
	EXPECT(n_tables > 40);
	EXPECT_EQ_INT(t->loss.n, 0);
	trace_close(t);
}

TEST(import_nsys, counts_every_row_of_a_compressed_capture)
{
	expect_every_row_counted("test/data/nsys/gpt_train.sqlite.gz");
	expect_every_row_counted("test/data/nsys/cuda_graph.sqlite.gz");
	expect_every_row_counted("test/data/ddp/nsys_balanced.sqlite.gz");
}

TEST(import_nsys, keeps_what_comes_before_a_cut)
{
	const char *path = nsys_path("cut.sqlite");
	struct trace *whole = nsys_open_path("test/data/nsys/gpt_train.sqlite.gz"), *cut;
	size_t n;
	const char *bytes = test_read("test/data/nsys/gpt_train.sqlite.gz", &n);

	write_file(path, bytes, n / 4 * 3); /* in the middle of the calls */
	cut = nsys_open_path(path);
	unlink(path);
	EXPECT(cut->api.n > 0 && cut->api.n < whole->api.n);
	EXPECT(cut->loss.n > 0);
	trace_close(cut);
	trace_close(whole);
}
