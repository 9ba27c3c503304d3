/* analysis/compare/conditions.c - what the trace of a run tells of how it came about, and whether two sides agree. */
#include "analysis/compare/conditions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/scope/scope.h"
#include "base/text.h"

/* Rows lost of rows read from which on a side is marked. */
static const double most_loss = 0.001;

const struct condition_def condition_defs[N_CONDITIONS] = {
#define CONDITION_DEF(word, name, blocks, doc) [CONDITION_##word] = { name, doc, blocks },
	CONDITIONS(CONDITION_DEF)
#undef CONDITION_DEF
};

enum condition condition_find(const char *name)
{
	for (size_t i = 0; i < N_CONDITIONS; i++)
		if (strcmp(condition_defs[i].name, name) == 0)
			return (enum condition)i;
	return N_CONDITIONS;
}

const char *match_name(enum match match)
{
	static const char *const names[] = {
		[MATCH_SAME] = "same", [MATCH_UNKNOWN] = "unknown", [MATCH_WARNS] = "warns", [MATCH_BLOCKS] = "blocks",
		[MATCH_CHANGED] = "changed",
	};

	return names[match];
}

/* ---- lists of words, each once ---- */

struct set {
	const char **word;
	size_t n, room;
};

static void add(struct set *set, const char *word, struct arena *arena)
{
	if (!word || !*word)
		return;
	if (set->n == set->room) {
		const char **grown = arena_array(arena, const char *, set->room ? set->room * 2 : 16);

		if (set->n)
			memcpy(grown, set->word, set->n * sizeof(*grown));
		set->word = grown;
		set->room = set->room ? set->room * 2 : 16;
	}
	set->word[set->n++] = word;
}

