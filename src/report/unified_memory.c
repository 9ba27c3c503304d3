/*
 * report/unified_memory.c - migrations and page faults of unified memory.
 *
 * Unproven: written after the documentation of the original, for want of a
 * capture with unified memory in it. Addresses are those of the source's rows;
 * a row that merges several faults counts as so many.
 */
#include <stdlib.h>
#include <string.h>

#include "query/names.h"
#include "query/stats.h"
#include "report/kernel_name.h"
#include "report/rows.h"

static bool is_migration(uint8_t kind)
{
	return kind == MEMCPY_UVM_HTOD || kind == MEMCPY_UVM_DTOH;
}

static bool is_in(const struct report_args *args, int64_t start_ns, int64_t end_ns)
{
	struct window window = { args->from_ns, args->to_ns };

	return window_touches(window, start_ns, end_ns == NULL_i64 ? start_ns : end_ns);
}

/* Adds without overflow. */
static void add(int64_t *sum, uint64_t more)
{
	if (more == NULL_u64)
		return;
	if (more > INT64_MAX || __builtin_add_overflow(*sum, (int64_t)more, sum))
		*sum = INT64_MAX;
}

static uint64_t fault_count(const struct page_fault_table *t, ref i)
{
	return t->n_faults[i] == NULL_i64 || t->n_faults[i] < 0 ? 1 : (uint64_t)t->n_faults[i];
}

/* What happened at one address, or at all. */
struct place {
	uint64_t address;
	int64_t to_device, to_host, cpu_faults, gpu_faults, migration_ns;
};

static void add_migration(const struct trace *trace, ref i, struct place *p)
{
	const struct memcpy_table *m = &trace->memcpy;
	int64_t ns = duration_ns(m->start_ns[i], m->end_ns[i]);

	add(m->kind[i] == MEMCPY_UVM_HTOD ? &p->to_device : &p->to_host, m->bytes[i]);
	add(&p->migration_ns, ns > 0 ? (uint64_t)ns : 0);
}

static void add_fault(const struct trace *trace, ref i, struct place *p)
{
	const struct page_fault_table *t = &trace->page_fault;

	add(t->device_number[i] == NULL_i32 ? &p->cpu_faults : &p->gpu_faults, fault_count(t, i));
}

/* ---- by address ---- */

struct places {
	struct arena *arena;
	struct names names;
	struct place *at;
	size_t room;
};

static struct place *find_place(struct places *places, uint64_t address)
{
	uint32_t number = names_number(&places->names, &address, sizeof(address));

	if (number >= places->room) {
		struct place *grown = arena_array(places->arena, struct place, places->room * 2 + 64);

		if (places->room)
			memcpy(grown, places->at, places->room * sizeof(*grown));
		places->at = grown;
		places->room = places->room * 2 + 64;
	}
	places->at[number].address = address;
	return &places->at[number];
}

