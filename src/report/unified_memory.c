/*
 * report/unified_memory.c - migrations and page faults of unified memory.
 *
 * Addresses are those of the source's rows, one line each; a row that merges
 * several faults counts as so many. Throughput is bytes × (10^9 / duration)
 * with an integer division, as Nsight Systems has it, over all migrations of an
 * address; it is the order of the lines. A size or a number of which there is
 * no row is NULL.
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

/* Adds without overflow; the first one makes a number of NULL. */
static void add(int64_t *sum, uint64_t more)
{
	if (more == NULL_u64)
		return;
	if (*sum == NULL_i64)
		*sum = 0;
	if (more > INT64_MAX || __builtin_add_overflow(*sum, (int64_t)more, sum))
		*sum = INT64_MAX;
}

static uint64_t fault_count(const struct page_fault_table *t, ref i)
{
	return t->n_faults[i] == NULL_i64 || t->n_faults[i] < 0 ? 1 : (uint64_t)t->n_faults[i];
}

/* What happened at one address, or at all; NULL_i64 for what did not. */
struct place {
	uint64_t address;
	int64_t to_device, to_host, cpu_faults, gpu_faults, migration_ns;
};

static const struct place nothing = { 0, NULL_i64, NULL_i64, NULL_i64, NULL_i64, NULL_i64 };

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

static struct cell address_cell(struct arena *arena, uint64_t address)
{
	return cell_text(arena_print(arena, "0x%llX", (unsigned long long)address));
}

/* ---- by address ---- */

struct places {
	struct arena *arena;
	struct names names;
	struct place *at;
	size_t n, room;
};

static struct place *find_place(struct places *places, uint64_t address)
{
	uint32_t number = names_number(&places->names, &address, sizeof(address));

	if (number < places->n)
		return &places->at[number];
	if (number >= places->room) {
		struct place *grown = arena_array(places->arena, struct place, places->room * 2 + 64);

		if (places->room)
			memcpy(grown, places->at, places->room * sizeof(*grown));
		places->at = grown;
		places->room = places->room * 2 + 64;
	}
	places->at[number] = nothing;
	places->at[number].address = address;
	places->n++;
	return &places->at[number];
}

/* Bytes per second, -1 where nothing moved in a time that can be told. */
static double throughput(const struct place *p)
{
	const double to_device = p->to_device == NULL_i64 ? 0 : (double)p->to_device;
	const double to_host = p->to_host == NULL_i64 ? 0 : (double)p->to_host;

	return p->migration_ns == NULL_i64 || p->migration_ns == 0 ? -1 :
	       (to_device + to_host) * (double)(1000000000 / p->migration_ns);
}