static int by_text(const void *pa, const void *pb)
{
	return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

/* All words in order, each once; NULL for none. */
static const char *join(struct set *set, const char *between, struct arena *arena)
{
	struct text out = { 0 };
	const char *joined = NULL;

	if (set->n > 1)
		qsort(set->word, set->n, sizeof(*set->word), by_text);
	for (size_t i = 0; i < set->n; i++)
		if (i == 0 || strcmp(set->word[i], set->word[i - 1]) != 0)
			text_print(&out, "%s%s", out.n ? between : "", set->word[i]);
	if (out.n)
		joined = arena_copy(arena, out.p, out.n);
	text_end(&out);
	return joined;
}

/* ---- facts ---- */

/* A fact that says something, by the end of its name: PROCESS_0:COMMAND ends in COMMAND. */
struct told {
	const char *scope, *name;
	bool is_end; /* only the name's end has to agree */
	enum condition condition;
	const char *label; /* put before the value, or NULL */
};

/* Before the version of CUDA that the driver knows, beside that of the runtime; words in order, so it stands last. */
static const char by_driver[] = "driver's ", between_words[] = ", ";

static const struct told told[] = {
	{ "TARGET_INFO_SYSTEM_ENV", "NvDriverVersion", false, CONDITION_DRIVER, NULL },
	{ "TARGET_INFO_SYSTEM_ENV", "CudaDriverVersion", false, CONDITION_CUDA, by_driver },
	{ "metadata", "cuda_driver_version", false, CONDITION_CUDA, by_driver },
	{ "metadata", "cuda_runtime_version", false, CONDITION_CUDA, "" },
	{ "metadata", "cupti_version", false, CONDITION_PROFILER, "CUPTI " },
	{ "collector", "CUPTI version", false, CONDITION_PROFILER, "CUPTI " },
	{ "distributedInfo", "nccl_version", false, CONDITION_NCCL, "" },
	{ "metadata", "record_shapes", false, CONDITION_OPTIONS, "record_shapes " },
	{ "metadata", "profile_memory", false, CONDITION_OPTIONS, "profile_memory " },
	{ "metadata", "with_stack", false, CONDITION_OPTIONS, "with_stack " },
	{ "metadata", "with_flops", false, CONDITION_OPTIONS, "with_flops " },
	{ "metadata", "with_modules", false, CONDITION_OPTIONS, "with_modules " },
	{ "META_DATA_CAPTURE", "CAPTURE_EVENT_TYPE", false, CONDITION_OPTIONS, "" },
	{ "META_DATA_CAPTURE", ":CUDA_GRAPH_TRACE_OPTIONS:MODE", true, CONDITION_OPTIONS, "graphs by " },
	{ "META_DATA_CAPTURE", ":COLLECT_GPU_MEMORY_USAGE", true, CONDITION_OPTIONS, "memory " },
	{ "META_DATA_CAPTURE", ":CUDA_SKIP_SOME_API_CALLS", true, CONDITION_OPTIONS, "skip some calls " },
	{ "META_DATA_CAPTURE", "LINUX_PERF_OPTIONS:SAMPLING_PERIOD", false, CONDITION_OPTIONS, "sampling period " },
	{ "META_DATA_CAPTURE", "LINUX_PERF_OPTIONS:COLLECT_CPU_CTXSW_TRACE", false, CONDITION_OPTIONS,
	  "context switches " },
	{ "META_DATA_CAPTURE", "OS_RUNTIME_OPTIONS:COLLECT_BACKTRACES", false, CONDITION_OPTIONS, "OS backtraces " },
	{ "profile", "graph trace", false, CONDITION_OPTIONS, "graphs by " },
};

/* Variables that tell a process of a job from its neighbours, or one job from the next. */
static const char *const places[] = {
	"RANK", "LOCAL_RANK", "GROUP_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "SLURM_JOB_ID",
	"CUDA_VISIBLE_DEVICES", "NCCL_DEBUG",
};

static bool is_place(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (strcmp(name, places[i]) == 0)
			return true;
	return false;
}

static bool is_variable(const char *name)
{
	return *name && name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

struct gathering {
	struct set of[N_CONDITIONS];
	struct set arguments;       /* command lines of Nsight Systems, a word each */
	const char *attached;       /* command of a process, where no command was given to the profiler */
	struct arena *arena;
};

static void take_fact(struct gathering *g, const char *scope, const char *name, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		const struct told *t = &told[i];

		if (strcmp(scope, t->scope) == 0 && (t->is_end ? ends_with(name, t->name) : strcmp(name, t->name) == 0))
			add(&g->of[t->condition],
			    t->label && *value ? arena_print(g->arena, "%s%s", t->label, value) : value, g->arena);
	}
	if (strcmp(scope, "profile") == 0) {
		if (strcmp(name, "command") == 0)
			add(&g->of[CONDITION_COMMAND], value, g->arena);
		else if (is_variable(name) && !is_place(name))
			add(&g->of[CONDITION_CONFIGURATION], arena_print(g->arena, "%s=%s", name, value), g->arena);
	} else if (strcmp(scope, "process") == 0 && strcmp(name, "command") == 0 && !g->attached) {
		g->attached = value;
	} else if (strcmp(scope, "META_DATA_CAPTURE") == 0 && strncmp(name, "PROCESS_", 8) == 0) {
		if (ends_with(name, ":COMMAND") || strstr(name, ":ARGUMENT_"))
			add(&g->arguments, value, g->arena); /* in their order: the source lists them so */
	}
}

static void take_facts(struct gathering *g, const struct trace *t)
{
	struct text line = { 0 };

	for (size_t i = 0; i < t->fact.n; i++) {
		const char *scope = trace_text(t, t->fact.scope[i]), *name = trace_text(t, t->fact.name[i]);
		const char *value = trace_text(t, t->fact.value[i]);

		if (scope && name && value)
			take_fact(g, scope, name, value);
	}
	for (size_t i = 0; i < g->arguments.n; i++)
		text_print(&line, "%s%s", i ? " " : "", g->arguments.word[i]);
	if (line.n)
		add(&g->of[CONDITION_COMMAND], arena_copy(g->arena, line.p, line.n), g->arena);
	if (!g->of[CONDITION_COMMAND].n)
		add(&g->of[CONDITION_COMMAND], g->attached, g->arena);
	text_end(&line);
}

/* ---- tables ---- */

static void take_sources(struct gathering *g, const struct trace *t)
{
	for (size_t i = 0; i < t->source.n; i++) {
		add(&g->of[CONDITION_PROFILER], trace_text(t, t->source.producer[i]), g->arena);
		add(&g->of[CONDITION_HOST], trace_text(t, t->source.host[i]), g->arena);
		if (t->source.world[i] != NULL_i32)
			add(&g->of[CONDITION_WORLD], arena_print(g->arena, "%d", t->source.world[i]), g->arena);
		if (t->source.rank[i] != NULL_i32)
			add(&g->of[CONDITION_RANKS], arena_print(g->arena, "%d", t->source.rank[i]), g->arena);
	}
}

static void take_devices(struct gathering *g, const struct trace *t, const struct timeline *tl)
{
	size_t n = 0;

	for (size_t i = 0; i < tl->n_devices; i++) {
		const ref d = tl->devices[i].device;
		const char *name = d == NULL_ref ? NULL : trace_text(t, t->device.name[d]);

		n += tl->devices[i].n_ops > 0;
		if (!name || tl->devices[i].n_ops == 0)
			continue;
		if (t->device.n_sms[d] != NULL_i32)
			name = arena_print(g->arena, "%s, %d SMs", name, t->device.n_sms[d]);
		if (t->device.memory_bytes[d] != NULL_i64)
			name = arena_print(g->arena, "%s, %.0f GB", name, (double)t->device.memory_bytes[d] / 1e9);
		add(&g->of[CONDITION_DEVICE], name, g->arena);
	}
	if (n)
		add(&g->of[CONDITION_DEVICES], arena_print(g->arena, "%zu", n), g->arena);
}

static void take_loss(struct gathering *g, const struct trace *t)
{
	uint64_t read = 0, lost = 0;

	for (size_t i = 0; i < t->coverage.n; i++) {
		if (t->coverage.n_read[i] != NULL_u64 && __builtin_add_overflow(read, t->coverage.n_read[i], &read))
			read = UINT64_MAX;
		if (t->coverage.n_lost[i] != NULL_u64 && __builtin_add_overflow(lost, t->coverage.n_lost[i], &lost))
			lost = UINT64_MAX;
	}
	for (size_t i = 0; i < t->loss.n; i++) {
		const char *kind = trace_text(t, t->loss.kind[i]);

		/* What never came, and so is in no coverage. */
		if (kind && (strcmp(kind, "dropped") == 0 || strcmp(kind, "missing_kernels") == 0) &&
		    t->loss.amount[i] != NULL_u64 && __builtin_add_overflow(lost, t->loss.amount[i], &lost))
			lost = UINT64_MAX;
	}
	if (read == 0 && lost == 0)
		return;
	add(&g->of[CONDITION_LOSS],
	    (double)lost <= most_loss * ((double)read + (double)lost) ? "at most 0.1 %" :
	    arena_print(g->arena, "%.1f %%", 100 * (double)lost / ((double)read + (double)lost)), g->arena);
}

static const char *boundary_of(const struct scope *scope, struct arena *arena)
{
	if (scope->kind == SCOPE_GIVEN)
		return "the window that was asked for";
	if (scope->kind == SCOPE_PROFILER)
		return "cudaProfilerStart to cudaProfilerStop";
	if (scope->kind == SCOPE_CAPTURE)
		return "the whole capture";
	switch (scope->source) {
	case STEPS_PROFILER: return "completion of ProfilerStep";
	case STEPS_RANGE: return arena_print(arena, "completion of range %s", scope->step_name ? scope->step_name : "");
	case STEPS_GRAPH: return "completion of launches of a graph";
	case STEPS_PERIOD: return "period of the kernels";
	default: return "the whole capture";
	}
}

/* Steps that hold start-up work and count all the same make a cold run. */
static const char *warmth_of(const struct scope *scope)
{
	for (size_t i = 0; i < scope->n_steps; i++)
		if (scope->steps[i].flags & STEP_WARM_UP && scope_uses(scope, i))
			return "cold";
	return scope->n_steps ? "warm" : scope->kind == SCOPE_CAPTURE ? "with start-up" : NULL;
}

bool conditions_of(struct conditions *out, struct trace *trace, const struct timeline *tl, const struct scope *scope,
		   struct arena *arena, struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_fact, BIT(fact, scope) | BIT(fact, name) | BIT(fact, value) },
		{ TABLE_source, BIT(source, producer) | BIT(source, host) | BIT(source, rank) | BIT(source, world) },
		{ TABLE_device, BIT(device, name) | BIT(device, n_sms) | BIT(device, memory_bytes) },
		{ TABLE_coverage, BIT(coverage, n_read) | BIT(coverage, n_lost) },
		{ TABLE_loss, BIT(loss, kind) | BIT(loss, amount) },
	};
	struct arena scratch = { 0 };
	struct gathering *g = arena_take(&scratch, sizeof(*g));

	*out = (struct conditions){ 0 };
	if (!trace_need(trace, needs, ARRAY_LEN(needs), err)) {
		arena_end(&scratch);
		return false;
	}
	g->arena = &scratch;
	take_facts(g, trace);
	take_sources(g, trace);
	take_devices(g, trace, tl);
	take_loss(g, trace);
	add(&g->of[CONDITION_BOUNDARY], boundary_of(scope, &scratch), &scratch);
	add(&g->of[CONDITION_WARM_UP], warmth_of(scope), &scratch);
	for (size_t i = 0; i < N_CONDITIONS; i++)
		out->value[i] = join(&g->of[i], between_words, arena);
	arena_end(&scratch);
	return true;
}

