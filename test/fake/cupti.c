/*
 * test/fake/cupti.c - libcupti without a GPU.
 *
 * Records lie in the client's buffers from the launch on, marked in flight
 * until the device has done the work; full buffers go back on a thread of
 * their own. The environment makes it fail:
 *
 *	FAKE_CUPTI_VERSION=N       18 ... 28, 130001 (if not said), 130500
 *	FAKE_CUPTI_FAIL=NAME:N     cuptiNAME answers N
 *	FAKE_CUPTI_SLOW_MS=N       buffers come back late
 *	FAKE_CUPTI_DROP=N          every Nth kernel has no record, and is counted
 *	FAKE_CUPTI_ZERO=N          every Nth kernel has no times
 *	FAKE_CUPTI_DEVICES=N       devices of unified memory; 1 if not said
 *	FAKE_CUPTI_NO_WORKER=1     buffers come back on the thread that flushes
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/cupti_abi.h"
#include "test/fake/fake.h"

#define EXPORTED __attribute__((visibility("default")))

enum { MOST_KINDS = 64, MOST_IDS = 1024, OK = 0, INVALID_PARAMETER = 1, BUSY = 39 };

typedef void callback(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void requested(uint8_t **buffer, size_t *bytes, size_t *n_records);
typedef void completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

struct buffer {
	struct buffer *next;
	uint8_t *bytes;
	size_t size, used;
	uint32_t n_in_flight;
	bool is_owned, is_full, is_queued; /* a thread writes to it */
	completed *complete; /* of the client that gave it */
	struct fake_work *works; /* in flight */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_ready = PTHREAD_COND_INITIALIZER, is_drained = PTHREAD_COND_INITIALIZER;
static struct buffer *current, *ready, **last_ready = &ready;
static bool is_delivering, has_worker;
static uint64_t n_kernels;
static size_t n_dropped;
static uint32_t unified[8], n_unified;
static uint32_t version;

static callback *subscriber;
static void *user;
static _Atomic uint8_t enabled_calls[8][MOST_IDS], enabled_kinds[MOST_KINDS];
static requested *request;
static completed *complete;
static uint64_t (*client_now)(void);
static pthread_key_t buffer_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_t worker_thread;

static uint32_t number_of(const char *variable)
{
	const char *text = getenv(variable);

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* What FAKE_CUPTI_FAIL says of this function. */
static uint32_t fails(const char *name)
{
	const char *text = getenv("FAKE_CUPTI_FAIL");
	const size_t n = strlen(name);

	return text && strncmp(text, name, n) == 0 && text[n] == ':' ? (uint32_t)strtoul(text + n + 1, NULL, 10) : 0;
}

#define MAY_FAIL(name) \
	do { \
		uint32_t fails_ = fails(name); \
		if (fails_) \
			return fails_; \
	} while (0)

/* ---- sizes of records ---- */

static size_t size_of(uint32_t kind)
{
	const bool is_13 = version >= 130000;

	switch (kind & ~CUPTI_IN_FLIGHT) {
	case CUPTI_CONCURRENT_KERNEL:
		return version >= 130400 ? 248 : version >= 130300 ? 232 : version >= 130100 ? 224 : is_13 ? 216 : 208;
	case CUPTI_MEMCPY: return version >= 28 ? 96 : 88;
	case CUPTI_MEMCPY2: return 96;
	case CUPTI_MEMSET: return 88;
	case CUPTI_DEVICE: return version >= 28 ? 184 : 176;
	case CUPTI_CONTEXT: return version >= 28 ? 32 : 24;
	case CUPTI_STREAM: return 24;
	case CUPTI_SYNCHRONIZATION: return version >= 26 ? 56 : 40;
	case CUPTI_OVERHEAD: return version >= 28 ? 56 : version >= 24 ? 48 : 40;
	case CUPTI_UNIFIED_MEMORY: return version >= 28 ? 104 : 64;
	case CUPTI_MEMORY2: return version >= 28 ? 128 : 120;
	case CUPTI_GRAPH_TRACE: return version >= 28 ? 56 : 48;
	default: return 0;
	}
}

/* Its time on the client's clock. */
static uint64_t stamp(uint64_t monotonic)
{
	struct timespec t;

	if (client_now || monotonic == 0)
		return monotonic;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - (fake_now() - monotonic);
}

/* ---- buffers; under the lock ---- */

static void queue(struct buffer *b)
{
	for (struct buffer **p = &current; *p; p = &(*p)->next) {
		if (*p == b) {
			*p = b->next;
			break;
		}
	}
	b->next = NULL;
	b->is_queued = true;
	*last_ready = b;
	last_ready = &b->next;
	pthread_cond_signal(&has_ready);
}

static void deliver_first(void)
{
	struct buffer *b = ready;
	completed *tell = b->complete;
	const uint32_t slow_ms = number_of("FAKE_CUPTI_SLOW_MS");

	ready = b->next;
	if (!ready)
		last_ready = &ready;
	is_delivering = true;
	pthread_mutex_unlock(&lock);
	if (slow_ms)
		usleep(slow_ms * 1000);
	if (tell)
		tell(NULL, 0, b->bytes, b->size, b->used);
	free(b);
	pthread_mutex_lock(&lock);
	is_delivering = false;
	pthread_cond_broadcast(&is_drained);
}

static void *work(void *unused)
{
	pthread_setname_np(pthread_self(), "fake-cupti");
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!ready || is_delivering)
			pthread_cond_wait(&has_ready, &lock);
		deliver_first();
	}
	return unused;
}

