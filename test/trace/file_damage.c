/* trace/file_*.c: a broken file is one clear line, or what is left of it with its loss counted. */
#include "test/trace/file_test.h"

static const char work[] =
	"thread tid=1 name=main\n"
	"api cudaLaunchKernel thread=1 correlation=5 -10..-2\n"
	"api cudaLaunchKernel thread=1 correlation=6 -1..3\n"
	"kernel gemm    stream=7 correlation=5   0..100\n"
	"kernel softmax stream=7 correlation=6 100..130\n"
	"nvtx forward thread=1 -20..140\n";

static char *work_bytes(size_t *n)
{
	struct trace *trace = trace_of(work);

	write_trace(trace, false);
	trace_close(trace);
	return file_bytes(n);
}

/* Touch everything, as an export does. */
static uint64_t touch(const struct trace *trace)
{
	uint64_t sum = 0;

	for (str_id id = 0; id < trace->strings.n; id++)
		sum += strlen(trace_text(trace, id)) - trace_text_length(trace, id);
	EXPECT_EQ_INT(sum, 0);
	for (enum table_id t = 0; t < N_TABLES; t++) {
		const size_t n = trace_table(trace, t)->n;

		for (size_t c = 0; c < table_defs[t].n_columns && n; c++) {
			const struct column_def *def = &table_defs[t].columns[c];
			const void *column = def->stored ? *trace_column(trace, t, c) : NULL;

			if (!def->stored)
				continue;
			sum += hash_bytes(column, n * cell_sizes[def->type]);
			for (size_t i = 0; i < n && def->type == TYPE_ref; i++) {
				const ref to = ((const ref *)column)[i];

				EXPECT(to == NULL_ref || to < trace_table(trace, schema_find_table(def->unit))->n);
			}
			for (size_t i = 0; i < n && def->type == TYPE_str; i++)
				EXPECT(((const str_id *)column)[i] == NULL_str ||
				       ((const str_id *)column)[i] < trace->strings.n);
		}
	}
	return sum;
}

static bool has_loss(const struct trace *trace, const char *kind, const char *place)
{
	for (size_t i = 0; i < trace->loss.n; i++)
		if (strcmp(trace_text(trace, trace->loss.kind[i]), kind) == 0 &&
		    strcmp(trace_text(trace, trace->loss.place[i]), place) == 0)
			return true;
	return false;
}

/* What a sound file has. */
struct sound {
	uint64_t sum;
	size_t n_losses;
};

/*
 * Whatever the bytes: a line that names the file, or a trace that holds. True
 * when nothing was lost; what is lost is always told.
 */
static bool survive(const char *p, size_t n, struct sound sound)
{
	struct err err = { "" };
	struct trace *trace;
	size_t n_losses;
	uint64_t sum;

	write_bytes(p, n);
	trace = trace_open(a_path(), &err);
	if (!trace) {
		EXPECT(strncmp(err.text, a_path(), strlen(a_path())) == 0 && !strchr(err.text, '\n'));
		unlink(a_path());
		return false;
	}
	trace_need_all(trace, NULL);
	sum = touch(trace);
	n_losses = trace->loss.n;
	EXPECT((n_losses != sound.n_losses) == (trace->damage != NULL));
	EXPECT(trace->damage || sum == sound.sum);
	if (trace->damage) { /* what is left can be kept */
		write_trace(trace, true);
		trace_close(trace);
		trace = open_trace();
		EXPECT_EQ_TEXT(trace->damage, NULL);
		trace_need_all(trace, NULL);
		touch(trace);
		EXPECT_EQ_INT(trace->loss.n, n_losses);
	}
	trace_close(trace);
	unlink(a_path());
	return n_losses == sound.n_losses;
}

static struct sound sound_file(void)
{
	struct trace *trace = open_trace();
	struct sound sound;

	trace_need_all(trace, NULL);
	sound = (struct sound){ touch(trace), trace->loss.n };
	trace_close(trace);
	return sound;
}

TEST(file_damage, of_a_cut_at_any_byte_is_survived_and_told)
{
	size_t n;
	char *p = work_bytes(&n);
	const struct sound sound = sound_file();

	EXPECT(survive(p, n, sound));
	for (size_t cut = 0; cut < n; cut += 97)
		EXPECT(!survive(p, cut, sound));
	EXPECT(!survive(p, n - 1, sound));
	free(p);
}

TEST(file_damage, of_any_page_is_survived_and_told)
{
	size_t n, n_told = 0;
	char *p = work_bytes(&n);
	const struct sound sound = sound_file();

	for (size_t at = 0; at < n; at += 509) {
		const size_t size = n - at < 4096 ? n - at : 4096;
		char *copy = malloc(n);

		EXPECT(copy);
		memcpy(copy, p, n);
		memset(copy + at, 0, size);
		n_told += !survive(copy, n, sound);
		free(copy);
	}
	EXPECT(n_told > n / 509 / 2);
	free(p);
}

