/*
 * analysis/idle/idle_words.c - what the names of ranges, ops, frames and functions
 * say about what a thread is doing.
 *
 * Names are matched without case and separators: DataLoader, data_loader and
 * "data loader" are one word. A frame of Python is judged by its function and
 * by folders of libraries, never by a user's path.
 */
#define _GNU_SOURCE
#include "analysis/idle/idle_parts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const loaders[] = { "enumerate(dataloader)", "enumerate(datapipe)" };

/* Without separators. */
static const char *const data_words[] = {
	"dataloader", "dataloading", "loaddata", "loadbatch", "batchload", "loadingbatch", "nextbatch", "getbatch",
	"fetchbatch", "batchfetch", "readbatch", "nextdata", "fetchdata", "datafetch", "getdata", "readdata",
	"dataiter", "trainloader", "valloader", "testloader", "batchloader", "loadsample", "loadimage", "readimage",
	"dataworker", "datapipe",
	"inputpipeline", "collate", "torchvisionio", "decodejpeg", "jpegdecode", "decodeimage", "imagedecode",
	"decodevideo", "videodecode",
};
static const char *const data_words_too[] = { "tokenize", "augment", "preprocess" };

/* Folders of a frame's file that load data. */
static const char *const data_folders[] = {
	"torch/utils/data/", "PIL/", "torchvision/io/", "torchvision/transforms/", "nvidia/dali/", "webdataset/",
	"datasets/arrow_", "datasets/iterable_",
};

static const char *const comm_starts[] = {
	"nccl", "gloo:", "mpi:", "MPI_", "ucx:", "ucp_", "nvshmem", "c10d::", "record_param_comms",
	"_c10d_functional::",
};

struct function_word {
	const char *name;
	uint16_t words;
};