static void thread_ended(void *p)
{
	struct buffer *b = p;

	pthread_mutex_lock(&lock);
	for (struct buffer *c = current; c; c = c->next)
		if (c == b)
			b->is_owned = false;
	pthread_mutex_unlock(&lock);
}

static void forget(void)
{
	pthread_mutex_init(&lock, NULL);
	current = ready = NULL;
	last_ready = &ready;
	has_worker = is_delivering = false;
	subscriber = NULL;
	request = NULL;
	complete = NULL;
}

static void begin(void)
{
	version = number_of("FAKE_CUPTI_VERSION");
	if (!version)
		version = 130001;
	pthread_key_create(&buffer_key, thread_ended);
	pthread_atfork(NULL, NULL, forget);
}

/* A buffer of this thread with that much room; before 13 all threads share one. */
static struct buffer *buffer_for(size_t bytes)
{
	const bool is_own = version >= 130000;
	struct buffer *b = is_own ? pthread_getspecific(buffer_key) : NULL, *found = NULL;
	size_t n_records = 0;

	for (struct buffer *c = current; c; c = c->next)
		if (is_own ? c == b || (!b && !c->is_owned && !found) : true)
			found = c;
	if (found && found->used + bytes > found->size) {
		found->is_full = true;
		if (found->n_in_flight == 0)
			queue(found);
		else {
			for (struct buffer **p = &current; *p; p = &(*p)->next)
				if (*p == found) {
					*p = found->next;
					break;
				}
			found->next = NULL;
		}
		found = NULL;
	}
	if (!found && request) {
		found = calloc(1, sizeof(*found));
		if (!found)
			return NULL;
		request(&found->bytes, &found->size, &n_records);
		if (!found->bytes || found->size < bytes) {
			free(found);
			return NULL;
		}
		found->complete = complete;
		found->next = current;
		current = found;
	}
	if (is_own && found) {
		found->is_owned = true;
		pthread_setspecific(buffer_key, found);
	}
	return found;
}

/* A zeroed record, its kind not yet written; *b tells where it is. */
static uint8_t *record_for(uint32_t kind, struct buffer **b)
{
	const size_t bytes = size_of(kind);
	uint8_t *record;

	*b = atomic_load(&enabled_kinds[kind]) ? buffer_for(bytes) : NULL;
	if (!*b) {
		n_dropped += atomic_load(&enabled_kinds[kind]);
		return NULL;
	}
	record = (*b)->bytes + (*b)->used;
	memset(record, 0, bytes);
	(*b)->used += bytes;
	return record;
}

