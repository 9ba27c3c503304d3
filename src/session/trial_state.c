/*
 * session/trial_state.c - the machine before and after a run: what moves times
 * without the program having changed. GPUs are asked through NVML, which a
 * child process opens, if it is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "session/machine.h"
#include "session/trial.h"

enum { NVML_SUCCESS = 0, CLOCK_SM = 1, POLICY_POWER = 0, POLICY_THERMAL = 1, MOST_GPUS = 64, MOST_PROCESSES = 64 };

/* The driver counts both in its own units. */
struct nvml_violation {
	unsigned long long reference_us, violation_ns;
};

struct nvml_process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};

#define NVML(_)                                                                                                        \
	_(nvmlInit_v2, (void))                                                                                         \
	_(nvmlSystemGetDriverVersion, (char *, unsigned)) _(nvmlDeviceGetCount_v2, (unsigned *))                       \
		_(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **)) _(nvmlDeviceGetName, (void *, char *, unsigned)) \
			_(nvmlDeviceGetMaxClockInfo, (void *, int, unsigned *)) _(nvmlDeviceGetEnforcedPowerLimit,     \
										  (void *, unsigned *))                \
				_(nvmlDeviceGetTemperature, (void *, int, unsigned *)) _(                              \
					nvmlDeviceGetCurrentClocksThrottleReasons, (void *, unsigned long long *))     \
					_(nvmlDeviceGetViolationStatus, (void *, int, struct nvml_violation *))        \
						_(nvmlDeviceGetComputeRunningProcesses_v3,                             \
						  (void *, unsigned *, struct nvml_process *))

#define FIELD(name, types) int (*name) types;
static struct { NVML(FIELD) } nvml;

/* What a driver without the function says: not supported. */
#define CALL(name, ...) (nvml.name ? nvml.name(__VA_ARGS__) : 3)

static void add(struct machine *m, const char *name, const char *value)
{
	machine_add(m, (struct machine_line){ "state", name, "", value, NULL, NULL });
}

/* ---- in the child ---- */

/* Bits of NVML that slow a device down against its will; idle and set clocks are none. */
static const struct {
	unsigned long long bits;
	const char *word;
} reasons[] = { { 0x4 | 0x80, "power" }, { 0x20 | 0x40, "heat" }, { 0x8, "hardware" } };

static void tell_device(struct machine *m, void *device)
{
	char name[96] = "";
	unsigned most = 0, limit = 0, temperature = 0;
	unsigned long long why = 0;
	struct nvml_violation power = { 0, 0 }, heat = { 0, 0 };

	if (CALL(nvmlDeviceGetName, device, name, sizeof(name)) == NVML_SUCCESS)
		add(m, "device", name);
	/* Not the clock of this instant: it falls as soon as the device is idle. */
	CALL(nvmlDeviceGetMaxClockInfo, device, CLOCK_SM, &most);
	CALL(nvmlDeviceGetEnforcedPowerLimit, device, &limit);
	if (most || limit)
		add(m, "clocks", arena_print(m->arena, "up to %u MHz, %u W", most, limit / 1000));
	if (CALL(nvmlDeviceGetTemperature, device, 0, &temperature) == NVML_SUCCESS)
		add(m, "temperature", arena_print(m->arena, "%u", temperature));
	if (CALL(nvmlDeviceGetCurrentClocksThrottleReasons, device, &why) == NVML_SUCCESS) {
		for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
			if (why & reasons[i].bits)
				add(m, "throttle", reasons[i].word);
		add(m, "throttle known", "1");
	}
	if (CALL(nvmlDeviceGetViolationStatus, device, POLICY_POWER, &power) == NVML_SUCCESS &&
	    CALL(nvmlDeviceGetViolationStatus, device, POLICY_THERMAL, &heat) == NVML_SUCCESS)
		add(m, "throttled", arena_print(m->arena, "%llu", power.violation_ns + heat.violation_ns));
}

