/* test/collect/capture.c - see capture.h. */
#define _GNU_SOURCE
#include "test/collect/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/cupti_abi.h"

extern char **environ;

const char *capture_built(const char *path)
{
	static char out[8][600];
	static int at;
	char exe[512];
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 2; i++)
		if ((slash = strrchr(exe, '/')))
			*slash = '\0';
	at = (at + 1) % 8;
	snprintf(out[at], sizeof(out[at]), "%.400s/%.190s", exe, path);
	return out[at];
}

static const char *collector_of(const struct capture *c)
{
	char name[100];

	snprintf(name, sizeof(name), "test/fake/libfathom-collect%s.so", c->flavour);
	return capture_built(*c->flavour ? name : "src/collect/libfathom-collect.so");
}

static const char *fake_of(const struct capture *c, const char *what, const char *suffix)
{
	char name[100];

	snprintf(name, sizeof(name), "test/fake/%s%s%s", what, c->flavour, suffix);
	return capture_built(name);
}

void capture_begin(struct capture *c)
{
	memset(c, 0, sizeof(*c));
	c->flavour = "";
	c->control.kinds = SPOOL_CUDA | SPOOL_NVTX;
	c->control.wish = SPOOL_RECORD;
	c->control.most_bytes = 1 << 30;
}

/* ---- the program ---- */

static void write_control(struct capture *c)
{
	char path[100];
	int file;

	memcpy(c->control.magic, SPOOL_CONTROL_MAGIC, 8);
	c->control.version = SPOOL_VERSION;
	c->control.size = sizeof(c->control);
	if (!c->control.cupti[0])
		snprintf(c->control.cupti, sizeof(c->control.cupti), "%s", fake_of(c, "libcupti", ".so"));
	snprintf(path, sizeof(path), "%s/control", c->folder);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	EXPECT(file >= 0 && write(file, c, sizeof(c->control)) == sizeof(c->control));
	close(file);
}

static void become(const struct capture *c, const char *words, int output)
{
	static char copy[8192];
	char *argv[128], *rest = copy;
	const char *collector = collector_of(c);
	int n = 0;

	snprintf(copy, sizeof(copy), "%s %s %s", c->launcher ? c->launcher : "", fake_of(c, "app", ""), words);
	while (n < 127 && (argv[n] = strsep(&rest, " ")))
		n += argv[n][0] != '\0';
	argv[n] = NULL;
	unsetenv("LD_PRELOAD");
	if (!c->has_no_collector) {
		setenv("CUDA_INJECTION64_PATH", collector, 1);
		setenv("NVTX_INJECTION64_PATH", collector, 1);
		setenv("FATHOM_SPOOL", c->folder, 1);
	}
	setenv("APP_CUPTI", fake_of(c, "libcupti", ".so"), 1);
	setenv("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1", 1);
	setenv("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1", 1);
	setenv("TSAN_OPTIONS", "exitcode=66:die_after_fork=0", 1);
	for (int i = 0; i < CAPTURE_VARIABLES && c->variables[i]; i++)
		putenv((char *)(uintptr_t)c->variables[i]);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execvp(argv[0], argv);
	_exit(126);
}

/* ---- its spool ---- */

static int by_start(const void *a, const void *b)
{
	const struct captured *x = a, *y = b;

	return (x->head->start_ns > y->head->start_ns) - (x->head->start_ns < y->head->start_ns);
}

static void read_files(struct capture *c)
{
	DIR *dir = opendir(c->folder);
	struct dirent *entry;

	EXPECT(dir != NULL);
	c->n = 0;
	while ((entry = readdir(dir))) {
		char path[400];
		struct stat stat;
		int file;
		void *p;

		snprintf(path, sizeof(path), "%s/%s", c->folder, entry->d_name);
		if (strstr(entry->d_name, ".spool") && c->n < CAPTURE_PROCESSES && (file = open(path, O_RDONLY)) >= 0) {
			EXPECT(fstat(file, &stat) == 0 && stat.st_size >= SPOOL_SEGMENT);
			p = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
			EXPECT(p != MAP_FAILED);
			c->processes[c->n++] = (struct captured){ p, p, (size_t)stat.st_size };
			EXPECT(memcmp(p, SPOOL_MAGIC, 8) == 0);
			close(file);
		}
		if (entry->d_name[0] != '.')
			unlink(path);
	}
	closedir(dir);
	rmdir(c->folder);
	qsort(c->processes, c->n, sizeof(c->processes[0]), by_start);
}

