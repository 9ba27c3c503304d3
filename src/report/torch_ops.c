/*
 * report/torch_ops.c - PyTorch's prof.key_averages().table() from the store.
 *
 * One row for each name (and input shape, and call stack, if asked for), host
 * and device apart: an op and the kernels that it launched are rows of their
 * own that repeat the same time. Times are sums, not unions, and nothing is
 * cut to the steps. docs/analysis/torch_ops.md tells what a reader may trip on.
 *
 * An event belongs to the window that it touches. With several ranks all are
 * added up, unless rank=N picks one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/names.h"
#include "report/torch_look.h"
#include "report/torch_model.h"

static const struct sheet_column columns[N_TORCH_COLUMNS] = {
	[TORCH_NAME]              = { "name", "Name", UNIT_TEXT },
	[TORCH_WHERE]             = { "where", "Where", UNIT_TEXT },
	[TORCH_SELF_CPU_SHARE]    = { "self_cpu_share", "Self CPU (%)", UNIT_NUMBER, 2 },
	[TORCH_SELF_CPU]          = { "self_cpu_us", "Self CPU (us)", UNIT_NUMBER, 3 },
	[TORCH_CPU_SHARE]         = { "cpu_total_share", "CPU total (%)", UNIT_NUMBER, 2 },
	[TORCH_CPU_TOTAL]         = { "cpu_total_us", "CPU total (us)", UNIT_NUMBER, 3 },
	[TORCH_CPU_MEAN]          = { "cpu_mean_us", "CPU time avg (us)", UNIT_NUMBER, 3 },
	[TORCH_SELF_DEVICE]       = { "self_cuda_us", "Self CUDA (us)", UNIT_NUMBER, 3 },
	[TORCH_SELF_DEVICE_SHARE] = { "self_cuda_share", "Self CUDA (%)", UNIT_NUMBER, 2 },
	[TORCH_DEVICE_TOTAL]      = { "cuda_total_us", "CUDA total (us)", UNIT_NUMBER, 3 },
	[TORCH_DEVICE_MEAN]       = { "cuda_mean_us", "CUDA time avg (us)", UNIT_NUMBER, 3 },
	[TORCH_CPU_BYTES]         = { "cpu_bytes", "CPU Mem (bytes)", UNIT_COUNT },
	[TORCH_SELF_CPU_BYTES]    = { "self_cpu_bytes", "Self CPU Mem (bytes)", UNIT_COUNT },
	[TORCH_DEVICE_BYTES]      = { "cuda_bytes", "CUDA Mem (bytes)", UNIT_COUNT },
	[TORCH_SELF_DEVICE_BYTES] = { "self_cuda_bytes", "Self CUDA Mem (bytes)", UNIT_COUNT },
	[TORCH_CALLS]             = { "calls", "# of Calls", UNIT_COUNT },
	[TORCH_SHAPES]            = { "input_shapes", "Input Shapes", UNIT_TEXT },
	[TORCH_SOURCE]            = { "source_location", "Source Location", UNIT_TEXT },
	[TORCH_FLOPS]             = { "flops", "Total FLOPs", UNIT_NUMBER, 0 },
};

/* What events of one key add up to. */
struct average {
	uint32_t name, shapes, stack; /* the last two of TORCH_NONE are not asked for */
	uint8_t side;
	bool is_annotation;
	double self_cpu_us, cpu_us, self_device_us, device_us, flops;
	int64_t cpu_bytes, self_cpu_bytes, device_bytes, self_device_bytes;
	int64_t n;
};

/* What the user asked for. */
struct wish {
	bool by_shapes;
	size_t stack;   /* frames to group by; 0 for none */
	const char *sort;
	size_t limit;   /* SIZE_MAX for all; rows beyond it are dropped when it was said */
	bool is_limit_said;
	size_t max_name_width, max_shapes_width, max_source_width;
	int32_t rank;
};

struct averages {
	struct average *rows;
	size_t n, room;
	struct names keys, shapes, stacks;
	uint32_t *stack_of; /* number in stacks of each struct torch_stack */
	size_t stack_room;
};

