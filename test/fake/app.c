/*
 * test/fake/app.c - a program whose arguments say what it does, one after the
 * other: "app init threads:23:1 sync exit:3". A word and its numbers or texts
 * are separated by colons. "fork ... end" and the like run what is between in
 * a process of its own, and wait for it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/fake/fake.h"
#include "test/fake/nvtx.h"

extern char **environ;

enum { MOST_WORDS = 64 };

/* One argument, cut at its colons. */
struct step {
	const char *word, *text[4];
	long n[4];
};

static struct fake_event *event;
static uint64_t address, range[8];
static int n_ranges, version = 3;
static _Atomic int errors;

static void check(int result)
{
	errors += result != 0;
}

static struct step read_step(const char *argument)
{
	static char copy[4096];
	struct step s = { 0 };
	char *rest = copy;

	snprintf(copy, sizeof(copy), "%s", argument);
	s.word = strsep(&rest, ":");
	for (int i = 0; i < 4 && rest; i++) {
		s.text[i] = strsep(&rest, ":");
		s.n[i] = strtol(s.text[i], NULL, 10);
	}
	return s;
}

/* ---- threads ---- */

static char names[1024][32];

static void name_kernels(void)
{
	for (int i = 0; i < 1024; i++)
		snprintf(names[i], sizeof(names[i]), "_Z%dkernel%dv", i < 10 ? 7 : i < 100 ? 8 : i < 1000 ? 9 : 10, i);
}

struct job {
	pthread_t thread;
	int number;
	long n, n_ranges;
};

/* A thread with a stream, kernels of its name, and ranges of it around them. */
static void *labour(void *p)
{
	struct job *job = p;
	struct fake_stream *stream = NULL;
	char text[64];

	snprintf(text, sizeof(text), "worker%d", job->number);
	pthread_setname_np(pthread_self(), text);
	if (job->n)
		check(cudaStreamCreate(&stream));
	for (long i = 0; i < job->n_ranges; i++) {
		const struct fake_nvtx *nvtx = fake_nvtx(version);

		snprintf(text, sizeof(text), "range%d.%ld", job->number, i % 10);
		if (nvtx->push_a)
			nvtx->push_a(text);
		if (nvtx->pop)
			nvtx->pop();
	}
	for (long i = 0; i < job->n; i++)
		check(cudaLaunchKernel(names[job->number % 1024], (uint32_t)job->number + 1, 32, stream));
	if (job->n)
		check(cudaStreamSynchronize(stream));
	free(stream);
	return NULL;
}

/* n_at_once threads at a time until there were n. */
static void threads(long n, long n_at_once, long n_launches, long n_ranges_each)
{
	struct job *jobs = calloc((size_t)n, sizeof(*jobs));

	for (long from = 0; jobs && from < n; from += n_at_once) {
		const long to = from + n_at_once < n ? from + n_at_once : n;

		for (long i = from; i < to; i++) {
			jobs[i] = (struct job){ .number = (int)i, .n = n_launches, .n_ranges = n_ranges_each };
			check(pthread_create(&jobs[i].thread, NULL, labour, &jobs[i]));
		}
		for (long i = from; i < to; i++)
			pthread_join(jobs[i].thread, NULL);
	}
	free(jobs);
}

static void graph(long n_nodes, long n_replays)
{
	struct fake_graph *g = NULL, *exec = NULL;
	struct fake_stream *stream = NULL;

	check(cudaStreamCreate(&stream));
	check(cudaStreamBeginCapture(stream));
	for (long i = 0; i < n_nodes && !errors; i++)
		check(cudaLaunchKernel(names[i % 1024], (uint32_t)i + 1, 64, stream));
	check(cudaStreamEndCapture(stream, &g));
	if (g)
		check(cudaGraphInstantiate(&exec, g));
	for (long i = 0; i < n_replays && exec; i++)
		check(cudaGraphLaunch(exec, stream));
	check(cudaStreamSynchronize(stream));
}

/* Another thread opens or closes the window while this one waits for a long kernel. */
static void *turn(void *p)
{
	const struct step *s = p;

	usleep((unsigned)s->n[0] * 1000);
	check(s->n[1] ? cudaProfilerStart() : cudaProfilerStop());
	return NULL;
}

static void cross(const struct step *s)
{
	pthread_t thread;

	check(cudaLaunchKernel(names[999], (uint32_t)s->n[0] * 3 * 1000000 / 7, 32, NULL));
	check(pthread_create(&thread, NULL, turn, (void *)(uintptr_t)s));
	check(cudaStreamSynchronize(NULL));
	pthread_join(thread, NULL);
}