/* Padding and what nobody reads may be flipped and nothing is lost; the rest is told. */
TEST(file_damage, of_any_bit_is_survived)
{
	struct trace *trace = every_table(5);
	uint64_t seed = 1;
	size_t n, n_told = 0;
	struct sound sound;
	char *p;

	write_trace(trace, true);
	trace_close(trace);
	p = file_bytes(&n);
	sound = sound_file();
	for (int i = 0; i < 150; i++) {
		const uint64_t bit = next_number(&seed) % (8 * n);

		p[bit / 8] ^= (char)(1 << bit % 8);
		n_told += !survive(p, n, sound);
		p[bit / 8] ^= (char)(1 << bit % 8);
	}
	EXPECT(n_told > 15);
	free(p);
}

TEST(file_damage, of_a_key_column_says_where_and_loses_its_table)
{
	const struct need times[] = { { TABLE_kernel, BIT(kernel, start_ns) } }, calls[] = { NEED(api) };
	char expected[256];
	struct trace *trace;
	struct err err;
	size_t n, at;
	char *p = work_bytes(&n);

	at = head_place(p, n, "kernel", "start_ns");
	p[at + HEAD_SIZE] ^= 1;
	write_bytes(p, n);
	trace = open_trace();
	EXPECT(!trace_need(trace, times, 1, &err));
	snprintf(expected, sizeof(expected), "%s: kernel.start_ns: chunk at byte %zu: checksum is %016llx, should be %016llx",
		 a_path(), at, (unsigned long long)hash_bytes(p + at + HEAD_SIZE, 16),
		 (unsigned long long)((struct file_head *)(void *)(p + at))->payload_checksum);
	EXPECT_EQ_TEXT(err.text, expected);
	EXPECT_EQ_INT(trace->kernel.state, STATE_LOST);
	EXPECT_EQ_INT(trace->kernel.n, 0);
	EXPECT(!trace_need(trace, times, 1, &err));
	EXPECT_DONE(trace_need(trace, calls, 1, &err), err);
	EXPECT_EQ_INT(trace->api.n, 2);
	trace_close(trace);
	unlink(a_path());
	free(p);
}

TEST(file_damage, of_another_column_leaves_the_rest)
{
	const struct need one[] = { { TABLE_kernel, BIT(kernel, correlation) } };
	const struct need rest[] = { { TABLE_kernel, BIT(kernel, start_ns) | BIT(kernel, end_ns) } };
	const struct need losses[] = { NEED(loss) };
	struct trace *trace;
	struct err err;
	size_t n;
	char *p = work_bytes(&n);

	p[head_place(p, n, "kernel", "correlation") + HEAD_SIZE] ^= 1;
	write_bytes(p, n);
	trace = open_trace();
	EXPECT(!trace_need(trace, one, 1, &err));
	EXPECT(strstr(err.text, ": kernel.correlation: chunk at byte "));
	EXPECT_EQ_INT(trace->column_state[TABLE_kernel][COL_kernel_correlation], STATE_LOST);
	EXPECT_DONE(trace_need(trace, rest, 1, &err), err);
	EXPECT_EQ_INT(trace->kernel.end_ns[1], 130);
	EXPECT_DONE(trace_need(trace, losses, 1, &err), err);
	EXPECT_EQ_INT(trace->loss.n, 1);
	EXPECT_EQ_INT(trace->loss.amount[0], 2);
	EXPECT(has_loss(trace, "damaged", "kernel.correlation"));
	trace_close(trace);
	unlink(a_path());
	free(p);
}

TEST(file_damage, of_the_strings_leaves_the_numbers)
{
	struct trace *trace;
	size_t n;
	char *p = work_bytes(&n);

	p[head_place(p, n, "strings", "bytes") + HEAD_SIZE + 1] ^= 1;
	write_bytes(p, n);
	trace = open_trace();
	trace_need_all(trace, NULL);
	EXPECT_EQ_INT(trace->kernel.n, 2);
	EXPECT_EQ_INT(trace->kernel.end_ns[1], 130);
	EXPECT_EQ_TEXT(trace_text(trace, trace->kernel_shape.name[0]), "");
	EXPECT(has_loss(trace, "damaged", "strings"));
	EXPECT(strstr(trace->damage, "strings: bytes: chunk at byte "));
	trace_close(trace);
	unlink(a_path());
	free(p);
}