/* ---- arguments ---- */

/* The value of "name=value", or NULL. */
static const char *value_of(const char *word, const char *name)
{
	const size_t n = strlen(name);

	return strncmp(word, name, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

/* A number of rows or characters; less than 1 is no limit, as -1 is in PyTorch. */
static bool read_size(const char *word, const char *name, size_t *out)
{
	const char *value = value_of(word, name);
	long long n;

	if (!value)
		return false;
	n = strtoll(value, NULL, 10);
	*out = n > 0 ? (size_t)n : SIZE_MAX;
	return true;
}

static struct wish read_wish(const struct report_args *args)
{
	struct wish wish = {
		.limit = 100, .max_name_width = 55, .max_shapes_width = 80, .max_source_width = 75,
		.rank = torch_rank_of(args),
	};

	for (size_t i = 0; i < args->n_words; i++) {
		const char *word = args->words[i], *value;

		if (strcmp(word, "shapes") == 0)
			wish.by_shapes = true;
		else if (read_size(word, "limit", &wish.limit))
			wish.is_limit_said = true;
		else if ((value = value_of(word, "sort")))
			wish.sort = value;
		else
			(void)(read_size(word, "stack", &wish.stack) || read_size(word, "name_width", &wish.max_name_width) ||
			       read_size(word, "shapes_width", &wish.max_shapes_width) ||
			       read_size(word, "source_width", &wish.max_source_width));
	}
	if (wish.stack > TORCH_MAX_STACK)
		wish.stack = TORCH_MAX_STACK;
	if (wish.max_name_width < 4)
		wish.max_name_width = 4;
	if (args->limit != SIZE_MAX)
		wish.limit = args->limit;
	return wish;
}

/* ---- averages ---- */

static uint32_t shapes_of(struct averages *all, const struct trace *trace, ref op, uint32_t *known)
{
	const str_id json = op == NULL_ref ? NULL_str : trace->op.input_dims[op];
	uint32_t *at = &known[json == NULL_str ? trace->strings.n : json];

	if (*at == TORCH_NONE) {
		const char *text = torch_shapes_text(all->shapes.arena, trace_text(trace, json), trace_text_length(trace, json));

		*at = names_number(&all->shapes, text, strlen(text));
	}
	return *at;
}

/* The innermost frames of a stack, joined by semicolons. */
static uint32_t join_stack(struct averages *all, const struct torch_stacks *stacks, struct torch_stack stack,
			   size_t depth)
{
	const char *frames[TORCH_MAX_STACK];
	struct arena scratch = { 0 };
	struct text text = { 0 };
	const size_t n = torch_stack_frames(stacks, stack, &scratch, frames, depth);
	uint32_t id;

	text_adds(&text, "");
	for (size_t i = 0; i < n; i++) {
		if (i)
			text_addc(&text, ';');
		text_adds(&text, frames[i]);
	}
	id = names_number(&all->stacks, text.p, text.n);
	text_end(&text);
	arena_end(&scratch);
	return id;
}

/* Stacks of events; each stack is joined once. */
static uint32_t stack_of(struct averages *all, struct names *known, const struct torch_stacks *stacks,
			 const struct torch_event *e, size_t depth)
{
	const struct torch_stack stack = torch_stack_of(stacks, e);
	const size_t n_before = known->n;
	const uint32_t at = names_number(known, &stack, sizeof(stack));

	if (known->n > n_before) {
		if (at >= all->stack_room) {
			all->stack_room = all->stack_room ? all->stack_room * 2 : 256;
			all->stack_of = block_grow(all->stack_of, all->stack_room * sizeof(*all->stack_of));
		}
		all->stack_of[at] = join_stack(all, stacks, stack, depth);
	}
	return all->stack_of[at];
}

static struct average *average_of(struct averages *all, const struct torch_event *e, uint32_t shapes, uint32_t stack)
{
	const uint32_t key[] = { e->name, e->side, e->is_annotation, shapes, stack };
	const uint32_t id = names_number(&all->keys, key, sizeof(key));

	if (id == all->n) {
		if (all->n == all->room) {
			all->room = all->room ? all->room * 2 : 64;
			all->rows = block_grow(all->rows, all->room * sizeof(*all->rows));
		}
		all->rows[all->n++] = (struct average){
			.name = e->name, .shapes = shapes, .stack = stack,
			.side = e->side, .is_annotation = e->is_annotation,
		};
	}
	return &all->rows[id];
}

static void add_bytes(int64_t *sum, int64_t bytes)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)bytes);
}

