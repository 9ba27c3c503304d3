/*
 * collect/nvtx.c - NVTX by a callback table of our own: versions 2 and 3, with
 * or without CUPTI.
 *
 * Each shared object that includes NVTX's headers calls an entry point once;
 * its table of functions is then pointed here. The types are those of the
 * public headers, declared as they lie in memory.
 */
#define _GNU_SOURCE
#include <string.h>
#include <wchar.h>

#include "collect/collect.h"

struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered;
	} message;
};
_Static_assert(sizeof(struct nvtx_attributes) == 48, "nvtxEventAttributes_v2");

enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

/* What a domain handle points to. The default domain has none. */
static struct domain {
	_Atomic uint32_t state; /* 0 free, 1 being made, 2 made */
	uint32_t epoch;
	bool is_wanted;
	char name[SPOOL_NAME_MAX];
} domains[NVTX_DOMAINS];
static _Atomic uint64_t next_range = 1;

/* What a registered string's handle points to. */
enum { REGISTERED = 1 << 14 };
static struct registered {
	const char *text; /* in `room` */
	uint32_t n, id, epoch;
} registered[REGISTERED];
static _Atomic uint32_t n_registered;
static char room[4 << 20];
static _Atomic uint32_t room_used;

/* A text as bytes: wide ones are made UTF-8 in the caller's room. */
struct words {
	const char *p;
	size_t n;
	struct registered *registered;
};

enum { WIDE_ROOM = 1024 };

static size_t put_rune(char *out, uint32_t r)
{
	if (r < 0x80)
		return out[0] = (char)r, 1;
	if (r < 0x800)
		return out[0] = (char)(0xc0 | r >> 6), out[1] = (char)(0x80 | (r & 63)), 2;
	if (r < 0x10000)
		return out[0] = (char)(0xe0 | r >> 12), out[1] = (char)(0x80 | (r >> 6 & 63)), out[2] = (char)(0x80 | (r & 63)), 3;
	out[0] = (char)(0xf0 | (r >> 18 & 7));
	out[1] = (char)(0x80 | (r >> 12 & 63));
	out[2] = (char)(0x80 | (r >> 6 & 63));
	out[3] = (char)(0x80 | (r & 63));
	return 4;
}

static struct words narrow(const wchar_t *wide, char *out)
{
	size_t n = 0;

	for (; wide && *wide && n + 4 < WIDE_ROOM; wide++)
		n += put_rune(out + n, (uint32_t)*wide);
	out[n] = '\0';
	return (struct words){ wide ? out : NULL, n, NULL };
}

static struct words ascii(const char *text)
{
	return (struct words){ text, text ? strlen(text) : 0, NULL };
}

static struct words message_of(const struct nvtx_attributes *a, char *out)
{
	if (!a || a->size < sizeof(*a))
		return (struct words){ 0 };
	switch (a->message_type) {
	case MESSAGE_ASCII: return ascii(a->message.ascii);
	case MESSAGE_WIDE: return narrow(a->message.wide, out);
	case MESSAGE_REGISTERED: {
		struct registered *r = (struct registered *)(uintptr_t)a->message.registered;

		if (r >= registered && r < registered + REGISTERED)
			return (struct words){ r->text, r->n, r };
		return (struct words){ 0 };
	}
	default: return (struct words){ 0 };
	}
}

static uint32_t words_id(struct writer *w, const struct words *words)
{
	if (!words->registered)
		return text_id(w, words->p, words->n);
	if (words->registered->epoch != w->epoch) {
		words->registered->id = text_id(w, words->p, words->n);
		words->registered->epoch = w->epoch;
	}
	return words->registered->id;
}

/* ---- domains ---- */

static uint32_t domain_number(const void *handle)
{
	const struct domain *d = handle;

	return d >= domains && d < domains + NVTX_DOMAINS ? (uint32_t)(d - domains) + 1 : 0;
}

static const char *domain_name(uint32_t number)
{
	return number ? domains[number - 1].name : "";
}

bool nvtx_wants_domain(const char *name)
{
	const char *list = collector.control->domains;
	const size_t n = strlen(name);

	if (!list[0])
		return true;
	for (const char *p = list; *p;) {
		size_t length = strcspn(p, ",");

		if ((length == n && strncmp(p, name, n) == 0) || (n == 0 && length == 7 && strncmp(p, "default", 7) == 0))
			return !collector.control->leave_domains_out;
		p += length + (p[length] == ',');
	}
	return collector.control->leave_domains_out;
}

static void write_domain(struct writer *w, uint32_t number)
{
	struct domain *d = &domains[number - 1];
	uint32_t text = text_id(w, d->name, strlen(d->name));
	struct spool_nvtx_domain *r = record_begin_kept(w, sizeof(*r));

	if (!r)
		return;
	r->id = number;
	r->text = text;
	r->zero = 0;
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_NVTX_DOMAIN, 0, sizeof(*r)));
	d->epoch = w->epoch;
}