static int compare_places(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;
	double x = (double)a->to_device + (double)a->to_host, y = (double)b->to_device + (double)b->to_host;

	if (x != y)
		return x > y ? -1 : 1;
	if (a->cpu_faults + (double)a->gpu_faults != b->cpu_faults + (double)b->gpu_faults)
		return a->cpu_faults + (double)a->gpu_faults > b->cpu_faults + (double)b->gpu_faults ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* The number of rows=N, 10 when it is not given, all when it is negative. */
static size_t wanted_rows(const struct report_args *args)
{
	for (size_t i = 0; i < args->n_words; i++)
		if (strncmp(args->words[i], "rows=", 5) == 0) {
			long n = strtol(args->words[i] + 5, NULL, 10);

			return n < 0 ? SIZE_MAX : (size_t)n;
		}
	return 10;
}

static void run_by_address(const struct trace *trace, const struct report *self, const struct report_args *args,
			   struct sheet *out)
{
	struct arena scratch = { 0 };
	struct places places = { .arena = &scratch, .names = { .arena = &scratch } };
	size_t n;

	(void)self;
	for (ref i = 0; i < trace->memcpy.n; i++)
		if (is_migration(trace->memcpy.kind[i]) && trace->memcpy.address[i] != NULL_u64 &&
		    is_in(args, trace->memcpy.start_ns[i], trace->memcpy.end_ns[i]))
			add_migration(trace, i, find_place(&places, trace->memcpy.address[i]));
	for (ref i = 0; i < trace->page_fault.n; i++)
		if (trace->page_fault.address[i] != NULL_u64 &&
		    is_in(args, trace->page_fault.start_ns[i], trace->page_fault.end_ns[i]))
			add_fault(trace, i, find_place(&places, trace->page_fault.address[i]));
	n = places.names.n;
	if (n > 1)
		qsort(places.at, n, sizeof(*places.at), compare_places);
	for (size_t i = 0; i < n && i < wanted_rows(args); i++) {
		const struct place *p = &places.at[i];
		struct cell *row = sheet_add_row(out);

		row[0] = cell_text(arena_print(out->arena, "0x%llx", (unsigned long long)p->address));
		row[1] = cell_integer(p->to_device);
		row[2] = cell_integer(p->to_host);
		row[3] = cell_integer(p->cpu_faults);
		row[4] = cell_integer(p->gpu_faults);
		if (p->migration_ns)
			row[5] = cell_double(((double)p->to_device + (double)p->to_host) * 1e9 /
					     (double)p->migration_ns);
	}
	arena_end(&scratch);
}

/* ---- in all ---- */

static void widen_addresses(uint64_t address, uint64_t *min, uint64_t *max)
{
	if (address == NULL_u64)
		return;
	*min = address < *min ? address : *min;
	*max = address > *max ? address : *max;
}

static void run_total(const struct trace *trace, const struct report *self, const struct report_args *args,
		      struct sheet *out)
{
	struct place all = { 0 };
	uint64_t min = UINT64_MAX, max = 0;
	size_t n = 0;
	struct cell *row;

	(void)self;
	for (ref i = 0; i < trace->memcpy.n; i++) {
		if (!is_migration(trace->memcpy.kind[i]) ||
		    !is_in(args, trace->memcpy.start_ns[i], trace->memcpy.end_ns[i]))
			continue;
		add_migration(trace, i, &all);
		widen_addresses(trace->memcpy.address[i], &min, &max);
		n++;
	}
	for (ref i = 0; i < trace->page_fault.n; i++) {
		if (!is_in(args, trace->page_fault.start_ns[i], trace->page_fault.end_ns[i]))
			continue;
		add_fault(trace, i, &all);
		widen_addresses(trace->page_fault.address[i], &min, &max);
		n++;
	}
	if (n == 0)
		return;
	row = sheet_add_row(out);
	row[0] = cell_integer(all.to_device);
	row[1] = cell_integer(all.to_host);
	row[2] = cell_integer(all.cpu_faults);
	row[3] = cell_integer(all.gpu_faults);
	if (min <= max) {
		row[4] = cell_text(arena_print(out->arena, "0x%llx", (unsigned long long)min));
		row[5] = cell_text(arena_print(out->arena, "0x%llx", (unsigned long long)max));
	}
}

/* ---- faults of the CPU by instruction ---- */

struct instruction {
	const char *name;
	int64_t n_faults;
};

static int compare_instructions(const void *pa, const void *pb)
{
	const struct instruction *a = pa, *b = pb;

	if (a->n_faults != b->n_faults)
		return a->n_faults > b->n_faults ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void run_instructions(const struct trace *trace, const struct report *self,
			     const struct report_args *args, struct sheet *out)
{
	const struct page_fault_table *t = &trace->page_fault;
	struct arena scratch = { 0 };
	struct names names = { .arena = &scratch };
	struct instruction *by_name = arena_array(&scratch, struct instruction, t->n);

	(void)self;
	for (ref i = 0; i < t->n; i++) {
		const char *name = trace_text(trace, t->symbol[i]);
		uint32_t number;

		if (t->device_number[i] != NULL_i32 || !is_in(args, t->start_ns[i], t->end_ns[i]))
			continue;
		if (!name)
			name = t->instruction[i] == NULL_u64 ? "[Unknown]" :
			       arena_print(&scratch, "0x%llx", (unsigned long long)t->instruction[i]);
		number = names_number(&names, name, strlen(name));
		by_name[number].name = names.keys[number].p;
		add(&by_name[number].n_faults, fault_count(t, i));
	}
	if (names.n > 1)
		qsort(by_name, names.n, sizeof(*by_name), compare_instructions);
	for (size_t i = 0; i < names.n; i++) {
		struct cell *row = sheet_add_row(out);

		row[0] = cell_integer(by_name[i].n_faults);
		row[1] = cell_text(arena_copy(out->arena, by_name[i].name, strlen(by_name[i].name)));
	}
	arena_end(&scratch);
}

#define NEED_MIGRATIONS { TABLE_memcpy, BIT(memcpy, start_ns) | BIT(memcpy, end_ns) | BIT(memcpy, bytes) | \
			  BIT(memcpy, kind) | BIT(memcpy, address) }
#define NEED_FAULTS { TABLE_page_fault, BIT(page_fault, start_ns) | BIT(page_fault, end_ns) | \
		      BIT(page_fault, device_number) | BIT(page_fault, address) | BIT(page_fault, n_faults) }