TEST(file_damage, of_the_trailer_is_recovered_by_a_scan)
{
	struct trace *trace;
	size_t n;
	char *p = work_bytes(&n);

	write_bytes(p, n - 64);
	trace = open_trace();
	trace_need_all(trace, NULL);
	EXPECT(strstr(trace->damage, "trailer: not there; recovered by scan: "));
	EXPECT_EQ_INT(trace_file_info(trace)->n_missing, 0);
	EXPECT_EQ_INT(trace->kernel.n, 2);
	EXPECT_EQ_INT(trace->kernel.launch[1], 1);
	EXPECT_EQ_TEXT(trace_text(trace, trace->kernel_shape.name[trace->kernel.shape[1]]), "softmax");
	EXPECT(has_loss(trace, "recovered", "index"));
	trace_close(trace);
	unlink(a_path());
	free(p);
}

TEST(file_damage, of_a_head_loses_its_column_or_its_table)
{
	struct trace *trace;
	size_t n;
	char *p = work_bytes(&n);

	p[head_place(p, n, "kernel", "correlation") + 100] ^= 1;
	p[head_place(p, n, "api", "track") + 100] ^= 1;
	write_bytes(p, without_index(p, n));
	trace = open_trace();
	trace_need_all(trace, NULL);
	EXPECT_EQ_INT(trace_file_info(trace)->n_missing, 2);
	EXPECT_EQ_INT(trace->column_state[TABLE_kernel][COL_kernel_correlation], STATE_LOST);
	EXPECT_EQ_INT(trace->kernel.correlation[0], NULL_u32);
	EXPECT_EQ_INT(trace->api.state, STATE_LOST);
	EXPECT_EQ_INT(trace->api.n, 0);
	EXPECT_EQ_INT(trace->kernel.launch[0], NULL_ref);
	EXPECT_EQ_INT(trace->column_state[TABLE_kernel][COL_kernel_launch], STATE_LOST);
	EXPECT(has_loss(trace, "lost", "kernel.correlation"));
	EXPECT(has_loss(trace, "lost", "api"));
	trace_close(trace);
	unlink(a_path());
	free(p);
}

/* The index has all heads once more. */
TEST(file_damage, of_a_head_and_the_contents_loses_nothing_while_there_is_an_index)
{
	struct trace *trace;
	size_t n;
	char *p = work_bytes(&n);

	p[head_place(p, n, "", "") + 100] ^= 1;
	p[head_place(p, n, "kernel", "correlation") + 100] ^= 1;
	p[head_place(p, n, "api", "") + 100] ^= 1;
	write_bytes(p, n - 64);
	trace = open_trace();
	trace_need_all(trace, NULL);
	EXPECT_EQ_INT(trace_file_info(trace)->n_missing, 0);
	EXPECT_EQ_INT(trace->loss.n, 1);
	EXPECT(has_loss(trace, "recovered", "index"));
	EXPECT_EQ_INT(trace->kernel.correlation[1], 6);
	EXPECT_EQ_INT(trace->api.n, 2);
	EXPECT_EQ_INT(trace->osrt.state, STATE_ABSENT);
	trace_close(trace);
	unlink(a_path());
	free(p);
}

TEST(file_damage, of_the_contents_makes_nothing_that_was_lost_look_absent)
{
	struct trace *trace;
	size_t n;
	char *p = work_bytes(&n);

	p[head_place(p, n, "", "") + 100] ^= 1;
	p[head_place(p, n, "kernel", "correlation") + 100] ^= 1;
	p[head_place(p, n, "api", "track") + 100] ^= 1;
	write_bytes(p, without_index(p, n));
	trace = open_trace();
	trace_need_all(trace, NULL);
	EXPECT_EQ_INT(trace_file_info(trace)->n_missing, 2);
	EXPECT_EQ_INT(trace->column_state[TABLE_kernel][COL_kernel_correlation], STATE_LOST);
	EXPECT_EQ_INT(trace->column_state[TABLE_kernel][COL_kernel_collective], STATE_ABSENT);
	EXPECT(has_loss(trace, "lost", "kernel.correlation"));
	EXPECT_EQ_INT(trace->api.state, STATE_LOST);
	EXPECT(has_loss(trace, "lost", "api"));
	EXPECT_EQ_INT(trace->nvtx.state, STATE_RECORDED);
	EXPECT_EQ_INT(trace->nvtx.n, 1);
	EXPECT_EQ_INT(trace->osrt.state, STATE_LOST); /* it never was, but who knows? */
	EXPECT(has_loss(trace, "lost", "contents"));
	trace_close(trace);
	unlink(a_path());
	free(p);
}