/* N windows opened and closed while others work. */
static void windows(long n, long n_threads)
{
	struct job jobs[64];

	for (long i = 0; i < n_threads && i < 64; i++) {
		jobs[i] = (struct job){ .number = (int)i, .n = 200, .n_ranges = 200 };
		check(pthread_create(&jobs[i].thread, NULL, labour, &jobs[i]));
	}
	for (long i = 0; i < n; i++) {
		check(cudaProfilerStart());
		usleep(500);
		check(cudaProfilerStop());
	}
	for (long i = 0; i < n_threads && i < 64; i++)
		pthread_join(jobs[i].thread, NULL);
}

/* ---- NVTX ---- */

/* TEXT or TEXT@DOMAIN. */
static void *domain_of(const char *text, char *out, size_t n)
{
	const char *at = strchr(text, '@');

	snprintf(out, n, "%.*s", at ? (int)(at - text) : (int)strlen(text), text);
	return at && fake_nvtx(version)->domain_create ? fake_nvtx(version)->domain_create(at + 1) : NULL;
}

static struct fake_attributes attributes(const char *text)
{
	return (struct fake_attributes){ .version = 3, .size = 48, .message_type = FAKE_ASCII, .message = text };
}

static int do_nvtx(const struct step *s)
{
	const struct fake_nvtx *v = fake_nvtx(version);
	struct fake_attributes a;
	char text[512] = "";
	void *domain = s->text[0] ? domain_of(s->text[0], text, sizeof(text)) : NULL;

	a = attributes(text);
	if (strcmp(s->word, "push") == 0 && domain)
		v->domain_push(domain, &a);
	else if (strcmp(s->word, "push") == 0)
		v->push_a ? v->push_a(text) : -1;
	else if (strcmp(s->word, "pop") == 0 && domain)
		v->domain_pop(domain);
	else if (strcmp(s->word, "pop") == 0)
		v->pop ? v->pop() : -1;
	else if (strcmp(s->word, "mark") == 0 && v->mark_a)
		domain ? v->domain_mark(domain, &a) : v->mark_a(text);
	else if (strcmp(s->word, "start") == 0 && v->start_a && n_ranges < 8)
		range[n_ranges++] = domain ? v->domain_start(domain, &a) : v->start_a(text);
	else if (strcmp(s->word, "stop") == 0 && v->end && n_ranges)
		domain ? v->domain_end(domain, range[--n_ranges]) : v->end(range[--n_ranges]);
	else if (strcmp(s->word, "wide") == 0 && v->push_w)
		v->push_w(L"weit \u00e4\u20ac\U0001f600");
	else if (strcmp(s->word, "category") == 0 && v->category_a)
		v->category_a((uint32_t)s->n[1], text);
	else if (strcmp(s->word, "payload") == 0 && v->push_ex) {
		a.payload_type = FAKE_UINT64;
		a.payload = (uint64_t)s->n[1];
		a.category = 5;
		a.color_type = 1;
		a.color = 0xff00ff00;
		v->push_ex(&a);
	} else if (strcmp(s->word, "registered") == 0 && v->register_a) {
		a.message_type = FAKE_REGISTERED;
		a.message = v->register_a(domain, text);
		for (long i = 0; i < s->n[1]; i++) {
			domain ? v->domain_push(domain, &a) : v->push_ex(&a);
			domain ? v->domain_pop(domain) : v->pop();
		}
	} else if (strcmp(s->word, "deep") == 0 && v->push_a) {
		for (long i = 0; i < s->n[0]; i++)
			check(v->push_a("deep") != i);
		for (long i = 0; i < s->n[0]; i++)
			check(v->pop() != s->n[0] - 1 - i);
	} else if (strcmp(s->word, "unique") == 0 && v->mark_a) { /* N marks, every Mth with a text of its own */
		for (long i = 0; i < s->n[0]; i++) {
			snprintf(text, sizeof(text), "unique %ld", i);
			v->mark_a(i % s->n[1] ? "the same" : text);
		}
	} else {
		return 0;
	}
	return 1;
}

/* ---- a profiler of the program's own, as PyTorch has ---- */

static long n_own_buffers;

static void own_request(uint8_t **buffer, size_t *bytes, size_t *n_records)
{
	*buffer = malloc(1 << 20);
	*bytes = 1 << 20;
	*n_records = 0;
}

static void own_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	(void)context, (void)stream, (void)bytes, (void)valid;
	n_own_buffers++;
	free(buffer);
}