/* A record that is whole at once. */
static void put(uint32_t kind, const void *from, size_t size)
{
	struct buffer *b;
	const size_t bytes = size_of(kind);
	uint8_t *record;

	pthread_mutex_lock(&lock);
	record = record_for(kind, &b);
	if (record) {
		memcpy(record + 4, (const char *)from + 4, (size < bytes ? size : bytes) - 4);
		atomic_store_explicit((_Atomic uint32_t *)record, kind, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
}

#define PUT(kind, ...) put(kind, &(__VA_ARGS__), sizeof(__VA_ARGS__))

/* ---- what libcuda tells ---- */

static uint32_t kind_of(const struct fake_work *w)
{
	static const uint32_t kinds[] = { CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMCPY2, CUPTI_MEMSET };

	return kinds[w->kind];
}

static void fill(uint8_t *record, const struct fake_work *w)
{
	const uint64_t start = stamp(w->start), end = stamp(w->end);

	switch (w->kind) {
	case FAKE_KERNEL: {
		struct cupti_kernel k = {
			.registers = 32, .start = start, .end = end, .context = FAKE_CONTEXT, .stream = w->stream,
			.grid = { (int32_t)w->grid, 1, 1 }, .block = { (int32_t)w->block, 1, 1 }, .dynamic_shared = 1024,
			.correlation = w->correlation, .grid_id = (int64_t)w->grid_id, .name = w->name,
			.graph_node = w->node, .graph = w->graph, .channel_type = 1,
		};
		memcpy(record + 4, (char *)&k + 4, sizeof(k) - 4);
		break;
	}
	case FAKE_COPY: {
		struct cupti_memcpy c = {
			.copy_kind = (uint8_t)w->copy_kind, .src_kind = w->copy_kind == 1 ? 2 : 3,
			.dst_kind = w->copy_kind == 1 ? 3 : 2, .flags = 1, .bytes = w->bytes, .start = start, .end = end,
			.context = FAKE_CONTEXT, .stream = w->stream, .correlation = w->correlation, .graph_node = w->node,
			.graph = w->graph, .n_copies = 1,
		};
		memcpy(record + 4, (char *)&c + 4, size_of(CUPTI_MEMCPY) - 4);
		break;
	}
	case FAKE_PEER: {
		struct cupti_memcpy_peer c = {
			.copy_kind = 10, .src_kind = 3, .dst_kind = 3, .flags = 1, .bytes = w->bytes, .start = start, .end = end,
			.context = FAKE_CONTEXT, .stream = w->stream, .src_context = FAKE_CONTEXT, .dst_device = 1,
			.dst_context = 2, .correlation = w->correlation, .graph_node = w->node, .graph = w->graph,
		};
		memcpy(record + 4, (char *)&c + 4, offsetof(struct cupti_memcpy_peer, graph));
		break;
	}
	case FAKE_SET: {
		struct cupti_memset c = {
			.value = w->value, .bytes = w->bytes, .start = start, .end = end, .context = FAKE_CONTEXT,
			.stream = w->stream, .correlation = w->correlation, .memory_kind = 3, .graph_node = w->node,
			.graph = w->graph,
		};
		memcpy(record + 4, (char *)&c + 4, offsetof(struct cupti_memset, graph));
		break;
	}
	}
}

static void on_submit(struct fake_work *w)
{
	const uint32_t drop = number_of("FAKE_CUPTI_DROP");
	struct buffer *b;

	pthread_mutex_lock(&lock);
	if (w->run && w->run->record) {
		pthread_mutex_unlock(&lock);
		return; /* the graph has one record for all */
	}
	if (w->kind == FAKE_KERNEL && drop && ++n_kernels % drop == 0) {
		n_dropped += atomic_load(&enabled_kinds[CUPTI_CONCURRENT_KERNEL]);
		pthread_mutex_unlock(&lock);
		return;
	}
	w->record = record_for(kind_of(w), &b);
	if (w->record) {
		fill(w->record, w);
		*(uint32_t *)w->record = kind_of(w) | CUPTI_IN_FLIGHT;
		w->buffer = b;
		b->n_in_flight++;
		w->next_in_buffer = b->works;
		b->works = w;
	}
	pthread_mutex_unlock(&lock);
}

static void on_run(struct fake_graph_run *run)
{
	struct buffer *b;

	pthread_mutex_lock(&lock);
	if (atomic_load(&enabled_kinds[CUPTI_GRAPH_TRACE])) {
		run->record = record_for(CUPTI_GRAPH_TRACE, &b);
		run->buffer = b;
		if (run->record) {
			*(uint32_t *)run->record = CUPTI_GRAPH_TRACE | CUPTI_IN_FLIGHT;
			b->n_in_flight++;
		}
	}
	pthread_mutex_unlock(&lock);
}

static void whole(struct buffer *b, void *record, uint32_t kind)
{
	atomic_store_explicit((_Atomic uint32_t *)record, kind, memory_order_release);
	if (--b->n_in_flight == 0 && b->is_full && !b->is_queued)
		queue(b);
}

static void done_of_run(struct fake_graph_run *run, const struct fake_work *w)
{
	if (!run->start)
		run->start = w->start;
	run->end = w->end;
	if (run->n_left == 1) {
		struct cupti_graph_run g = {
			.correlation = run->correlation, .start = stamp(run->start), .end = stamp(run->end), .graph = run->graph,
			.context = FAKE_CONTEXT, .stream = run->stream,
		};

		memcpy((char *)run->record + 4, (char *)&g + 4, sizeof(g) - 4);
		whole(run->buffer, run->record, CUPTI_GRAPH_TRACE);
	}
}

static void on_done(struct fake_work *w)
{
	const uint32_t zero = number_of("FAKE_CUPTI_ZERO");

	pthread_mutex_lock(&lock);
	if (w->run && w->run->record) {
		done_of_run(w->run, w);
	} else if (w->record) {
		struct buffer *b = w->buffer;

		for (struct fake_work **p = &b->works; *p; p = &(*p)->next_in_buffer) {
			if (*p == w) {
				*p = w->next_in_buffer;
				break;
			}
		}
		if (w->kind == FAKE_KERNEL && zero && w->grid_id % zero == 0)
			w->start = w->end = 0;
		fill(w->record, w);
		whole(b, w->record, kind_of(w));
	}
	pthread_mutex_unlock(&lock);
}

static void on_sync(uint32_t type, uint32_t stream, uint32_t event, uint32_t correlation, uint64_t start, uint64_t end)
{
	PUT(CUPTI_SYNCHRONIZATION, (struct cupti_sync){ .type = type, .start = stamp(start), .end = stamp(end),
		.correlation = correlation, .context = FAKE_CONTEXT, .stream = stream, .event = event });
}

static void on_memory(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation, uint64_t time)
{
	PUT(CUPTI_MEMORY2, (struct cupti_memory){ .operation = operation, .memory_kind = 3, .correlation = correlation,
		.address = address, .bytes = bytes, .time = stamp(time), .process = (uint32_t)getpid(), .context = FAKE_CONTEXT });
}

/* A record of each counter that was configured: of transfers, the bytes; of faults, one. */
static void on_migration(uint64_t address, uint64_t bytes, uint64_t time)
{
	enum { CPU = 3, GPU = 4 };

	for (uint32_t i = 0; i < n_unified; i++)
		PUT(CUPTI_UNIFIED_MEMORY, (struct cupti_unified_memory){ .counter = unified[i],
			.value = unified[i] == CPU || unified[i] == GPU ? 1 : bytes, .address = address, .start = stamp(time),
			.end = stamp(time + 1000), .flags = 1, .process = (uint32_t)getpid() });
}

static void on_object(enum fake_object what, uint32_t id)
{
	switch (what) {
	case FAKE_DEVICE_MADE:
		PUT(CUPTI_DEVICE, (struct cupti_device){ .id = id, .name = "Fake GPU", .n_sms = 132, .major = 9,
			.memory_bytes = 80ull << 30, .bandwidth_kb = 3350000000, .uuid = { 1, 2, 3 } });
		break;
	case FAKE_CONTEXT_MADE:
		PUT(CUPTI_CONTEXT, (struct cupti_context){ .id = id, .api = 1, .null_stream = FAKE_NULL_STREAM });
		break;
	case FAKE_STREAM_MADE:
		PUT(CUPTI_STREAM, (struct cupti_stream){ .context = FAKE_CONTEXT, .id = id,
			.flag = id == FAKE_NULL_STREAM ? 3 : 1 });
		break;
	}
}

static void on_call(struct fake_call *call, uint32_t site)
{
	struct cupti_callback c = {
		.site = site, .function = call->name, .symbol = call->symbol, .context_uid = FAKE_CONTEXT,
		.correlation_data = &call->data, .correlation = call->correlation, .result = site ? &call->result : NULL,
		.params = call->params,
	};

	if (subscriber && atomic_load(&enabled_calls[call->domain][call->id]))
		subscriber(user, call->domain, call->id, &c);
}

static void on_resource(uint32_t id, const void *descriptor)
{
	struct cupti_resource_data d = { .descriptor = descriptor };

	if (subscriber && atomic_load(&enabled_calls[CUPTI_RESOURCE][id]))
		subscriber(user, CUPTI_RESOURCE, id, &d);
}

static const struct fake_hooks hooks = {
	.call = on_call, .resource = on_resource, .object = on_object, .submit = on_submit, .run = on_run, .done = on_done,
	.sync = on_sync, .migration = on_migration, .memory = on_memory,
};

/* ---- the functions ---- */

EXPORTED uint32_t cuptiGetVersion(uint32_t *v)
{
	pthread_once(&once, begin);
	MAY_FAIL("GetVersion");
	*v = version;
	return OK;
}

EXPORTED uint32_t cuptiSubscribe(void **handle, callback *f, void *of_user)
{
	pthread_once(&once, begin);
	MAY_FAIL("Subscribe");
	if (subscriber)
		return BUSY;
	user = of_user;
	subscriber = f;
	*handle = &subscriber;
	atomic_store(&fake_hooks, &hooks);
	return OK;
}

EXPORTED uint32_t cuptiUnsubscribe(void *handle)
{
	MAY_FAIL("Unsubscribe");
	if (handle != &subscriber)
		return INVALID_PARAMETER;
	memset(enabled_calls, 0, sizeof(enabled_calls));
	subscriber = NULL;
	return OK;
}

EXPORTED uint32_t cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t id)
{
	MAY_FAIL("EnableCallback");
	if (handle != &subscriber || domain >= 8 || id >= MOST_IDS)
		return INVALID_PARAMETER;
	atomic_store(&enabled_calls[domain][id], enable != 0);
	return OK;
}

EXPORTED uint32_t cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain)
{
	MAY_FAIL("EnableDomain");
	if (handle != &subscriber || domain >= 8)
		return INVALID_PARAMETER;
	for (size_t i = 0; i < MOST_IDS; i++)
		atomic_store(&enabled_calls[domain][i], enable != 0);
	return OK;
}