static void *domain_create(const char *name)
{
	if (!name)
		return NULL;
	for (size_t i = 0; i < NVTX_DOMAINS; i++) {
		struct domain *d = &domains[i];
		uint32_t state = atomic_load(&d->state);

		if (state == 2 && strncmp(d->name, name, SPOOL_NAME_MAX - 1) == 0)
			return d;
		if (state == 0 && atomic_compare_exchange_strong(&d->state, &state, 1)) {
			strncpy(d->name, name, SPOOL_NAME_MAX - 1);
			d->is_wanted = collector.control ? nvtx_wants_domain(d->name) : true;
			atomic_store(&d->state, 2);
			return d;
		}
	}
	return NULL;
}

/* ---- records ---- */

/* True when this event is to be written; begins the collector in the child of a fork. */
static bool is_wanted(uint32_t domain)
{
	if (!atomic_load_explicit(&collector.is_ready, memory_order_relaxed) && !collector_begin())
		return false;
	if (!atomic_load_explicit(&collector.is_recording, memory_order_relaxed))
		return false;
	return domain ? domains[domain - 1].is_wanted : !collector.control->domains[0] || nvtx_wants_domain("");
}

static void write_event(struct writer *w, enum spool_kind kind, uint32_t domain, uint64_t range,
			const struct words *words, const struct nvtx_attributes *a)
{
	const bool has_payload = a && a->payload_type > 0 && a->payload_type < 7;
	const size_t bytes = sizeof(struct spool_nvtx) + (has_payload ? 8 : 0);
	uint32_t text = words ? words_id(w, words) : 0;
	struct spool_nvtx *r;

	if (domain && domains[domain - 1].epoch != w->epoch)
		write_domain(w, domain);
	r = record_begin(w, bytes);
	if (!r)
		return;
	r->domain = domain;
	r->time_ns = now_ns();
	r->range = range;
	r->text = text;
	r->color = a && a->color_type == 1 ? a->color : 0;
	r->category = a ? a->category : 0;
	r->is_registered = words && words->registered != NULL;
	if (has_payload)
		r->payload[0] = a->payload;
	record_commit(r, SPOOL_WORD(kind, has_payload ? (uint32_t)a->payload_type : 0, bytes));
	count(&collector.head->cost_calls[SPOOL_COST_NVTX], 1);
}

/* Pop and end are short: kind, domain, time, range. */
static void write_end(struct writer *w, enum spool_kind kind, uint32_t domain, uint64_t range)
{
	const size_t bytes = offsetof(struct spool_nvtx, text);
	struct spool_nvtx *r = record_begin(w, bytes);

	if (!r)
		return;
	r->domain = domain;
	r->time_ns = now_ns();
	r->range = range;
	record_commit(r, SPOOL_WORD(kind, 0, bytes));
	count(&collector.head->cost_calls[SPOOL_COST_NVTX], 1);
}

/* Depth of push/pop ranges of a domain on this thread, or NULL when there are too many domains. */
static uint32_t *depth_of(struct writer *w, uint32_t domain)
{
	for (size_t i = 0; i < DEPTHS; i++) {
		if (w->depths[i].depth && w->depths[i].domain == domain)
			return &w->depths[i].depth;
		if (!w->depths[i].depth) {
			w->depths[i].domain = domain;
			return &w->depths[i].depth;
		}
	}
	return NULL;
}

static int push(uint32_t domain, struct words words, const struct nvtx_attributes *a)
{
	struct writer *w = atomic_load(&collector.is_ready) || collector_begin() ? writer_of_thread() : NULL;
	uint32_t *depth = w ? depth_of(w, domain) : NULL;

	if (w && window_is_range(domain_name(domain), words.p))
		window_range_begin(w);
	else if (w && w->in_range)
		w->in_range++;
	if (w && is_wanted(domain))
		write_event(w, SPOOL_NVTX_PUSH, domain, 0, &words, a);
	return depth ? (int)(*depth)++ : -2;
}

static int pop(uint32_t domain)
{
	struct writer *w = atomic_load(&collector.is_ready) ? writer_of_thread() : NULL;
	uint32_t *depth = w ? depth_of(w, domain) : NULL;

	if (w && is_wanted(domain))
		write_end(w, SPOOL_NVTX_POP, domain, 0);
	if (w && w->in_range)
		window_range_end(w);
	return depth && *depth ? (int)--*depth : -2;
}