void capture_preload(struct capture *c, const char *library)
{
	static char variable[1200];
	const int n = snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", capture_built("src/collect/libfathom-collect.so"));

	if (library)
		snprintf(variable + n, sizeof(variable) - (size_t)n, ":%s", capture_built(library));
	c->variables[0] = variable;
}

void capture_run(struct capture *c, const char *words)
{
	FILE *output = tmpfile();
	size_t n;
	pid_t pid;

	snprintf(c->folder, sizeof(c->folder), "/tmp/fathom-test-XXXXXX");
	EXPECT(output && mkdtemp(c->folder));
	write_control(c);
	fflush(stdout);
	pid = fork();
	EXPECT(pid >= 0);
	if (pid == 0)
		become(c, words, fileno(output));
	while (waitpid(pid, &c->status, 0) < 0)
		continue;
	rewind(output);
	n = fread(c->output, 1, sizeof(c->output) - 1, output);
	c->output[n] = '\0';
	fclose(output);
	read_files(c);
}

void capture_run_same(struct capture *c, const char *words)
{
	struct capture *without = calloc(1, sizeof(*without));

	EXPECT(without != NULL);
	*without = *c;
	without->has_no_collector = true;
	capture_run(without, words);
	capture_run(c, words);
	if (c->status != without->status || strcmp(c->output, without->output) != 0)
		test_fail(__FILE__, __LINE__, "%s: status 0x%x, without the collector 0x%x\n---- got\n%s\n---- without\n%s\n----",
			  words, (unsigned)c->status, (unsigned)without->status, c->output, without->output);
	free(without);
}

/* ---- records ---- */

struct seen *capture_records(const struct captured *p, uint32_t kind, size_t *n)
{
	size_t room = 64, used = 0;
	struct seen *out = malloc(room * sizeof(*out));

	for (size_t at = SPOOL_SEGMENT; out && at + SPOOL_SEGMENT <= p->size; at += SPOOL_SEGMENT) {
		const struct spool_segment *s = (const struct spool_segment *)(p->bytes + at);
		const char *r = (const char *)s->body, *end = p->bytes + at + SPOOL_SEGMENT;
		uint32_t thread = s->thread, word;

		if (s->kind != SPOOL_SEGMENT_RECORDS)
			continue;
		for (; r < end && (word = *(const uint32_t *)r) != 0; r += SPOOL_SIZE(word)) {
			if (SPOOL_SIZE(word) < 8 || SPOOL_SIZE(word) > (size_t)(end - r))
				test_fail(__FILE__, __LINE__, "byte %zu: record of %u bytes", (size_t)(r - p->bytes), SPOOL_SIZE(word));
			if (SPOOL_KIND(word) == SPOOL_THREAD)
				thread = ((const struct spool_thread *)r)->tid;
			if (SPOOL_KIND(word) != kind)
				continue;
			if (used + 1 >= room && !(out = realloc(out, (room *= 2) * sizeof(*out))))
				break;
			out[used++] = (struct seen){ r, word, thread };
		}
	}
	EXPECT(out != NULL);
	out[used] = (struct seen){ 0 };
	if (n)
		*n = used;
	return out;
}

size_t capture_count(const struct capture *c, uint32_t kind)
{
	size_t sum = 0, n;

	for (size_t i = 0; i < c->n; i++) {
		free(capture_records(&c->processes[i], kind, &n));
		sum += n;
	}
	return sum;
}

/* Sizes of the records of test/fake/cupti.c for version 130001. */
static size_t raw_size(uint32_t kind)
{
	switch (kind & ~CUPTI_IN_FLIGHT) {
	case CUPTI_CONCURRENT_KERNEL: return 216;
	case CUPTI_MEMCPY: case CUPTI_MEMCPY2: return 96;
	case CUPTI_MEMSET: return 88;
	case CUPTI_DEVICE: return 184;
	case CUPTI_CONTEXT: return 32;
	case CUPTI_STREAM: return 24;
	case CUPTI_SYNCHRONIZATION: case CUPTI_OVERHEAD: case CUPTI_GRAPH_TRACE: return 56;
	default: return 0;
	}
}