static void profile_itself(const char *path)
{
	void *cupti = dlopen(path ? path : getenv("APP_CUPTI"), RTLD_NOW | RTLD_LOCAL);
	uint32_t (*subscribe)(void *, void *, void *) = NULL, (*f)(void *, void *) = NULL;
	static void *subscriber;

	/* As a library that links CUPTI finds them. */
	*(void **)&subscribe = dlsym(RTLD_DEFAULT, "cuptiSubscribe");
	*(void **)&f = dlsym(RTLD_DEFAULT, "cuptiActivityRegisterCallbacks");
	if (cupti && !f)
		*(void **)&f = dlsym(cupti, "cuptiActivityRegisterCallbacks");
	if (subscribe)
		subscribe(&subscriber, (void *)own_request, NULL);
	if (f)
		f((void *)own_request, (void *)own_complete);
}

/* ---- processes ---- */

/* The end that belongs to the word at i. */
static int end_of(char **argv, int i)
{
	int depth = 1;

	for (i++; argv[i] && depth; i++)
		depth += strcmp(argv[i], "fork") == 0 || strcmp(argv[i], "spawn") == 0 || strcmp(argv[i], "vfork") == 0 ||
			 strcmp(argv[i], "background") == 0 ? 1 : strcmp(argv[i], "end") == 0 ? -1 : 0;
	return i - 1;
}

static void run(char **argv, int from, int to);

static pid_t start_by_vfork(char **argv)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	return pid;
}

static int do_process(char **argv, int *i)
{
	const int is_fork = strcmp(argv[*i], "fork") == 0, is_spawn = strcmp(argv[*i], "spawn") == 0,
		  is_vfork = strcmp(argv[*i], "vfork") == 0, is_background = strcmp(argv[*i], "background") == 0;
	char *child[MOST_WORDS + 1];
	int status = 0, to, n = 0;
	pid_t pid = -1;

	if (!is_fork && !is_spawn && !is_vfork && !is_background)
		return 0;
	to = end_of(argv, *i);
	child[n++] = argv[0];
	for (int k = *i + 1; k < to && n < MOST_WORDS; k++)
		child[n++] = argv[k];
	child[n] = NULL;
	fflush(NULL);
	if (is_spawn) {
		check(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ));
	} else if (is_vfork) {
		pid = start_by_vfork(child);
	} else {
		pid = fork();
		if (pid == 0) {
			run(argv, *i + 1, to);
			exit(errors != 0);
		}
	}
	if (!is_background && pid > 0 && waitpid(pid, &status, 0) == pid)
		check(status);
	*i = to;
	return 1;
}

static void *leave(void *status)
{
	_exit((int)(intptr_t)status);
}

/* A thread leaves by _exit(FIRST), this one by _exit(SECOND) somewhat later. */
static void leave_twice(int first, int second)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, leave, (void *)(intptr_t)first));
	usleep(50000);
	_exit(second);
}

static void *last(void *p)
{
	usleep((unsigned)(uintptr_t)p * 1000);
	printf("the last thread\n");
	fflush(NULL);
	return NULL;
}

/* This thread goes, another goes on. */
static void leave_to_last(long ms)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, last, (void *)(intptr_t)ms));
	pthread_exit(NULL);
}

static int do_end(const struct step *s, char **argv, int i)
{
	if (strcmp(s->word, "leave") == 0) /* leave:FIRST:SECOND */
		leave_twice((int)s->n[0], (int)s->n[1]);
	if (strcmp(s->word, "last") == 0) /* last:MS */
		leave_to_last(s->n[0]);
	if (strcmp(s->word, "exit") == 0)
		exit((int)s->n[0]);
	if (strcmp(s->word, "_exit") == 0)
		_exit((int)s->n[0]);
	if (strcmp(s->word, "abort") == 0)
		abort();
	if (strcmp(s->word, "kill") == 0)
		kill(getpid(), s->text[0] ? (int)s->n[0] : SIGKILL);
	else if (strcmp(s->word, "segv") == 0)
		*(volatile int *)0 = 1;
	else if (strcmp(s->word, "exec") == 0) {
		argv[i] = argv[0];
		execv("/proc/self/exe", argv + i);
	} else
		return 0;
	return 1;
}