static uint64_t start(uint32_t domain, struct words words, const struct nvtx_attributes *a)
{
	struct writer *w = atomic_load(&collector.is_ready) || collector_begin() ? writer_of_thread() : NULL;
	uint64_t range = atomic_fetch_add(&next_range, 1);

	if (w && window_is_range(domain_name(domain), words.p)) {
		range |= (uint64_t)1 << 63; /* its end closes the window */
		window_open();
	}
	if (w && is_wanted(domain))
		write_event(w, SPOOL_NVTX_START, domain, range, &words, a);
	return range;
}

static void finish(uint64_t range)
{
	struct writer *w = atomic_load(&collector.is_ready) ? writer_of_thread() : NULL;

	if (w && is_wanted(0))
		write_end(w, SPOOL_NVTX_END, 0, range);
	if (w && range >> 63) {
		w->in_range = 1;
		window_range_end(w);
	}
}

static void mark(uint32_t domain, struct words words, const struct nvtx_attributes *a)
{
	struct writer *w = is_wanted(domain) ? writer_of_thread() : NULL;

	if (w)
		write_event(w, SPOOL_NVTX_MARK, domain, 0, &words, a);
}

static void name(enum spool_named what, uint64_t object, struct words words)
{
	struct writer *w = atomic_load(&collector.is_ready) || collector_begin() ? writer_of_thread() : NULL;
	uint32_t text = w ? words_id(w, &words) : 0;
	struct spool_name *r = w ? record_begin_kept(w, sizeof(*r)) : NULL;

	if (!r)
		return;
	r->text = text;
	r->object = object;
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_NAME, what, sizeof(*r)));
}

static void *register_words(struct words words)
{
	uint32_t at, from;

	if (!words.p || words.n >= WIDE_ROOM * 8)
		return NULL;
	from = atomic_fetch_add(&room_used, (uint32_t)words.n + 1);
	if (from + words.n + 1 > sizeof(room))
		return NULL;
	at = atomic_fetch_add(&n_registered, 1);
	if (at >= REGISTERED)
		return NULL;
	memcpy(room + from, words.p, words.n);
	registered[at] = (struct registered){ .text = room + from, .n = (uint32_t)words.n };
	return &registered[at];
}

/* ---- the functions of the tables ---- */

static void mark_ex(const struct nvtx_attributes *a) { char out[WIDE_ROOM]; mark(0, message_of(a, out), a); }
static void mark_a(const char *m) { mark(0, ascii(m), NULL); }
static void mark_w(const wchar_t *m) { char out[WIDE_ROOM]; mark(0, narrow(m, out), NULL); }
static uint64_t start_ex(const struct nvtx_attributes *a) { char out[WIDE_ROOM]; return start(0, message_of(a, out), a); }
static uint64_t start_a(const char *m) { return start(0, ascii(m), NULL); }
static uint64_t start_w(const wchar_t *m) { char out[WIDE_ROOM]; return start(0, narrow(m, out), NULL); }
static void end_range(uint64_t range) { finish(range); }
static int push_ex(const struct nvtx_attributes *a) { char out[WIDE_ROOM]; return push(0, message_of(a, out), a); }
static int push_a(const char *m) { return push(0, ascii(m), NULL); }
static int push_w(const wchar_t *m) { char out[WIDE_ROOM]; return push(0, narrow(m, out), NULL); }
static int pop_range(void) { return pop(0); }
static void category_a(uint32_t c, const char *m) { name(SPOOL_NAMED_CATEGORY, c, ascii(m)); }
static void category_w(uint32_t c, const wchar_t *m) { char out[WIDE_ROOM]; name(SPOOL_NAMED_CATEGORY, c, narrow(m, out)); }
static void thread_a(uint32_t t, const char *m) { name(SPOOL_NAMED_THREAD, t, ascii(m)); }
static void thread_w(uint32_t t, const wchar_t *m) { char out[WIDE_ROOM]; name(SPOOL_NAMED_THREAD, t, narrow(m, out)); }

static void domain_mark(void *d, const struct nvtx_attributes *a)
{
	char out[WIDE_ROOM];

	mark(domain_number(d), message_of(a, out), a);
}

static uint64_t domain_start(void *d, const struct nvtx_attributes *a)
{
	char out[WIDE_ROOM];

	return start(domain_number(d), message_of(a, out), a);
}

static void domain_end(void *d, uint64_t range)
{
	(void)d;
	finish(range);
}

static int domain_push(void *d, const struct nvtx_attributes *a)
{
	char out[WIDE_ROOM];

	return push(domain_number(d), message_of(a, out), a);
}

static int domain_pop(void *d) { return pop(domain_number(d)); }
static void *resource_create(void *d, void *a) { (void)a; return d; }
static void resource_destroy(void *r) { (void)r; }

static void domain_category_a(void *d, uint32_t c, const char *m)
{
	name(SPOOL_NAMED_CATEGORY, (uint64_t)domain_number(d) << 32 | c, ascii(m));
}