/* ---- sides ---- */

struct conditions conditions_join(const struct conditions *const *runs, size_t n, struct arena *arena)
{
	struct conditions out = { 0 };

	for (size_t c = 0; c < N_CONDITIONS; c++) {
		struct set set = { 0 };
		size_t n_known = 0;

		for (size_t r = 0; r < n; r++) {
			const char *value = runs[r]->value[c], *first = runs[0]->value[c];

			n_known += value != NULL;
			out.is_mixed[c] |=
				runs[r]->is_mixed[c] || (value && first ? strcmp(value, first) != 0 : value != first);
			add(&set, value, arena);
		}
		if (n_known && n_known < n)
			add(&set, "not known of some runs", arena);
		out.value[c] = join(&set, "; ", arena);
	}
	return out;
}

/* Bytes of the runtime's versions, which stand before the driver's. */
static size_t runtime_length(const char *cuda, const char *driver)
{
	return !driver ? strlen(cuda) : driver == cuda ? 0 : (size_t)(driver - cuda) - strlen(between_words);
}

/* Recorders tell the version of the runtime, that of the driver, or both: it is the same as far as both sides tell. */
static bool is_one_cuda(const char *a, const char *b)
{
	const char *driver_a = strstr(a, by_driver), *driver_b = strstr(b, by_driver);
	const size_t n_a = runtime_length(a, driver_a), n_b = runtime_length(b, driver_b);
	const bool have_runtime = n_a && n_b, have_driver = driver_a && driver_b;

	return (have_runtime || have_driver) && (!have_runtime || (n_a == n_b && memcmp(a, b, n_a) == 0)) &&
	       (!have_driver || strcmp(driver_a, driver_b) == 0);
}

void conditions_match(const struct conditions *before, const struct conditions *after,
		      const bool changed[N_CONDITIONS], struct condition_match out[N_CONDITIONS])
{
	for (size_t c = 0; c < N_CONDITIONS; c++) {
		const char *a = before->value[c], *b = after->value[c];
		const bool is_mixed = before->is_mixed[c] || after->is_mixed[c];

		out[c] = (struct condition_match){ a, b, MATCH_SAME };
		if (!a && !b)
			out[c].match = MATCH_UNKNOWN;
		else if (c == CONDITION_CUDA && a && b && !is_mixed && is_one_cuda(a, b))
			continue;
		else if (!a || !b || is_mixed || strcmp(a, b) != 0)
			out[c].match = changed[c]                 ? MATCH_CHANGED
				       : condition_defs[c].blocks ? MATCH_BLOCKS
								  : MATCH_WARNS;
	}
	/* Rows that are missing on one side or on both make times of events uncertain alike. */
	if (out[CONDITION_LOSS].match == MATCH_SAME && strcmp(out[CONDITION_LOSS].before, "at most 0.1 %") != 0)
		out[CONDITION_LOSS].match = MATCH_WARNS;
}