EXPORTED uint32_t cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
	static const struct { uint32_t domain, id; const char *name; } names[] = {
#define NAME(domain, name, id) { domain, id, #name },
		FAKE_CALLS(NAME)
	};

	MAY_FAIL("GetCallbackName");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].domain == domain && names[i].id == id) {
			*name = names[i].name;
			return OK;
		}
	}
	return INVALID_PARAMETER;
}

EXPORTED uint32_t cuptiGetResultString(uint32_t result, const char **text)
{
	MAY_FAIL("GetResultString");
	*text = result == BUSY ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
	      : result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : result ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_SUCCESS";
	return OK;
}

EXPORTED uint32_t cuptiActivityEnable(uint32_t kind)
{
	pthread_once(&once, begin);
	MAY_FAIL("ActivityEnable");
	if (kind >= MOST_KINDS || !size_of(kind))
		return 21;
	atomic_store(&enabled_kinds[kind], 1);
	return OK;
}

EXPORTED uint32_t cuptiActivityDisable(uint32_t kind)
{
	MAY_FAIL("ActivityDisable");
	if (kind >= MOST_KINDS)
		return 21;
	atomic_store(&enabled_kinds[kind], 0);
	return OK;
}

EXPORTED uint32_t cuptiActivityRegisterCallbacks(requested *r, completed *c)
{
	pthread_once(&once, begin);
	MAY_FAIL("ActivityRegisterCallbacks");
	pthread_mutex_lock(&lock);
	request = r;
	complete = c;
	if (!has_worker && !number_of("FAKE_CUPTI_NO_WORKER")) {
		has_worker = pthread_create(&worker_thread, NULL, work, NULL) == 0;
		if (has_worker)
			pthread_detach(worker_thread);
	}
	pthread_mutex_unlock(&lock);
	atomic_store(&fake_hooks, &hooks);
	return OK;
}