/* What tells a kernel from all others of its process. */
struct kernel_key {
	uint64_t start_ns;
	uint32_t correlation, zero;
};

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct kernel_key));
}

/* A program that ends while a buffer is taken over leaves its records twice: they count once. */
size_t capture_kernels(const struct captured *p)
{
	const size_t most = p->size / sizeof(struct spool_kernel);
	struct kernel_key *keys = calloc(most + 1, sizeof(*keys));
	struct seen *own = capture_records(p, SPOOL_KERNEL, NULL);
	size_t n = 0, bytes, n_distinct = 0;

	for (struct seen *s = own; s->record; s++) {
		const struct spool_kernel *k = s->record;

		keys[n++] = (struct kernel_key){ k->start_ns, k->correlation, 0 };
	}
	free(own);
	for (size_t at = SPOOL_SEGMENT; at + SPOOL_SEGMENT <= p->size; at += SPOOL_SEGMENT) {
		const struct spool_segment *s = (const struct spool_segment *)(p->bytes + at);
		const char *r = (const char *)s->body, *end = p->bytes + at + SPOOL_SEGMENT;

		if (s->kind != SPOOL_SEGMENT_CUPTI || s->lent != SPOOL_LENT)
			continue;
		for (; end - r > 8 && (bytes = raw_size(*(const uint32_t *)r)) != 0; r += bytes) {
			const struct cupti_kernel *k = (const struct cupti_kernel *)r;

			if (k->kind == CUPTI_CONCURRENT_KERNEL && n < most)
				keys[n++] = (struct kernel_key){ k->start, k->correlation, 0 };
		}
	}
	qsort(keys, n, sizeof(*keys), by_key);
	for (size_t i = 0; i < n; i++)
		n_distinct += i == 0 || by_key(&keys[i], &keys[i - 1]) != 0;
	free(keys);
	return n_distinct;
}

const char *capture_text(const struct captured *p, uint32_t id)
{
	struct seen *all = capture_records(p, SPOOL_TEXT, NULL);
	const char *found = NULL;

	for (struct seen *s = all; s->record; s++) {
		const struct spool_text *t = s->record;

		if (t->id == id && found)
			test_fail(__FILE__, __LINE__, "text %u is %s and %s", id, found, t->bytes);
		if (t->id == id)
			found = t->bytes;
	}
	free(all);
	return id ? found : "";
}

const char *capture_thread(const struct captured *p, uint32_t tid)
{
	struct seen *all = capture_records(p, SPOOL_THREAD, NULL);
	const char *found = NULL;

	for (struct seen *s = all; s->record; s++)
		if (((const struct spool_thread *)s->record)->tid == tid)
			found = ((const struct spool_thread *)s->record)->name;
	free(all);
	return found;
}

const struct spool_shape *capture_shape(const struct captured *p, uint32_t id)
{
	struct seen *all = capture_records(p, SPOOL_SHAPE, NULL);
	const struct spool_shape *found = NULL;

	for (struct seen *s = all; s->record; s++)
		if (((const struct spool_shape *)s->record)->id == id)
			found = s->record;
	free(all);
	return found;
}

const struct spool_stream_of *capture_stream(const struct captured *p, uint32_t id)
{
	struct seen *all = capture_records(p, SPOOL_STREAM_OF, NULL);
	const struct spool_stream_of *found = NULL;

	for (struct seen *s = all; s->record; s++)
		if (((const struct spool_stream_of *)s->record)->id == id)
			found = s->record;
	free(all);
	return found;
}

const char *capture_call(const struct captured *p, const struct seen *call)
{
	struct seen *all = capture_records(p, SPOOL_API_NAME, NULL);
	const struct spool_call *c = call->record;
	const char *found = NULL;

	for (struct seen *s = all; s->record; s++) {
		const struct spool_api_name *n = s->record;

		if (n->cbid == c->cbid && SPOOL_FLAGS(s->word) == (SPOOL_FLAGS(call->word) & SPOOL_CALL_DRIVER))
			found = capture_text(p, n->text);
	}
	free(all);
	return found;
}