/* Functions of the C library and system calls; of Python those that are built in. */
static const struct function_word functions[] = {
	{ "read", WORD_IO }, { "pread", WORD_IO }, { "pread64", WORD_IO }, { "readv", WORD_IO }, { "preadv", WORD_IO },
	{ "write", WORD_IO | WORD_SEND }, { "pwrite", WORD_IO }, { "pwrite64", WORD_IO },
	{ "writev", WORD_IO | WORD_SEND }, { "pwritev", WORD_IO }, { "open", WORD_IO }, { "open64", WORD_IO },
	{ "openat", WORD_IO }, { "openat64", WORD_IO }, { "creat", WORD_IO }, { "close", WORD_IO },
	{ "fopen", WORD_IO }, { "fopen64", WORD_IO }, { "fclose", WORD_IO }, { "fread", WORD_IO },
	{ "fwrite", WORD_IO }, { "fgets", WORD_IO }, { "fgetc", WORD_IO }, { "getc", WORD_IO }, { "getline", WORD_IO },
	{ "getdelim", WORD_IO }, { "fputs", WORD_IO }, { "fflush", WORD_IO }, { "fseek", WORD_IO },
	{ "lseek", WORD_IO }, { "stat", WORD_IO }, { "stat64", WORD_IO }, { "fstat", WORD_IO }, { "lstat", WORD_IO },
	{ "newfstatat", WORD_IO }, { "statx", WORD_IO }, { "access", WORD_IO }, { "fsync", WORD_IO },
	{ "fdatasync", WORD_IO }, { "sync", WORD_IO }, { "msync", WORD_IO }, { "mmap", WORD_IO },
	{ "mmap64", WORD_IO }, { "opendir", WORD_IO }, { "readdir", WORD_IO }, { "readdir64", WORD_IO },
	{ "getdents64", WORD_IO }, { "scandir", WORD_IO }, { "rename", WORD_IO }, { "unlink", WORD_IO },
	{ "ftruncate", WORD_IO }, { "fallocate", WORD_IO }, { "sendfile", WORD_IO }, { "copy_file_range", WORD_IO },
	{ "recv", WORD_IO }, { "recvfrom", WORD_IO }, { "recvmsg", WORD_IO }, { "send", WORD_IO | WORD_SEND },
	{ "sendto", WORD_IO | WORD_SEND }, { "sendmsg", WORD_IO | WORD_SEND }, { "connect", WORD_IO },
	{ "accept", WORD_WAIT }, { "accept4", WORD_WAIT }, { "readinto", WORD_IO }, { "readline", WORD_IO },
	{ "sleep", WORD_SLEEP }, { "usleep", WORD_SLEEP }, { "nanosleep", WORD_SLEEP },
	{ "clock_nanosleep", WORD_SLEEP }, { "pthread_cond_wait", WORD_WAIT }, { "pthread_cond_timedwait", WORD_WAIT },
	{ "pthread_cond_clockwait", WORD_WAIT }, { "pthread_mutex_lock", WORD_WAIT },
	{ "pthread_mutex_timedlock", WORD_WAIT }, { "pthread_rwlock_rdlock", WORD_WAIT },
	{ "pthread_rwlock_wrlock", WORD_WAIT }, { "pthread_join", WORD_WAIT }, { "pthread_timedjoin_np", WORD_WAIT },
	{ "pthread_barrier_wait", WORD_WAIT }, { "pthread_spin_lock", WORD_WAIT }, { "sem_wait", WORD_WAIT },
	{ "sem_timedwait", WORD_WAIT }, { "sem_clockwait", WORD_WAIT }, { "futex", WORD_WAIT }, { "poll", WORD_WAIT },
	{ "ppoll", WORD_WAIT }, { "select", WORD_WAIT }, { "pselect", WORD_WAIT }, { "pselect6", WORD_WAIT },
	{ "epoll_wait", WORD_WAIT }, { "epoll_pwait", WORD_WAIT }, { "epoll_pwait2", WORD_WAIT },
	{ "wait", WORD_WAIT }, { "wait3", WORD_WAIT }, { "wait4", WORD_WAIT }, { "waitid", WORD_WAIT },
	{ "waitpid", WORD_WAIT }, { "sigwait", WORD_WAIT }, { "sigwaitinfo", WORD_WAIT },
	{ "sigtimedwait", WORD_WAIT }, { "pause", WORD_WAIT }, { "flock", WORD_WAIT }, { "msgrcv", WORD_WAIT },
	{ "semop", WORD_WAIT }, { "io_getevents", WORD_WAIT }, { "io_uring_enter", WORD_WAIT },
	{ "acquire", WORD_WAIT }, { "join", WORD_WAIT }, { "pthread_cond_signal", WORD_SIGNAL },
	{ "pthread_cond_broadcast", WORD_SIGNAL }, { "sem_post", WORD_SIGNAL }, { "pthread_mutex_unlock", WORD_SIGNAL },
};

/* Lower case without separators; long enough for what anybody calls a range. */
struct squeezed {
	char text[512];
};

static struct squeezed squeeze(const char *text, size_t n)
{
	struct squeezed s;
	size_t used = 0;

	for (size_t i = 0; i < n && used < sizeof(s.text) - 1; i++)
		if (!strchr("_- .", text[i]))
			s.text[used++] = (char)tolower((unsigned char)text[i]);
	s.text[used] = '\0';
	return s;
}

static bool has_any(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* "decode", and not the decoder of a model. */
static bool has_decode(const char *squeezed)
{
	for (const char *at = squeezed; (at = strstr(at, "decode")); at++)
		if (at[6] != 'r')
			return true;
	return false;
}

/* A word of its own: PIL, and not in "pile". */
static bool has_own_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]))
			return true;
	return false;
}

static uint16_t data_words_of(const char *text, size_t n)
{
	const struct squeezed s = squeeze(text, n);
	uint16_t words = 0;

	for (size_t i = 0; i < ARRAY_LEN(loaders); i++)
		if (strncmp(s.text, loaders[i], strlen(loaders[i])) == 0)
			words |= WORD_LOADER;
	if (has_any(s.text, data_words, ARRAY_LEN(data_words)) || has_own_word(text, "PIL") ||
	    has_own_word(text, "DALI"))
		words |= WORD_DATA;
	if (has_any(s.text, data_words_too, ARRAY_LEN(data_words_too)) || has_decode(s.text))
		words |= WORD_DATA_TOO;
	return words;
}