static int compare_places(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;
	const double x = throughput(a), y = throughput(b);

	if (x != y)
		return x > y ? -1 : 1;
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
	const size_t wanted = wanted_rows(args);
	struct arena scratch = { 0 };
	struct places places = { .arena = &scratch, .names = { .arena = &scratch } };

	(void)self;
	for (ref i = 0; i < trace->memcpy.n; i++)
		if (is_migration(trace->memcpy.kind[i]) && trace->memcpy.address[i] != NULL_u64 &&
		    is_in(args, trace->memcpy.start_ns[i], trace->memcpy.end_ns[i]))
			add_migration(trace, i, find_place(&places, trace->memcpy.address[i]));
	for (ref i = 0; i < trace->page_fault.n; i++)
		if (trace->page_fault.address[i] != NULL_u64 &&
		    is_in(args, trace->page_fault.start_ns[i], trace->page_fault.end_ns[i]))
			add_fault(trace, i, find_place(&places, trace->page_fault.address[i]));
	if (places.n > 1)
		qsort(places.at, places.n, sizeof(*places.at), compare_places);
	for (size_t i = 0; i < places.n && i < wanted; i++) {
		const struct place *p = &places.at[i];
		struct cell *row = sheet_add_row(out);

		row[0] = address_cell(out->arena, p->address);
		row[1] = cell_i64_or_null(p->to_device);
		row[2] = cell_i64_or_null(p->to_host);
		row[3] = cell_i64_or_null(p->cpu_faults);
		row[4] = cell_i64_or_null(p->gpu_faults);
		if (throughput(p) >= 0)
			row[5] = cell_double(throughput(p));
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
	struct place all = nothing;
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
	row[0] = cell_i64_or_null(all.to_device);
	row[1] = cell_i64_or_null(all.to_host);
	row[2] = cell_i64_or_null(all.cpu_faults);
	row[3] = cell_i64_or_null(all.gpu_faults);
	if (min <= max) {
		row[4] = address_cell(out->arena, min);
		row[5] = address_cell(out->arena, max);
	}
}

/* ---- faults of the CPU by instruction, as the source names it, and its line ---- */

struct instruction {
	const char *name, *file;
	int32_t line;
	int64_t n_faults;
};

static int compare_instructions(const void *pa, const void *pb)
{
	const struct instruction *a = pa, *b = pb;
	int order;

	if (a->n_faults != b->n_faults)
		return a->n_faults > b->n_faults ? -1 : 1;
	order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(a->file ? a->file : "", b->file ? b->file : "");
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static void run_instructions(const struct trace *trace, const struct report *self,
			     const struct report_args *args, struct sheet *out)
{
	const struct page_fault_table *t = &trace->page_fault;
	struct arena scratch = { 0 };
	struct names names = { .arena = &scratch }, places = { .arena = &scratch };
	struct instruction *by_place = arena_array(&scratch, struct instruction, t->n);

	(void)self;
	for (ref i = 0; i < t->n; i++) {
		const char *name = trace_text(trace, t->symbol[i]);
		uint32_t key[3], number;

		if (t->device_number[i] != NULL_i32 || !is_in(args, t->start_ns[i], t->end_ns[i]))
			continue;
		if (!name)
			name = t->instruction[i] == NULL_u64 ? "[Unknown]" :
			       arena_print(&scratch, "0x%llx", (unsigned long long)t->instruction[i]);
		key[0] = names_number(&names, name, strlen(name));
		key[1] = t->file[i];
		key[2] = (uint32_t)t->line[i];
		number = names_number(&places, key, sizeof(key));
		by_place[number].name = names.keys[key[0]].p;
		by_place[number].file = trace_text(trace, t->file[i]);
		by_place[number].line = t->line[i];
		add(&by_place[number].n_faults, fault_count(t, i));
	}
	if (places.n > 1)
		qsort(by_place, places.n, sizeof(*by_place), compare_instructions);
	for (size_t i = 0; i < places.n; i++) {
		struct cell *row = sheet_add_row(out);

		row[0] = cell_integer(by_place[i].n_faults);
		row[1] = cell_text(arena_copy(out->arena, by_place[i].name, strlen(by_place[i].name)));
		row[2] = cell_text(by_place[i].file);
		row[3] = cell_i32_or_null(by_place[i].line);
	}
	arena_end(&scratch);
}

#define NEED_MIGRATIONS { TABLE_memcpy, BIT(memcpy, start_ns) | BIT(memcpy, end_ns) | BIT(memcpy, bytes) | \
			  BIT(memcpy, kind) | BIT(memcpy, address) }
#define NEED_FAULTS { TABLE_page_fault, BIT(page_fault, start_ns) | BIT(page_fault, end_ns) | \
		      BIT(page_fault, device_number) | BIT(page_fault, address) | BIT(page_fault, n_faults) }

static const struct need needs[] = { NEED_MIGRATIONS, NEED_FAULTS };
static const struct need instruction_needs[] = {
	NEED_FAULTS, { TABLE_page_fault, BIT(page_fault, instruction) | BIT(page_fault, symbol) |
				       BIT(page_fault, file) | BIT(page_fault, line) }
};

/* Titles are those of Nsight Systems to the letter, and to the space. */
static const struct sheet_column columns[] = {
	{ "address", "Virtual Address", UNIT_TEXT },
	{ "to_device_bytes", "HtoD Migration size", UNIT_BYTES },
	{ "to_host_bytes", "DtoH Migration size", UNIT_BYTES },
	{ "cpu_faults", "CPU Page Faults", UNIT_COUNT },
	{ "gpu_faults", " GPU Page Faults", UNIT_COUNT },
	{ "throughput", "Migration Throughput", UNIT_RATE },
};
static const struct sheet_column total_columns[] = {
	{ "to_device_bytes", "Total HtoD Migration Size", UNIT_BYTES },
	{ "to_host_bytes", "Total DtoH Migration Size", UNIT_BYTES },
	{ "cpu_faults", "Total CPU Page Faults", UNIT_COUNT },
	{ "gpu_faults", "Total GPU PageFaults", UNIT_COUNT },
	{ "min_address", "Minimum Virtual Address", UNIT_TEXT },
	{ "max_address", "Maximum Virtual Address", UNIT_TEXT },
};
static const struct sheet_column instruction_columns[] = {
	{ "cpu_faults", "CPU Page Faults", UNIT_COUNT },
	{ "instruction", "CPU Instruction Address", UNIT_TEXT },
	{ "file", "Source File", UNIT_TEXT },
	{ "line", "Source Line", UNIT_ID },
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
