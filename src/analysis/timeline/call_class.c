/*
 * analysis/timeline/call_class.c - what a CUDA function is to the timeline, by its name.
 *
 * Sources write cudaLaunchKernel_v7000, cudaMemcpyAsync_ptsz, cuMemcpyHtoD_v2
 * or hipLaunchKernel: what is looked at is the stem between the prefix cuda,
 * cu or hip and the version. The first line of the table that fits counts.
 */
#include <string.h>

#include "analysis/timeline/timeline_parts.h"

/* Where in the stem a word has to be. */
enum place { IS, BEGINS };

static const struct function_rule {
	const char *word;
	enum place place;
	enum call_class class;
	enum wait_kind wait;
} rules[] = {
	/* No launch, in spite of the name: the device waits for a function of the host. */
	{ "LaunchHostFunc", IS, CALL_OTHER, WAIT_HIDDEN },
	{ "StreamAddCallback", IS, CALL_OTHER, WAIT_HIDDEN },
	{ "StreamWaitValue", BEGINS, CALL_OTHER, WAIT_HIDDEN },
	{ "StreamBatchMemOp", IS, CALL_OTHER, WAIT_HIDDEN },
	{ "WaitExternalSemaphores", BEGINS, CALL_OTHER, WAIT_HIDDEN },

	{ "Graphics", BEGINS, CALL_OTHER, WAIT_NONE },
	{ "GraphLaunch", IS, CALL_GRAPH_LAUNCH, WAIT_NONE },
	{ "Graph", BEGINS, CALL_GRAPH_SETUP, WAIT_NONE },
	{ "StreamBeginCapture", BEGINS, CALL_GRAPH_SETUP, WAIT_NONE },
	{ "StreamEndCapture", IS, CALL_GRAPH_SETUP, WAIT_NONE },
	{ "StreamUpdateCaptureDependencies", IS, CALL_GRAPH_SETUP, WAIT_NONE },

	{ "Launch", BEGINS, CALL_LAUNCH, WAIT_NONE },
	{ "ModuleLaunch", BEGINS, CALL_LAUNCH, WAIT_NONE },
	{ "ExtLaunch", BEGINS, CALL_LAUNCH, WAIT_NONE },

	{ "EventSynchronize", IS, CALL_SYNC, WAIT_EVENT },
	{ "StreamSynchronize", IS, CALL_SYNC, WAIT_STREAM },
	{ "DeviceSynchronize", IS, CALL_SYNC, WAIT_DEVICE },
	{ "ThreadSynchronize", IS, CALL_SYNC, WAIT_DEVICE },
	{ "CtxSynchronize", IS, CALL_SYNC, WAIT_DEVICE },
	{ "EventQuery", IS, CALL_QUERY, WAIT_EVENT },
	{ "StreamQuery", IS, CALL_QUERY, WAIT_STREAM },
	{ "EventRecord", BEGINS, CALL_EVENT_RECORD, WAIT_NONE },
	{ "StreamWaitEvent", IS, CALL_STREAM_WAIT, WAIT_NONE },

	/* Memory is given back when no work can touch it any more; the ordered kind waits on the stream instead. */
	{ "FreeAsync", IS, CALL_ALLOC, WAIT_NONE },
	{ "MemFreeAsync", IS, CALL_ALLOC, WAIT_NONE },
	{ "Free", BEGINS, CALL_ALLOC, WAIT_FREE },
	{ "MemFree", BEGINS, CALL_ALLOC, WAIT_FREE },
	{ "HostUnregister", IS, CALL_ALLOC, WAIT_FREE },
	{ "MemHostUnregister", IS, CALL_ALLOC, WAIT_FREE },
	{ "Malloc", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "HostAlloc", IS, CALL_ALLOC, WAIT_NONE },
	{ "HostRegister", IS, CALL_ALLOC, WAIT_NONE },
	{ "MemAlloc", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "MemHostAlloc", IS, CALL_ALLOC, WAIT_NONE },
	{ "MemHostRegister", IS, CALL_ALLOC, WAIT_NONE },
	{ "MemCreate", IS, CALL_ALLOC, WAIT_NONE },
	{ "MemRelease", IS, CALL_ALLOC, WAIT_NONE },
	{ "MemMap", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "MemUnmap", IS, CALL_ALLOC, WAIT_NONE },
	{ "MemSetAccess", IS, CALL_ALLOC, WAIT_NONE },
	{ "MemAddress", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "MemPool", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "MemAdvise", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "MemPrefetch", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "MemDiscard", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "ArrayCreate", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "Array3DCreate", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "ArrayDestroy", BEGINS, CALL_ALLOC, WAIT_FREE },
	{ "MipmappedArrayCreate", BEGINS, CALL_ALLOC, WAIT_NONE },
	{ "MipmappedArrayDestroy", BEGINS, CALL_ALLOC, WAIT_FREE },

	{ "ModuleLoad", BEGINS, CALL_MODULE, WAIT_NONE },
	{ "ModuleUnload", IS, CALL_MODULE, WAIT_NONE },
	{ "ModuleGetFunction", IS, CALL_MODULE, WAIT_NONE },
	{ "LibraryLoad", BEGINS, CALL_MODULE, WAIT_NONE },
	{ "LibraryUnload", IS, CALL_MODULE, WAIT_NONE },
	{ "LibraryGetModule", IS, CALL_MODULE, WAIT_NONE },
	{ "LibraryGetKernel", IS, CALL_MODULE, WAIT_NONE },
	{ "KernelGetFunction", IS, CALL_MODULE, WAIT_NONE },
	{ "FuncGetAttributes", IS, CALL_MODULE, WAIT_NONE },
	{ "FuncLoad", IS, CALL_MODULE, WAIT_NONE },
	{ "Link", BEGINS, CALL_MODULE, WAIT_NONE },
};

