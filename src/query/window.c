/* query/window.c - see window.h. */
#include "query/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/nest.h"

static const struct { const char *name; int64_t ns; } units[] = {
	/* Longer names first, so that ms is not taken for m. */
	{ "nsec", 1 }, { "usec", 1000 }, { "msec", 1000000 }, { "sec", 1000000000 }, { "min", 60000000000 },
	{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 },
	{ "h", 3600000000000 },
};

/* A unit at p, and how many letters it has; none is ns. */
static int64_t read_unit(const char *p, size_t *n)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strncmp(p, units[i].name, strlen(units[i].name)) == 0) {
			*n = strlen(units[i].name);
			return units[i].ns;
		}
	*n = 0;
	return 1;
}

/* Digits with an optional fraction of the unit behind them: 1.5s. Moves *p behind the unit. */
static bool read_part(const char **p, int64_t *ns)
{
	const char *digits = *p, *fraction;
	int64_t whole = 0, unit, part = 0, scale;
	size_t n = strspn(digits, "0123456789"), n_fraction = 0, n_unit;

	for (size_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, digits[i] - '0', &whole))
			return false;
	fraction = digits + n;
	if (*fraction == '.') {
		fraction++;
		n_fraction = strspn(fraction, "0123456789");
	}
	if (n + n_fraction == 0)
		return false;
	unit = read_unit(fraction + n_fraction, &n_unit);
	scale = unit;
	for (size_t i = 0; i < n_fraction && scale >= 10; i++) {
		scale /= 10;
		part += (fraction[i] - '0') * scale;
	}
	*p = fraction + n_fraction + n_unit;
	return !__builtin_mul_overflow(whole, unit, &whole) && !__builtin_add_overflow(whole, part, ns);
}

/* Read the text up to end as one time, joined of parts. */
static bool read_time(const char *p, const char *end, int64_t *ns)
{
	bool negative = p < end && *p == '-';
	int64_t sum = 0, part;

	p += negative;
	if (p == end)
		return false;
	while (p < end)
		if (!read_part(&p, &part) || __builtin_add_overflow(sum, part, &sum))
			return false;
	*ns = negative ? -sum : sum;
	return p == end;
}

bool window_of_times(const char *text, struct window *out, struct err *err)
{
	const char *slash = strchr(text, '/'), *end = text + strlen(text);

	*out = WINDOW_ALL;
	if (!slash)
		return fail(err, "time window %s: no / between start and end (4600ms/4700ms)", text);
	if (slash > text && !read_time(text, slash, &out->from_ns))
		return fail(err, "time window %s: its start is no time (4600ms/4700ms)", text);
	if (slash + 1 < end && !read_time(slash + 1, end, &out->to_ns))
		return fail(err, "time window %s: its end is no time (4600ms/4700ms)", text);
	if (out->from_ns > out->to_ns)
		return fail(err, "time window %s: ends before it starts", text);
	return true;
}

/* The words of NAME[@DOMAIN][/INDEX]. */
struct range_spec {
	struct text name, domain;
	bool has_domain;
	size_t index;
};

static bool read_spec(const char *text, struct range_spec *spec, struct err *err)
{
	struct text *part = &spec->name;
	const char *p;

	text_add(&spec->name, "", 0);
	text_add(&spec->domain, "", 0);
	for (p = text; *p && *p != '/'; p++) {
		if (*p == '@' && part == &spec->name) {
			part = &spec->domain;
			spec->has_domain = true;
			continue;
		}
		if (*p == '\\' && p[1])
			p++;
		text_addc(part, *p);
	}
	if (*p == '/') {
		char *end;

		spec->index = strtoul(p + 1, &end, 10);
		if (p[1] < '0' || p[1] > '9' || *end)
			return fail(err, "range %s: %s is no index", text, p + 1);
	}
	return true;
}

static bool is_range_of(const struct trace *trace, ref row, const struct range_spec *spec)
{
	const struct nvtx_table *t = &trace->nvtx;
	const char *name = trace_text(trace, t->name[row]), *domain = NULL;

	if (!range_kind(t->kind[row]) || !name || strcmp(name, spec->name.p) != 0)
		return false;
	if (t->domain[row] < trace->nvtx_domain.n)
		domain = trace_text(trace, trace->nvtx_domain.name[t->domain[row]]);
	return !spec->has_domain || strcmp(domain ? domain : "", spec->domain.p) == 0;
}

struct instance {
	int64_t start_ns;
	ref row;
};

static int compare_instances(const void *pa, const void *pb)
{
	const struct instance *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* The spec's index counts its ranges by start, over all threads. */
static bool find_range(const struct trace *trace, const char *text, const struct range_spec *spec,
		       struct window *out, struct err *err)
{
	struct arena scratch = { 0 };
	struct instance *found = arena_array(&scratch, struct instance, trace->nvtx.n);
	size_t n = 0;
	ref row;

	for (ref i = 0; i < trace->nvtx.n; i++)
		if (is_range_of(trace, i, spec))
			found[n++] = (struct instance){ trace->nvtx.start_ns[i], i };
	if (n > 1)
		qsort(found, n, sizeof(*found), compare_instances);
	row = spec->index < n ? found[spec->index].row : NULL_ref;
	arena_end(&scratch);
	if (trace->nvtx.n == 0)
		return fail(err,
			    "range %s: the trace has no NVTX ranges (annotations of PyTorch and calls of Python are none: "
			    "--filter-time takes their times)", text);
	if (row == NULL_ref)
		return fail(err, "range %s: the trace has %zu of them", text, n);
	out->from_ns = trace->nvtx.start_ns[row];
	out->to_ns = trace->nvtx.end_ns[row] == NULL_i64 ? ranges_last_ns(trace) : trace->nvtx.end_ns[row];
	return true;
}

bool window_of_nvtx(struct trace *trace, const char *text, struct window *out, struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_nvtx, NEED_RANGES | BIT(nvtx, name) | BIT(nvtx, domain) },
		{ TABLE_nvtx_domain, BIT(nvtx_domain, name) },
	};
	struct range_spec spec = { 0 };
	bool done;

	*out = WINDOW_ALL;
	done = read_spec(text, &spec, err) && trace_need(trace, needs, ARRAY_LEN(needs), err) &&
	       find_range(trace, text, &spec, out, err);
	text_end(&spec.name);
	text_end(&spec.domain);
	return done;
}