EXPORTED uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, uint8_t **record)
{
	const uint8_t *next = *record ? *record + size_of(*(uint32_t *)*record) : buffer;

	MAY_FAIL("ActivityGetNextRecord");
	if (*record && !size_of(*(uint32_t *)*record))
		return 21;
	if (next >= buffer + bytes)
		return CUPTI_MAX_LIMIT_REACHED_;
	*record = (uint8_t *)(uintptr_t)next;
	return OK;
}

EXPORTED uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context, (void)stream;
	MAY_FAIL("ActivityGetNumDroppedRecords");
	pthread_mutex_lock(&lock);
	*n = n_dropped;
	n_dropped = 0;
	pthread_mutex_unlock(&lock);
	return OK;
}

/* Give up on what is in flight: its records stay as they are. */
static void orphan(struct buffer *b)
{
	for (struct fake_work *w = b->works; w; w = w->next_in_buffer)
		w->record = NULL;
	b->works = NULL;
	b->n_in_flight = 0;
}

EXPORTED uint32_t cuptiActivityFlushAll(uint32_t flag)
{
	struct buffer *next;

	MAY_FAIL("ActivityFlushAll");
	pthread_mutex_lock(&lock);
	for (struct buffer *b = current; b; b = next) {
		next = b->next;
		if (b->used == 0 || (b->n_in_flight && !(flag & 1)))
			continue;
		if (b->works)
			orphan(b);
		if (b->n_in_flight == 0) /* else a graph's record: it is told when the graph ends */
			queue(b);
	}
	if (!has_worker)
		while (ready)
			deliver_first();
	else if (!pthread_equal(pthread_self(), worker_thread))
		while (ready || is_delivering)
			pthread_cond_wait(&is_drained, &lock);
	pthread_mutex_unlock(&lock);
	return OK;
}