static bool ends_with(const char *p, size_t n, const char *word)
{
	const size_t n_word = strlen(word);

	return n >= n_word && memcmp(p + n - n_word, word, n_word) == 0;
}

/* The name without its prefix and without _v2, _v7000, _ptsz, _ptds at its end; n is 0 for another library's. */
static struct span stem_of(const char *name)
{
	static const char *const prefixes[] = { "cuda", "cu", "hip" };
	struct span stem = { "", 0 };

	for (size_t i = 0; i < ARRAY_LEN(prefixes) && !stem.n; i++) {
		const size_t n = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], n) == 0 && name[n] >= 'A' && name[n] <= 'Z')
			stem = (struct span){ name + n, strlen(name + n) };
	}
	for (bool cut = stem.n > 0; cut;) {
		size_t digits = 0;

		cut = true;
		if (ends_with(stem.p, stem.n, "_ptsz") || ends_with(stem.p, stem.n, "_ptds")) {
			stem.n -= 5;
			continue;
		}
		while (digits < stem.n && stem.p[stem.n - 1 - digits] >= '0' && stem.p[stem.n - 1 - digits] <= '9')
			digits++;
		cut = digits && ends_with(stem.p, stem.n - digits, "_v");
		if (cut)
			stem.n -= digits + 2;
	}
	return stem;
}

static bool begins_with(struct span stem, const char *word)
{
	const size_t n = strlen(word);

	return stem.n >= n && memcmp(stem.p, word, n) == 0;
}

static bool fits(const struct function_rule *r, struct span stem)
{
	return begins_with(stem, r->word) && (r->place == BEGINS || stem.n == strlen(r->word));
}

static void look_up(const char *name, enum call_class *class, enum wait_kind *wait)
{
	const struct span stem = name ? stem_of(name) : (struct span){ "", 0 };

	*class = CALL_OTHER;
	*wait = WAIT_NONE;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (fits(&rules[i], stem)) {
			*class = rules[i].class;
			*wait = rules[i].wait;
			return;
		}
	/* Copies and fills come in some hundred names, and all say whether they only submit. */
	if (begins_with(stem, "Memcpy") || begins_with(stem, "Memset")) {
		const char *async = strstr(stem.p, "Async");

		*class = async && async < stem.p + stem.n ? CALL_COPY_ASYNC : CALL_COPY;
		*wait = WAIT_COPY;
	}
}

enum call_class call_class_of(const char *name)
{
	enum call_class class;
	enum wait_kind wait;

	look_up(name, &class, &wait);
	return class;
}

static uint8_t known(struct call_names *names, str_id name)
{
	enum call_class class;
	enum wait_kind wait;

	if (name == NULL_str)
		return 1 + CALL_OTHER;
	if (!names->known[name]) {
		look_up(trace_text(names->trace, name), &class, &wait);
		names->known[name] = (uint8_t)(1 + class + (wait << 4));
	}
	return names->known[name];
}

enum call_class call_names_class(struct call_names *names, str_id name)
{
	return (known(names, name) & 15) - 1;
}

enum wait_kind call_names_wait(struct call_names *names, str_id name)
{
	return known(names, name) >> 4;
}

const char *call_class_name(enum call_class c)
{
	static const char *const names[N_CALL_CLASSES] = {
		[CALL_OTHER] = "other",
		[CALL_LAUNCH] = "launch",
		[CALL_GRAPH_LAUNCH] = "graph launch",
		[CALL_COPY_ASYNC] = "asynchronous copy",
		[CALL_COPY] = "copy",
		[CALL_SYNC] = "synchronization",
		[CALL_QUERY] = "query",
		[CALL_EVENT_RECORD] = "event record",
		[CALL_STREAM_WAIT] = "stream wait",
		[CALL_ALLOC] = "allocation",
		[CALL_MODULE] = "module load",
		[CALL_GRAPH_SETUP] = "graph setup",
	};

	return c < N_CALL_CLASSES ? names[c] : "other";
}