static int do_cuda(const struct step *s)
{
	if (strcmp(s->word, "init") == 0)
		check(cuInit(0));
	else if (strcmp(s->word, "launch") == 0)
		for (long i = 0; i < s->n[0]; i++)
			check(cudaLaunchKernel(s->text[1] ? names[s->n[1] % 1024] : names[0], 1, 32, NULL));
	else if (strcmp(s->word, "drive") == 0) /* as Triton does: the driver alone */
		for (long i = 0; i < s->n[0]; i++)
			check(cuLaunchKernel(names[1000], 1, 32, NULL));
	else if (strcmp(s->word, "try") == 0)
		printf("launch: %d\n", cudaLaunchKernel(names[0], 1, 32, NULL));
	else if (strcmp(s->word, "graph") == 0)
		graph(s->n[0], s->n[1]);
	else if (strcmp(s->word, "copy") == 0)
		check(cudaMemcpyAsync((uint64_t)s->n[0], s->n[1] ? (int)s->n[1] : 1, NULL));
	else if (strcmp(s->word, "peer") == 0)
		check(cudaMemcpyPeerAsync((uint64_t)s->n[0], NULL));
	else if (strcmp(s->word, "set") == 0)
		check(cudaMemsetAsync(0, (uint64_t)s->n[0], NULL));
	else if (strcmp(s->word, "malloc") == 0)
		check(cudaMalloc(&address, (uint64_t)s->n[0]));
	else if (strcmp(s->word, "managed") == 0)
		check(cudaMallocManaged(&address, (uint64_t)s->n[0]));
	else if (strcmp(s->word, "free") == 0)
		check(cudaFree(address));
	else if (strcmp(s->word, "event") == 0) {
		check(cudaEventRecord(&event, NULL));
		check(cudaStreamWaitEvent(NULL, event));
		check(cudaEventSynchronize(event));
	} else if (strcmp(s->word, "sync") == 0)
		check(cudaDeviceSynchronize());
	else if (strcmp(s->word, "crossing") == 0)
		cross(s);
	else if (strcmp(s->word, "profile") == 0)
		check(s->n[0] ? cudaProfilerStart() : cudaProfilerStop());
	else
		return 0;
	return 1;
}

/* MB of mapped files in memory. */
static long resident_of_files(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[200];
	long kb = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssFile: %ld", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb >> 10;
}

/* Every descriptor but the first three is closed, as daemons do it, and is one of a file of the program's own then. */
static int own = -1;

static void take_descriptors(void)
{
	static char name[] = "/tmp/fathom-test-XXXXXX";

	own = mkstemp(name);
	unlink(name);
	check(own < 0 || write(own, "own\n", 4) != 4);
	for (int i = 3; i < 1024; i++)
		if (i != own)
			dup2(own, i);
}

/* All are still that file, and it is as it was. */
static void see_descriptors(void)
{
	struct stat first, is;

	check(fstat(own, &first) != 0 || first.st_size != 4);
	for (int i = 3; i < 1024; i++)
		check(fstat(i, &is) != 0 || is.st_ino != first.st_ino);
}

static void run(char **argv, int from, int to)
{
	for (int i = from; i < to; i++) {
		struct step s = read_step(argv[i]);

		if (do_process(argv, &i) || do_end(&s, argv, i) || do_cuda(&s))
			continue;
		if (strcmp(s.word, "threads") == 0) /* threads:N:LAUNCHES[:RANGES] */
			threads(s.n[0], s.n[0], s.n[1], s.n[2]);
		else if (strcmp(s.word, "churn") == 0) /* the same, one after the other */
			threads(s.n[0], 2, s.n[1], s.n[2]);
		else if (strcmp(s.word, "windows") == 0) /* windows:N:THREADS */
			windows(s.n[0], s.n[1]);
		else if (strcmp(s.word, "nvtx") == 0)
			version = (int)s.n[0];
		else if (strcmp(s.word, "sleep") == 0)
			usleep((unsigned)s.n[0] * 1000);
		else if (strcmp(s.word, "resident") == 0) /* resident:MB, of files at most */
			check(resident_of_files() > s.n[0]);
		else if (strcmp(s.word, "descriptors") == 0) /* descriptors:0 takes them all, descriptors:1 looks at them */
			s.n[0] ? see_descriptors() : take_descriptors();
		else if (strcmp(s.word, "print") == 0)
			printf("%s\n", s.text[0] ? s.text[0] : "");
		else if (strcmp(s.word, "complain") == 0)
			fprintf(stderr, "%s\n", s.text[0] ? s.text[0] : "");
		else if (strcmp(s.word, "profiler") == 0)
			profile_itself(s.text[0]);
		else
			do_nvtx(&s);
		fflush(NULL);
	}
}

int main(int argc, char **argv)
{
	name_kernels();
	run(argv, 1, argc);
	return errors ? 99 : 0;
}