static void tell_processes(struct machine *m, void *device)
{
	struct nvml_process list[MOST_PROCESSES];
	unsigned n = MOST_PROCESSES;

	if (CALL(nvmlDeviceGetComputeRunningProcesses_v3, device, &n, list) != NVML_SUCCESS || n > MOST_PROCESSES)
		return;
	add(m, "others known", "1");
	for (unsigned i = 0; i < n; i++) {
		const char *comm = machine_read(m, arena_print(m->arena, "/proc/%u/comm", list[i].pid));

		add(m, "others", comm ? comm : "a process of another container");
	}
}

static void ask(struct machine *m, const char *what)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *device;
	char version[96] = "";
	unsigned n = 0;

	(void)what;
	if (!library)
		return;
#define FIND(name, types) *(void **)&nvml.name = dlsym(library, #name);
	NVML(FIND)
	if (CALL(nvmlInit_v2) != NVML_SUCCESS)
		return;
	if (CALL(nvmlSystemGetDriverVersion, version, sizeof(version)) == NVML_SUCCESS)
		add(m, "driver", version);
	if (CALL(nvmlDeviceGetCount_v2, &n) != NVML_SUCCESS)
		return;
	for (unsigned i = 0; i < n && i < MOST_GPUS; i++)
		if (CALL(nvmlDeviceGetHandleByIndex_v2, i, &device) == NVML_SUCCESS) {
			tell_device(m, device);
			tell_processes(m, device);
		}
}

/* ---- what it told ---- */

/* Values of a name, each once, in the order told; NULL for none. */
static const char *values_of(const struct machine *m, const char *name, struct arena *arena)
{
	const char *all = NULL;

	for (size_t i = 0; i < m->n; i++) {
		bool is_new = strcmp(m->line[i].name, name) == 0;

		for (size_t k = 0; k < i && is_new; k++)
			is_new = strcmp(m->line[k].name, name) != 0 || strcmp(m->line[k].value, m->line[i].value) != 0;
		if (is_new)
			all = all ? arena_print(arena, "%s, %s", all, m->line[i].value) : m->line[i].value;
	}
	return all;
}

static size_t count_of(const struct machine *m, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += strcmp(m->line[i].name, name) == 0;
	return n;
}

static void take_gpus(struct trial_state *s, const struct machine *m, struct arena *arena)
{
	const size_t n = count_of(m, "device");
	const char *names = values_of(m, "device", arena);

	s->device = n > 1 ? arena_print(arena, "%zu x %s", n, names) : names;
	s->driver = values_of(m, "driver", arena);
	s->clocks = values_of(m, "clocks", arena);
	s->others = values_of(m, "others", arena);
	s->throttle = values_of(m, "throttle", arena);
	if (!s->others && count_of(m, "others known"))
		s->others = "none";
	if (!s->throttle && count_of(m, "throttle known"))
		s->throttle = "none";
	for (size_t i = 0; i < m->n; i++) {
		const long long value = strtoll(m->line[i].value, NULL, 10);

		if (strcmp(m->line[i].name, "temperature") == 0 && value > s->temperature_c)
			s->temperature_c = (int)value;
		if (strcmp(m->line[i].name, "throttled") == 0)
			s->throttled_ns = (s->throttled_ns < 0 ? 0 : s->throttled_ns) + value;
	}
}

/* "model name : X" of /proc/cpuinfo */
static const char *processor_of(struct arena *arena)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512];
	const char *found = NULL;

	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');

		if (colon && strncmp(line, "model name", 10) == 0)
			found = arena_copy(arena, colon + 1 + strspn(colon + 1, " \t"),
					   strcspn(colon + 1 + strspn(colon + 1, " \t"), "\n"));
	}
	if (file)
		fclose(file);
	return found;
}

struct trial_state trial_state(struct arena *arena)
{
	struct trial_state s = { .load = -1, .temperature_c = -1, .throttled_ns = -1 };
	struct machine m = { .arena = arena };
	struct utsname name;
	double load[1];

	if (uname(&name) == 0) {
		s.host = arena_copy(arena, name.nodename, strlen(name.nodename));
		s.system = arena_print(arena, "%s %s %s", name.sysname, name.release, name.machine);
	}
	s.processor = processor_of(arena);
	s.governor = machine_read(&m, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	if (getloadavg(load, 1) == 1)
		s.load = load[0];
	machine_in_child(&m, "state", ask, NULL);
	take_gpus(&s, &m, arena);
	return s;
}