static uint16_t function_words(const char *name, size_t n)
{
	static const char *const prefixes[] = { "__x64_sys_", "__arm64_sys_", "sys_" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		const size_t n_prefix = strlen(prefixes[i]);

		if (n > n_prefix && memcmp(name, prefixes[i], n_prefix) == 0) {
			name += n_prefix;
			n -= n_prefix;
			break;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (strlen(functions[i].name) == n && memcmp(functions[i].name, name, n) == 0)
			return functions[i].words;
	return 0;
}

/* "<built-in method acquire of _thread.lock object at 0x7f>", "<built-in function sleep>" */
static uint16_t builtin_words(const char *text)
{
	static const char *const starts[] = { "<built-in method ", "<built-in function " };

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (strncmp(text, starts[i], strlen(starts[i])) == 0) {
			const char *name = text + strlen(starts[i]);

			return WORD_BUILTIN | (function_words(name, strcspn(name, " >")) & ~(WORD_SIGNAL | WORD_SEND));
		}
	return 0;
}

/* "file.py(12): function": *file_n and *function, or false. */
static bool is_frame(const char *text, size_t *file_n, const char **function)
{
	const char *close = strstr(text, "): ");
	const char *open = close;

	while (open && open > text && isdigit((unsigned char)open[-1]))
		open--;
	if (!open || open == close || open == text || open[-1] != '(')
		return false;
	*file_n = (size_t)(open - 1 - text);
	*function = close + 3;
	return true;
}

static uint16_t frame_words(const char *file, size_t n, const char *function)
{
	const char *profilers[] = { "torch/profiler/", "torch/autograd/profiler.py" };
	uint16_t words = data_words_of(function, strlen(function)) & (uint16_t)~WORD_DATA_TOO;

	for (size_t i = 0; i < ARRAY_LEN(data_folders); i++)
		if (memmem(file, n, data_folders[i], strlen(data_folders[i])))
			words |= WORD_DATA;
	for (size_t i = 0; i < ARRAY_LEN(profilers); i++)
		if (memmem(file, n, profilers[i], strlen(profilers[i])))
			words |= WORD_PROFILER;
	return words;
}

uint16_t words_of(const char *text)
{
	const uint16_t builtin = text ? builtin_words(text) : 0;
	const char *function;
	uint16_t words;
	size_t n_file;

	if (!text || builtin)
		return builtin;
	if (is_frame(text, &n_file, &function))
		return frame_words(text, n_file, function);
	words = data_words_of(text, strlen(text)) | function_words(text, strlen(text));
	for (size_t i = 0; i < ARRAY_LEN(comm_starts); i++)
		if (strncmp(text, comm_starts[i], strlen(comm_starts[i])) == 0)
			words |= WORD_COMM;
	if (strncmp(text, "aten::", 6) == 0 || strncmp(text, "autograd::", 10) == 0)
		words |= WORD_OP;
	if (strcasestr(text, "Module Loading") || strcasestr(text, "Lazy Function") || strcasestr(text, "Compiler") ||
	    strcasestr(text, "JIT"))
		words |= WORD_MODULE;
	if (strcasecmp(text, "Command Buffer Full") == 0 || strcasecmp(text, "COMMAND_BUFFER_FULL") == 0)
		words |= WORD_WAIT;
	return words;
}

bool is_data_loading(const char *text)
{
	return words_of(text) & (WORD_LOADER | WORD_DATA | WORD_DATA_TOO);
}

bool is_loader_thread(const char *name)
{
	return name && (strcasestr(name, "pin_memory") || words_of(name) & (WORD_LOADER | WORD_DATA));
}
