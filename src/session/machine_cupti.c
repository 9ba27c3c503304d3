/* session/machine_cupti.c - the collector, the CUPTI that it would use, and who may read counters. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "collect/find.h"
#include "session/machine.h"

static const char group[] = "recording";

static void add(struct machine *m, const char *name, const char *state, const char *value, const char *why,
		const char *how)
{
	machine_add(m, (struct machine_line){ group, name, state, value, why, how });
}

static void load_collector(struct machine *m, const char *path)
{
	const bool loads = dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL;

	add(m, "collector", loads ? "on" : "off", path, loads ? NULL : dlerror(),
	    loads ? NULL : "install Fathom as one folder, or name the library by FATHOM_COLLECT");
}

/* The interpreter that "python3" is, whose packages may bring a CUPTI. */
static const char *find_python(struct machine *m)
{
	const char *path = getenv("PATH");
	char real[PATH_MAX];

	while (path && *path) {
		const size_t n = strcspn(path, ":");
		const char *file = arena_print(m->arena, "%.*s/python3", (int)n, path);

		if (n && access(file, X_OK) == 0 && realpath(file, real))
			return arena_copy(m->arena, real, strlen(real));
		path += n + (path[n] == ':');
	}
	return "";
}

static void load_cupti(struct machine *m, const char *what)
{
	const char *asked = getenv("FATHOM_CUPTI");
	char path[512] = "", reason[512] = "";
	void *library = cupti_find(asked, what, path, reason, sizeof(path));
	int (*get)(uint32_t *) = NULL;
	uint32_t version = 0;

	if (library)
		*(void **)&get = dlsym(library, "cuptiGetVersion");
	if (!library)
		add(m, "CUPTI", "off", "", reason, "FATHOM_CUPTI names one; pip install nvidia-cuda-cupti has one");
	else if (!get || get(&version) != 0)
		add(m, "CUPTI", "off", path, "does not tell its version", "FATHOM_CUPTI names another");
	else
		add(m, "CUPTI", "on", arena_print(m->arena, "%s, version %u", path, version), NULL, NULL);
}

/* The bits of CapEff. */
static uint64_t capabilities(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long bits = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &bits) == 1)
			break;
	if (file)
		fclose(file);
	return bits;
}

static void tell_counters(struct machine *m)
{
	enum { CAP_SYS_ADMIN_BIT = 21 };
	const bool is_admin = capabilities() >> CAP_SYS_ADMIN_BIT & 1;
	FILE *file = fopen("/proc/driver/nvidia/params", "re");
	int admin_only = -1;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RmProfilingAdminOnly: %d", &admin_only) == 1)
			break;
	if (file)
		fclose(file);
	if (admin_only < 0)
		add(m, "counters of kernels", "off", "", "/proc/driver/nvidia/params: not there, so the driver does not say",
		    NULL);
	else if (admin_only && !is_admin)
		add(m, "counters of kernels", "off", "", "the driver keeps them for administrators (RmProfilingAdminOnly: 1)",
		    "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN "
		    "(docker run --cap-add SYS_ADMIN); the timeline needs neither");
	else
		add(m, "counters of kernels", "on", admin_only ? "by CAP_SYS_ADMIN" : "for everybody", NULL, NULL);
}

void machine_cupti(struct machine *m, const char *collector, const char *why_no_collector)
{
	if (collector)
		machine_in_child(m, group, load_collector, collector);
	else
		add(m, "collector", "off", "", why_no_collector, NULL);
	machine_in_child(m, group, load_cupti, find_python(m));
	tell_counters(m);
}
