/* import/source.c and import.c: bytes after decompression, files and folders. */
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "test/import/torch_test.h"

enum { SIZE = 3000000 };

/* Bytes that compress, but not to nothing. */
static char *make_bytes(void)
{
	char *bytes = malloc(SIZE);

	EXPECT(bytes != NULL);
	for (uint32_t i = 0; i < SIZE; i++)
		bytes[i] = (char)((i * 2654435761u >> 24) & 15);
	return bytes;
}

static size_t deflate_member(const char *p, size_t n, char *out, size_t room)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)p,
		       .avail_in = (uInt)n,
		       .next_out = (unsigned char *)out,
		       .avail_out = (uInt)room };

	EXPECT(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	EXPECT(deflate(&z, Z_FINISH) == Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

/* Read the file to its end in odd steps; returns how many bytes were as in expected. */
static size_t read_file(const char *path, int jobs, const char *expected, bool *is_damaged)
{
	const struct import_options options = { .rank = NULL_i32, .jobs = jobs };
	struct source *source;
	struct err err;
	size_t n = 0, got;
	char step[70001];

	source = source_open(path, &options, NULL, &err);
	EXPECT_DONE(source != NULL, err);
	for (;;) {
		EXPECT_DONE(source_read(source, step, sizeof(step), &got, &err), err);
		if (got == 0)
			break;
		EXPECT(n + got <= SIZE && memcmp(step, expected + n, got) == 0);
		n += got;
	}
	*is_damaged = source_damage(source) != NULL;
	if (*is_damaged)
		EXPECT(strncmp(source_damage(source), "byte ", 5) == 0);
	source_close(source);
	return n;
}

TEST(import_source, joins_gzip_members_and_passes_their_padding)
{
	const char *path = torch_path("members");
	char *bytes = make_bytes(), *packed = calloc(1, 2 * SIZE);
	bool is_damaged;
	size_t n;

	n = deflate_member(bytes, 1000000, packed, SIZE);
	n += 600000; /* zeros */
	n += deflate_member(bytes + 1000000, SIZE - 1000000, packed + n, 2 * SIZE - n);
	torch_write(path, packed, n + 512);
	for (int jobs = 1; jobs <= 2; jobs++) {
		EXPECT_EQ_INT(read_file(path, jobs, bytes, &is_damaged), SIZE);
		EXPECT(!is_damaged);
	}
	torch_write(path, packed, n - 1000);
	EXPECT(read_file(path, 2, bytes, &is_damaged) > 1000000);
	EXPECT(is_damaged);
	packed[n / 4] ^= 0x55;
	torch_write(path, packed, n);
	EXPECT(read_file(path, 2, bytes, &is_damaged) < SIZE);
	EXPECT(is_damaged);
	unlink(path);
	free(bytes);
	free(packed);
}

TEST(import_source, reads_plain_and_zstd_bytes)
{
	const char *path = torch_path("plain");
	char *bytes = make_bytes(), *packed = malloc(SIZE);
	bool is_damaged;
	size_t n = ZSTD_compress(packed, SIZE, bytes, SIZE, 1);

	EXPECT(!ZSTD_isError(n));
	torch_write(path, bytes, SIZE);
	EXPECT_EQ_INT(read_file(path, 2, bytes, &is_damaged), SIZE);
	torch_write(path, packed, n);
	EXPECT_EQ_INT(read_file(path, 2, bytes, &is_damaged), SIZE);
	EXPECT(!is_damaged);
	torch_write(path, packed, n - 10);
	EXPECT(read_file(path, 1, bytes, &is_damaged) < SIZE);
	EXPECT(is_damaged);
	unlink(path);
	free(bytes);
	free(packed);
}

TEST(import_source, says_what_it_cannot_read)
{
	const struct import_options options = { .rank = NULL_i32 };
	const char *path = torch_path("x.txt");
	struct err err;

	torch_write(path, "", 0);
	EXPECT(!import_open(&path, 1, &options, NULL, &err));
	EXPECT_EQ_TEXT(err.text + strlen(path), ": empty");
	torch_write(path, "hello", 5);
	EXPECT(!import_open(&path, 1, &options, NULL, &err));
	EXPECT(strstr(err.text, "not a format that Fathom reads") != NULL);
	unlink(path);
}

static void write_rank(const char *folder, const char *name, int pid)
{
	char path[256], text[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(text, sizeof(text),
	         "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":%d,"
	         "\"tid\":2,\"ts\":1,\"dur\":1}]}",
	         pid);
	torch_write(path, text, strlen(text));
}

TEST(import_source, orders_the_files_of_a_folder_by_numbers_in_their_names)
{
	static const char *const names[] = { "w2.json", "w10.json", "w9.json", "notes.txt" };
	const char *folder = torch_path("folder");
	char path[256];
	struct trace *t;

	EXPECT(mkdir(folder, 0700) == 0);
	write_rank(folder, names[0], 2);
	write_rank(folder, names[1], 10);
	write_rank(folder, names[2], 9);
	write_rank(folder, names[3], 1);
	t = torch_open(folder, 0);
	EXPECT_EQ_INT(t->source.n, 3);
	EXPECT_EQ_TEXT(trace_text(t, t->source.name[0]), "w2.json");
	EXPECT_EQ_TEXT(trace_text(t, t->source.name[1]), "w9.json");
	EXPECT_EQ_TEXT(trace_text(t, t->source.name[2]), "w10.json");
	for (int32_t i = 0; i < 3; i++)
		EXPECT_EQ_INT(t->source.rank[i], i);
	trace_close(t);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

TEST(import_source, copies_a_fathom_file_among_several_inputs)
{
	const char *from[] = { "test/data/ddp/balanced.rank0.json.gz", "test/data/ddp/balanced.rank1.json.gz" };
	const struct import_options options = { .rank = NULL_i32 };
	const char *mixed[] = { torch_path("r0.fathom"), from[1] };
	struct trace *t, *whole, *copied;
	struct err err;

	t = torch_open(from[0], 0);
	EXPECT_DONE(trace_write(t, mixed[0], (struct trace_write_options){ .replace = true }, NULL, &err), err);
	trace_close(t);
	whole = import_open(from, 2, &options, NULL, &err);
	EXPECT_DONE(whole != NULL, err);
	copied = import_open(mixed, 2, &options, NULL, &err);
	EXPECT_DONE(copied != NULL, err);
	unlink(mixed[0]);
	trace_need_all(whole, NULL);
	trace_need_all(copied, NULL);
	/* A shape of the file has the names that sealing gave it, so it is another row. */
	for (enum table_id i = 0; i < N_TABLES; i++)
		if (i != TABLE_kernel_shape && trace_table(copied, i)->n != trace_table(whole, i)->n)
			test_fail(__FILE__, __LINE__, "%s: %zu rows, expected %zu", table_defs[i].name,
			          trace_table(copied, i)->n, trace_table(whole, i)->n);
	EXPECT(memcmp(copied->kernel.start_ns, whole->kernel.start_ns, whole->kernel.n * sizeof(int64_t)) == 0);
	EXPECT(memcmp(copied->kernel.launch, whole->kernel.launch, whole->kernel.n * sizeof(ref)) == 0);
	EXPECT(memcmp(copied->kernel.op, whole->kernel.op, whole->kernel.n * sizeof(ref)) == 0);
	for (size_t i = 0; i < whole->kernel.n; i++)
		EXPECT_EQ_TEXT(trace_text(copied, copied->kernel_shape.name[copied->kernel.shape[i]]),
		               trace_text(whole, whole->kernel_shape.name[whole->kernel.shape[i]]));
	trace_close(whole);
	trace_close(copied);
}