static void domain_category_w(void *d, uint32_t c, const wchar_t *m)
{
	char out[WIDE_ROOM];

	name(SPOOL_NAMED_CATEGORY, (uint64_t)domain_number(d) << 32 | c, narrow(m, out));
}

static void *register_a(void *d, const char *m) { (void)d; return register_words(ascii(m)); }
static void *register_w(void *d, const wchar_t *m) { char out[WIDE_ROOM]; (void)d; return register_words(narrow(m, out)); }
static void *create_a(const char *m) { collector_begin(); return domain_create(m); }
static void *create_w(const wchar_t *m) { char out[WIDE_ROOM]; collector_begin(); return domain_create(narrow(m, out).p); }
static void domain_destroy(void *d) { (void)d; }
static void initialize(const void *reserved) { (void)reserved; }

static uint64_t stream_object(void *stream)
{
	uint32_t id = UINT32_MAX;

	if (collector.has_cupti && collector.cupti.GetStreamIdEx)
		collector.cupti.GetStreamIdEx(NULL, stream, 0, &id);
	return id;
}

static void name_device_a(int device, const char *m) { name(SPOOL_NAMED_DEVICE, (uint32_t)device, ascii(m)); }
static void name_stream_a(void *stream, const char *m) { name(SPOOL_NAMED_STREAM, stream_object(stream), ascii(m)); }

int nvtx_push_text(const char *text) { return push_a(text); }
int nvtx_pop_text(void) { return pop_range(); }
void nvtx_mark_text(const char *text) { mark_a(text); }

/* ---- the entry points ---- */

typedef void (*function)(void);
typedef function **function_table;

struct export_callbacks {
	size_t size;
	int (*GetModuleFunctionTable)(int module, function_table *table, unsigned *n);
};

enum { MODULE_CORE = 1, MODULE_CUDA = 2, MODULE_CUDART = 4, MODULE_CORE2 = 5, EXPORT_CALLBACKS = 1 };

static const struct { int module, at; function f; } functions[] = {
	{ MODULE_CORE, 1, (function)mark_ex }, { MODULE_CORE, 2, (function)mark_a }, { MODULE_CORE, 3, (function)mark_w },
	{ MODULE_CORE, 4, (function)start_ex }, { MODULE_CORE, 5, (function)start_a }, { MODULE_CORE, 6, (function)start_w },
	{ MODULE_CORE, 7, (function)end_range }, { MODULE_CORE, 8, (function)push_ex }, { MODULE_CORE, 9, (function)push_a },
	{ MODULE_CORE, 10, (function)push_w }, { MODULE_CORE, 11, (function)pop_range },
	{ MODULE_CORE, 12, (function)category_a }, { MODULE_CORE, 13, (function)category_w },
	{ MODULE_CORE, 14, (function)thread_a }, { MODULE_CORE, 15, (function)thread_w },
	{ MODULE_CORE2, 1, (function)domain_mark }, { MODULE_CORE2, 2, (function)domain_start },
	{ MODULE_CORE2, 3, (function)domain_end }, { MODULE_CORE2, 4, (function)domain_push },
	{ MODULE_CORE2, 5, (function)domain_pop }, { MODULE_CORE2, 6, (function)resource_create },
	{ MODULE_CORE2, 7, (function)resource_destroy }, { MODULE_CORE2, 8, (function)domain_category_a },
	{ MODULE_CORE2, 9, (function)domain_category_w }, { MODULE_CORE2, 10, (function)register_a },
	{ MODULE_CORE2, 11, (function)register_w }, { MODULE_CORE2, 12, (function)create_a },
	{ MODULE_CORE2, 13, (function)create_w }, { MODULE_CORE2, 14, (function)domain_destroy },
	{ MODULE_CORE2, 15, (function)initialize },
	{ MODULE_CUDA, 1, (function)name_device_a }, { MODULE_CUDA, 5, (function)name_stream_a },
	{ MODULE_CUDART, 1, (function)name_device_a }, { MODULE_CUDART, 3, (function)name_stream_a },
};

static int fill_tables(const struct export_callbacks *callbacks)
{
	if (!callbacks || callbacks->size < sizeof(*callbacks))
		return 0;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		function_table table = NULL;
		unsigned n = 0;

		if (callbacks->GetModuleFunctionTable(functions[i].module, &table, &n) && table &&
		    (unsigned)functions[i].at < n && table[functions[i].at])
			*table[functions[i].at] = functions[i].f;
	}
	return 1;
}

EXPORTED int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
	if (!get_table || !collector_begin() || !(collector.kinds & SPOOL_NVTX))
		return 0;
	return fill_tables(get_table(EXPORT_CALLBACKS));
}

/* Version 2 asks by another name and means the same. */
EXPORTED int InitializeInjectionNvtx(const void *(*get_table)(uint32_t id))
{
	return InitializeInjectionNvtx2(get_table);
}