TEST(file_damage, of_the_contents_and_a_list_of_columns_loses_the_table)
{
	struct trace *trace;
	size_t n;
	char *p = work_bytes(&n);

	p[head_place(p, n, "", "") + HEAD_SIZE] ^= 1;
	p[head_place(p, n, "kernel", "") + HEAD_SIZE] ^= 1;
	p[head_place(p, n, "nvtx", "") + 100] ^= 1;
	write_bytes(p, without_index(p, n));
	trace = open_trace();
	trace_need_all(trace, NULL);
	EXPECT_EQ_INT(trace->kernel.state, STATE_LOST);
	EXPECT_EQ_INT(trace->nvtx.state, STATE_LOST);
	EXPECT_EQ_INT(trace->api.n, 2);
	EXPECT(has_loss(trace, "lost", "kernel"));
	EXPECT(has_loss(trace, "lost", "nvtx"));
	trace_close(trace);
	unlink(a_path());
	free(p);
}

/* Change a head and make its checksums right again, in place and for a scan. */
static void forge(char *p, size_t n, const struct file_head *head)
{
	struct file_head *h = find_head(p, n, head->table, head->column);

	*h = *head;
	h->checksum = file_checksum(h, sizeof(*h));
}

TEST(file_damage, by_hostile_heads_is_survived)
{
	static const uint64_t hostile[] = { 0, 1, 3, 255, UINT32_MAX - 1, UINT32_MAX, (uint64_t)1 << 61, UINT64_MAX / 8 + 1,
					    UINT64_MAX - 191, UINT64_MAX };
	struct trace *trace = trace_of(work);
	struct sound sound;
	size_t n, n_cut;
	char *p, *copy;

	write_trace(trace, true);
	trace_close(trace);
	p = file_bytes(&n);
	sound = sound_file();
	n_cut = without_index(p, n);
	copy = malloc(n);
	EXPECT(copy);
	for (size_t i = 0; i < 8 * ARRAY_LEN(hostile); i++) {
		const uint64_t value = hostile[i / 8];
		struct file_head h = *find_head(p, n, "kernel", i % 8 < 6 ? "start_ns" : "");

		switch (i % 8) {
		case 0: h.rows = value; break;
		case 1: h.raw = value; break;
		case 2: h.stored = value; break;
		case 3: h.encoding = (uint8_t)value; break;
		case 4: h.type = (uint8_t)value; break;
		case 5: h.encoding = ENCODING_CONSTANT, h.stored = 0, h.rows = value, h.raw = 8 * value; break;
		case 6: h.rows = value; break;
		case 7: h.state = (uint8_t)value; break;
		}
		memcpy(copy, p, n);
		forge(copy, n, &h);
		EXPECT(!survive(copy, n_cut, sound));
	}
	free(copy);
	free(p);
}

TEST(file_damage, by_a_ref_that_is_no_row_is_found)
{
	const struct need launches[] = { { TABLE_kernel, BIT(kernel, launch) } };
	struct trace *trace;
	struct err err;
	size_t n;
	char *p = work_bytes(&n);
	struct file_head *h = find_head(p, n, "kernel", "launch");
	uint32_t *cells = (uint32_t *)(void *)(h + 1);

	cells[1] = 2;
	h->payload_checksum = hash_bytes(cells, h->stored);
	h->checksum = file_checksum(h, sizeof(*h));
	write_bytes(p, without_index(p, n));
	trace = open_trace();
	EXPECT(!trace_need(trace, launches, 1, &err));
	EXPECT(strstr(err.text, "kernel.launch: row 1: api 2: there are only 2"));
	trace_close(trace);
	unlink(a_path());
	free(p);
}

TEST(file_damage, by_a_newer_fathom_is_skipped)
{
	struct trace *trace;
	size_t n;
	char *p = work_bytes(&n);
	struct file_head *h = find_head(p, n, "nvtx", "name");

	strcpy(h->column, "colour_of_dreams");
	h->checksum = file_checksum(h, sizeof(*h));
	h = find_head(p, n, "kernel", "correlation");
	h->encoding = 64;
	h->checksum = file_checksum(h, sizeof(*h));
	write_bytes(p, without_index(p, n));
	trace = open_trace();
	trace_need_all(trace, NULL);
	EXPECT_EQ_INT(trace_file_info(trace)->n_unknown, 2);
	EXPECT_EQ_INT(trace->nvtx.n, 1);
	EXPECT_EQ_INT(trace->column_state[TABLE_kernel][COL_kernel_correlation], STATE_LOST);
	trace_close(trace);
	unlink(a_path());
	free(p);
}

TEST(file_damage, to_the_beginning_or_another_format_is_one_line)
{
	struct err err;

	write_bytes("", 0);
	EXPECT(!trace_open(a_path(), &err));
	EXPECT(strstr(err.text, ": is empty"));
	write_bytes("SQLite format 3", 16);
	EXPECT(!trace_open(a_path(), &err));
	EXPECT(strstr(err.text, ": not a .fathom file: begins with byte 53"));
	unlink(a_path());
	EXPECT(!trace_open(a_path(), &err));
	EXPECT(strstr(err.text, "No such file"));
}