static void add_event(struct average *a, const struct torch_events *events, const struct torch_event *e)
{
	a->n++;
	a->self_device_us += torch_self_device_us(events, e);
	a->device_us += e->device_us;
	if (e->side != TORCH_CPU)
		return;
	a->self_cpu_us += torch_self_cpu_us(events, e);
	a->cpu_us += torch_duration_us(e);
	add_bytes(&a->cpu_bytes, e->cpu_bytes);
	add_bytes(&a->self_cpu_bytes, torch_self_cpu_bytes(events, e));
	add_bytes(&a->device_bytes, e->device_bytes);
	add_bytes(&a->self_device_bytes, torch_self_device_bytes(events, e));
	if (events->has_flops && e->op != NULL_ref)
		a->flops += torch_flops(events->trace, e->op);
}

static void average(struct averages *all, const struct torch_events *events, const struct wish *wish)
{
	const struct trace *trace = events->trace;
	uint32_t *known = block_take((trace->strings.n + 1) * sizeof(*known));
	struct torch_stacks stacks = { 0 };
	struct arena scratch = { 0 };
	struct names known_stacks = { .arena = &scratch };

	memset(known, 0xff, (trace->strings.n + 1) * sizeof(*known));
	if (wish->stack)
		torch_stacks_begin(&stacks, events);
	for (size_t i = 0; i < events->n; i++) {
		const struct torch_event *e = &events->events[i];
		uint32_t shapes = TORCH_NONE, stack = TORCH_NONE;

		if (e->is_duplicate)
			continue;
		if (wish->by_shapes)
			shapes = shapes_of(all, trace, e->side == TORCH_CPU ? e->op : NULL_ref, known);
		if (wish->stack)
			stack = stack_of(all, &known_stacks, &stacks, e, wish->stack);
		add_event(average_of(all, e, shapes, stack), events, e);
	}
	if (wish->stack)
		torch_stacks_end(&stacks);
	block_end(known);
	arena_end(&scratch);
}

/* ---- order ---- */

static double mean(double total, int64_t n)
{
	return n ? total / (double)n : 0;
}

/* One of PyTorch's keys; cuda, xpu and privateuse1 are words for device. */
static bool sort_value(const struct average *a, const char *key, double *out)
{
	static const char *const device_words[] = { "device_", "cuda_", "xpu_", "privateuse1_" };
	const bool is_self = strncmp(key, "self_", 5) == 0;
	bool is_device = false;

	if (strcmp(key, "count") == 0) {
		*out = (double)a->n;
		return true;
	}
	key += is_self ? 5 : 0;
	for (size_t i = 0; i < ARRAY_LEN(device_words) && !is_device; i++) {
		const size_t n = strlen(device_words[i]);

		is_device = strncmp(key, device_words[i], n) == 0;
		key += is_device ? n : 0;
	}
	if (!is_device && strncmp(key, "cpu_", 4) != 0)
		return false;
	key += is_device ? 0 : 4;
	if (strcmp(key, "time_total") == 0)
		*out = is_device ? (is_self ? a->self_device_us : a->device_us) : is_self ? a->self_cpu_us : a->cpu_us;
	else if (strcmp(key, "memory_usage") == 0)
		*out = (double)(is_device ? (is_self ? a->self_device_bytes : a->device_bytes)
					  : is_self ? a->self_cpu_bytes : a->cpu_bytes);
	else if (strcmp(key, "time") == 0 && !is_self)
		*out = mean(is_device ? a->device_us : a->cpu_us, a->n);
	else
		return false;
	return true;
}