static const struct need needs[] = { NEED_MIGRATIONS, NEED_FAULTS };
static const struct need instruction_needs[] = {
	NEED_FAULTS, { TABLE_page_fault, BIT(page_fault, instruction) | BIT(page_fault, symbol) }
};

static const struct sheet_column columns[] = {
	{ "address", "Virtual Address", UNIT_TEXT },
	{ "to_device_bytes", "HtoD Migration Size", UNIT_BYTES },
	{ "to_host_bytes", "DtoH Migration Size", UNIT_BYTES },
	{ "cpu_faults", "CPU Page Faults", UNIT_COUNT },
	{ "gpu_faults", "GPU Page Faults", UNIT_COUNT },
	{ "throughput", "Migration Throughput", UNIT_RATE },
};
static const struct sheet_column total_columns[] = {
	{ "to_device_bytes", "Total HtoD Migration Size", UNIT_BYTES },
	{ "to_host_bytes", "Total DtoH Migration Size", UNIT_BYTES },
	{ "cpu_faults", "Total CPU Page Faults", UNIT_COUNT },
	{ "gpu_faults", "Total GPU Page Faults", UNIT_COUNT },
	{ "min_address", "Minimum Virtual Address", UNIT_TEXT },
	{ "max_address", "Maximum Virtual Address", UNIT_TEXT },
};
static const struct sheet_column instruction_columns[] = {
	{ "cpu_faults", "CPU Page Faults", UNIT_COUNT },
	{ "instruction", "CPU Instruction Address", UNIT_TEXT },
};

static const char *const aliases[] = { "umsum", NULL };
static const char *const total_aliases[] = { "umtotalsum", NULL };
static const char *const instruction_aliases[] = { "umcpupagefaults", "umcpupagefaultssum", NULL };

const struct report report_um_sum = {
	.name = "um_sum", .title = "Unified Memory Analysis Summary",
	.question = "which addresses of unified memory move between host and device?",
	.args = "[:rows=10]", .aliases = aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 2,
	.columns = columns, .n_columns = ARRAY_LEN(columns), .run = run_by_address,
};

const struct report report_um_total_sum = {
	.name = "um_total_sum", .title = "Unified Memory Totals Summary",
	.question = "how much of unified memory moves between host and device?", .aliases = total_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 2,
	.columns = total_columns, .n_columns = ARRAY_LEN(total_columns), .run = run_total,
};

const struct report report_um_cpu_page_faults_sum = {
	.name = "um_cpu_page_faults_sum", .title = "Unified Memory CPU Page Faults Summary",
	.question = "which instructions of the host fault on unified memory?", .aliases = instruction_aliases,
	.needs = instruction_needs, .n_needs = ARRAY_LEN(instruction_needs), .n_required = 1,
	.columns = instruction_columns, .n_columns = ARRAY_LEN(instruction_columns), .run = run_instructions,
};