EXPORTED uint32_t cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
	(void)attribute, (void)bytes, (void)value;
	MAY_FAIL("ActivitySetAttribute");
	return OK;
}

EXPORTED uint32_t cuptiSetThreadIdType(uint32_t type)
{
	(void)type;
	MAY_FAIL("SetThreadIdType");
	return OK;
}

EXPORTED uint32_t cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
	MAY_FAIL("ActivityRegisterTimestampCallback");
	client_now = now;
	return OK;
}

EXPORTED uint32_t cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	(void)enable;
	MAY_FAIL("ActivityEnableCudaEventDeviceTimestamps");
	return OK;
}

EXPORTED uint32_t cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_unified_counter *counters, uint32_t n)
{
	const uint32_t n_devices = number_of("FAKE_CUPTI_DEVICES");

	MAY_FAIL("ActivityConfigureUnifiedMemoryCounter");
	for (uint32_t i = 0; i < n; i++)
		if (counters[i].device >= (n_devices ? n_devices : 1) || counters[i].scope != 1)
			return INVALID_PARAMETER;
	n_unified = 0;
	for (uint32_t i = 0; i < n && n_unified < sizeof(unified) / sizeof(unified[0]); i++)
		if (counters[i].is_on)
			unified[n_unified++] = counters[i].counter;
	return OK;
}

EXPORTED uint32_t cuptiGetGraphId(void *graph, uint32_t *id)
{
	MAY_FAIL("GetGraphId");
	*id = ((struct fake_graph *)graph)->id;
	return OK;
}

EXPORTED uint32_t cuptiGetGraphExecId(void *exec, uint32_t *id)
{
	MAY_FAIL("GetGraphExecId");
	*id = ((struct fake_graph *)exec)->exec_id;
	return OK;
}

EXPORTED uint32_t cuptiGetGraphNodeId(void *node, uint64_t *id)
{
	MAY_FAIL("GetGraphNodeId");
	*id = ((struct fake_node *)node)->id;
	return OK;
}

EXPORTED uint32_t cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	(void)context, (void)per_thread;
	MAY_FAIL("GetStreamIdEx");
	*id = stream ? ((struct fake_stream *)stream)->id : FAKE_NULL_STREAM;
	return OK;
}

EXPORTED uint32_t cuptiGetDeviceId(void *context, uint32_t *id)
{
	(void)context;
	MAY_FAIL("GetDeviceId");
	*id = 0;
	return OK;
}
