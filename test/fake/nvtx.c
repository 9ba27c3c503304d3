/*
 * test/fake/nvtx.c - the injection loader of NVTX's headers, in our own words.
 *
 * At the first call the library that NVTX_INJECTION64_PATH names is loaded and
 * given a table of tables, whose places it fills. Version 3 calls
 * InitializeInjectionNvtx2, version 2 InitializeInjectionNvtx. A library that
 * says 0 is unloaded.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test/fake/nvtx.h"

typedef void (*function)(void);

enum { CALLBACKS = 1, VERSION_INFO = 3, CORE = 1, CUDA, OPENCL, CUDART, CORE2, SYNC, MODULES };

/* One client: what its entry points are, and the tables that lead to them. */
struct client {
	function core[17], cuda[8], opencl[16], cudart[8], core2[17], sync[8];
	function *table_core[17], *table_cuda[8], *table_opencl[16], *table_cudart[8], *table_core2[17], *table_sync[8];
	struct fake_nvtx api;
	int is_ready;
};

static struct client clients[2];
static struct client *loading;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int get_module(int module, function ***table, unsigned *n)
{
	unsigned bytes = 0;

	switch (module) {
#define MODULE(number, name) \
	case number: \
		*table = loading->table_##name; \
		bytes = sizeof(loading->table_##name); \
		break;
	MODULE(CORE, core) MODULE(CUDA, cuda) MODULE(OPENCL, opencl)
	MODULE(CUDART, cudart) MODULE(CORE2, core2) MODULE(SYNC, sync)
	default: return 0;
	}
	if (n)
		*n = bytes / (unsigned)sizeof(function *) - 1;
	return 1;
}

static const void *get_table(uint32_t id)
{
	static const struct { size_t size; int (*get)(int, function ***, unsigned *); } callbacks = { sizeof(callbacks), get_module };
	static const struct { size_t size; uint32_t version, reserved; void *more; } info = { sizeof(info), 3, 0, NULL };

	return id == CALLBACKS ? (const void *)&callbacks : id == VERSION_INFO ? (const void *)&info : NULL;
}

static void lead(function **table, function *to, size_t n)
{
	for (size_t i = 1; i + 1 < n; i++)
		table[i] = &to[i];
}

static void load(struct client *c, const char *entry)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*)(uint32_t)) = NULL;

	lead(c->table_core, c->core, 17);
	lead(c->table_cuda, c->cuda, 8);
	lead(c->table_opencl, c->opencl, 16);
	lead(c->table_cudart, c->cudart, 8);
	lead(c->table_core2, c->core2, 17);
	lead(c->table_sync, c->sync, 8);
	loading = c;
	if (library)
		*(void **)&initialize = dlsym(library, entry);
	if (library && (!initialize || !initialize(get_table)))
		dlclose(library);
	c->api = (struct fake_nvtx){
#define IS(field, table, at) .field = (__typeof__(c->api.field))c->table[at]
		IS(mark_a, core, 2), IS(start_a, core, 5), IS(end, core, 7), IS(push_ex, core, 8), IS(push_a, core, 9),
		IS(push_w, core, 10), IS(pop, core, 11), IS(category_a, core, 12), IS(thread_a, core, 14),
		IS(domain_mark, core2, 1), IS(domain_start, core2, 2), IS(domain_end, core2, 3), IS(domain_push, core2, 4),
		IS(domain_pop, core2, 5), IS(register_a, core2, 10), IS(domain_create, core2, 12),
	};
}

const struct fake_nvtx *fake_nvtx(int version)
{
	struct client *c = &clients[version == 3];

	pthread_mutex_lock(&lock);
	if (!c->is_ready)
		load(c, version == 3 ? "InitializeInjectionNvtx2" : "InitializeInjectionNvtx");
	c->is_ready = 1;
	pthread_mutex_unlock(&lock);
	return &c->api;
}