struct rank_key {
	double value;
	size_t row;
};

static int compare_keys(const void *left, const void *right)
{
	const struct rank_key *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* Largest first; equal ones as they were first seen. */
static void sort_averages(struct averages *all, const char *key)
{
	struct rank_key *keys = block_take(all->n * sizeof(*keys));
	struct average *sorted = block_take(all->n * sizeof(*sorted));

	for (size_t i = 0; i < all->n; i++) {
		keys[i].row = i;
		keys[i].value = 0;
		(void)sort_value(&all->rows[i], key, &keys[i].value);
	}
	if (all->n > 0) {
		qsort(keys, all->n, sizeof(*keys), compare_keys);
		for (size_t i = 0; i < all->n; i++)
			sorted[i] = all->rows[keys[i].row];
		memcpy(all->rows, sorted, all->n * sizeof(*sorted));
	}
	block_end(keys);
	block_end(sorted);
}

/* ---- the sheet ---- */

static void widen(size_t *width, size_t n)
{
	if (*width < n)
		*width = n;
}

static struct torch_look *find_look(const struct averages *all, const struct torch_events *events,
				    const struct wish *wish, struct arena *arena)
{
	struct torch_look *look = arena_array(arena, struct torch_look, 1);

	look->has_memory = events->has_memory;
	look->max_name_width = wish->max_name_width;
	look->limit = wish->limit;
	for (size_t i = 0; i < all->n; i++) {
		const struct average *a = &all->rows[i];

		look->self_cpu_us += a->self_cpu_us;
		if (a->side == TORCH_DEVICE && !a->is_annotation)
			look->self_device_us += a->self_device_us;
		look->has_device_time |= a->self_device_us > 0;
		look->has_device_memory |= a->self_device_bytes > 0;
		if (a->flops > 0 && (look->smallest_flops <= 0 || a->flops < look->smallest_flops))
			look->smallest_flops = a->flops;
		widen(&look->name_width, torch_width(torch_name(events->trace, a->name)) + 4);
	}
	for (size_t i = 0; i < all->shapes.n; i++) {
		look->has_shapes |= all->shapes.keys[i].n > 2;
		widen(&look->shapes_width, torch_width(all->shapes.keys[i].p) + 4);
	}
	for (size_t i = 0; i < all->stacks.n; i++)
		for (const char *frame = all->stacks.keys[i].p; ; frame++) {
			const size_t n = strcspn(frame, ";");

			look->has_source |= n > 0;
			widen(&look->source_width, n + 4);
			if (!*(frame += n))
				break;
		}
	if (look->name_width > wish->max_name_width)
		look->name_width = wish->max_name_width;
	if (look->shapes_width > wish->max_shapes_width)
		look->shapes_width = wish->max_shapes_width;
	if (look->source_width > wish->max_source_width)
		look->source_width = wish->max_source_width;
	return look;
}

static struct cell share(double part, double whole)
{
	return whole != 0 ? cell_double(part * 100.0 / whole) : (struct cell){ CELL_NULL, { 0 } };
}

static const char *where(const struct average *a)
{
	if (a->side == TORCH_CPU)
		return a->is_annotation ? "CPU annotation" : "CPU";
	return a->is_annotation ? "CUDA annotation" : "CUDA";
}

static void fill_row(struct cell *row, const struct average *a, const struct averages *all,
		     const struct torch_look *look, const struct trace *trace)
{
	row[TORCH_NAME] = cell_text(torch_name(trace, a->name));
	row[TORCH_WHERE] = cell_text(where(a));
	row[TORCH_SELF_CPU_SHARE] = share(a->self_cpu_us, look->self_cpu_us);
	row[TORCH_SELF_CPU] = cell_double(a->self_cpu_us);
	row[TORCH_CPU_SHARE] = share(a->cpu_us, look->self_cpu_us);
	row[TORCH_CPU_TOTAL] = cell_double(a->cpu_us);
	row[TORCH_CPU_MEAN] = cell_double(mean(a->cpu_us, a->n));
	if (look->has_device_time) {
		row[TORCH_SELF_DEVICE] = cell_double(a->self_device_us);
		row[TORCH_SELF_DEVICE_SHARE] = share(a->self_device_us, look->self_device_us);
		row[TORCH_DEVICE_TOTAL] = cell_double(a->device_us);
		row[TORCH_DEVICE_MEAN] = cell_double(mean(a->device_us, a->n));
	}
	if (look->has_memory) {
		row[TORCH_CPU_BYTES] = cell_integer(a->cpu_bytes);
		row[TORCH_SELF_CPU_BYTES] = cell_integer(a->self_cpu_bytes);
		row[TORCH_DEVICE_BYTES] = cell_integer(a->device_bytes);
		row[TORCH_SELF_DEVICE_BYTES] = cell_integer(a->self_device_bytes);
	}
	row[TORCH_CALLS] = cell_integer(a->n);
	if (a->shapes != TORCH_NONE)
		row[TORCH_SHAPES] = cell_text(all->shapes.keys[a->shapes].p);
	if (a->stack != TORCH_NONE && all->stacks.keys[a->stack].n > 0)
		row[TORCH_SOURCE] = cell_text(all->stacks.keys[a->stack].p);
	if (a->flops > 0)
		row[TORCH_FLOPS] = cell_double(a->flops);
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args,
		struct sheet *out)
{
	struct wish wish = read_wish(args);
	struct arena scratch = { 0 };
	struct averages all = {
		.keys = { .arena = &scratch }, .shapes = { .arena = out->arena }, .stacks = { .arena = out->arena },
	};
	struct torch_events events;
	struct torch_look *look;
	bool has_device_time = false;

	(void)self;
	torch_events_begin(&events, trace, args, wish.rank);
	average(&all, &events, &wish);
	for (size_t i = 0; i < all.n; i++)
		has_device_time |= all.rows[i].self_device_us > 0;
	if (!wish.sort)
		wish.sort = has_device_time ? "device_time_total" : "cpu_time_total";
	if (strcmp(wish.sort, "none") != 0)
		sort_averages(&all, wish.sort);
	look = find_look(&all, &events, &wish, out->arena);
	for (size_t i = 0; i < all.n && (!wish.is_limit_said || i < wish.limit); i++)
		fill_row(sheet_add_row(out), &all.rows[i], &all, look, trace);
	out->print = torch_print;
	out->print_with = look;

	block_end(all.rows);
	block_end(all.stack_of);
	torch_events_end(&events);
	arena_end(&scratch);
}

static bool check(const struct report_args *args, struct err *err)
{
	static const struct average any;
	const char *key = read_wish(args).sort;
	double value;

	return !key || strcmp(key, "none") == 0 || sort_value(&any, key, &value) ||
	       fail(err, "sort=%s: no such key (self_cpu_time_total, device_time_total, cpu_memory_usage, count, none ...)",
		    key);
}

static const char *const aliases[] = { "key_averages", NULL };

static const struct need needs[] = {
	NEED(op), NEED(api), NEED(overhead), NEED(kernel), NEED(kernel_shape), NEED(memcpy), NEED(memset),
	NEED(gpu_annotation), NEED(memory), NEED(python_frame), NEED(thread), NEED(stream), NEED(process),
	NEED(source), NEED(fact),
};

const struct report report_torch_ops = {
	.name = "torch_ops",
	.title = "PyTorch Operators",
	.question = "Which framework operators take the time of the host and of the device?",
	.args = "shapes|stack=N|sort=KEY|limit=N|rank=N|name_width=N|shapes_width=N|source_width=N",
	.missing = "PyTorch operator data",
	.aliases = aliases,
	.needs = needs,
	.n_needs = ARRAY_LEN(needs),
	.n_required = 1,
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.check = check,
	.run = run,
};
