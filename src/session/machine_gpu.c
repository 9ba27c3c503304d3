/*
 * session/machine_gpu.c - driver, GPUs, their links and who uses them, by
 * libcuda and NVML, which are opened at run time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "session/machine.h"

enum { NVML_SUCCESS = 0, P2P_NVLINK = 2, MOST_GPUS = 64, MOST_LINKS = 18, MOST_PROCESSES = 64 };

struct nvml_pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char bus_id[32];
};

struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};

/* Every function of NVML that is asked for, with its arguments. */
#define NVML(_) \
	_(nvmlInit_v2, (void)) _(nvmlSystemGetDriverVersion, (char *, unsigned)) \
	_(nvmlDeviceGetCount_v2, (unsigned *)) _(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **)) \
	_(nvmlDeviceGetName, (void *, char *, unsigned)) _(nvmlDeviceGetPciInfo_v3, (void *, struct nvml_pci *)) \
	_(nvmlDeviceGetMemoryInfo, (void *, struct nvml_memory *)) \
	_(nvmlDeviceGetMigMode, (void *, unsigned *, unsigned *)) _(nvmlDeviceGetComputeMode, (void *, int *)) \
	_(nvmlDeviceGetPersistenceMode, (void *, int *)) \
	_(nvmlDeviceGetCurrPcieLinkGeneration, (void *, unsigned *)) _(nvmlDeviceGetCurrPcieLinkWidth, (void *, unsigned *)) \
	_(nvmlDeviceGetNvLinkState, (void *, unsigned, int *)) _(nvmlDeviceGetP2PStatus, (void *, void *, int, int *)) \
	_(nvmlDeviceGetTopologyCommonAncestor, (void *, void *, int *)) \
	_(nvmlDeviceGetComputeRunningProcesses_v3, (void *, unsigned *, struct nvml_process *))

#define FIELD(name, types) int (*name) types;
static struct { NVML(FIELD) } nvml;

/* What a driver without the function says: not supported. */
#define CALL(name, ...) (nvml.name ? nvml.name(__VA_ARGS__) : 3)

static const char group[] = "GPU";

static void add(struct machine *m, const char *name, const char *state, const char *value, const char *why,
		const char *how)
{
	machine_add(m, (struct machine_line){ group, name, state, value, why, how });
}

/* ---- one GPU ---- */

static const char *compute_mode(int mode)
{
	static const char *const words[] = { "default", "exclusive thread", "prohibited", "exclusive process" };

	return mode >= 0 && mode < (int)ARRAY_LEN(words) ? words[mode] : "unknown";
}

static void tell_device(struct machine *m, unsigned i, void *device)
{
	char name[96] = "unnamed";
	struct nvml_pci pci = { .bus_id = "" };
	struct nvml_memory memory = { 0 };
	unsigned mig = 0, pending = 0, generation = 0, width = 0;
	int mode = 0, persistence = 0, link = 0, n_links = 0;
	const char *text;

	CALL(nvmlDeviceGetName, device, name, sizeof(name));
	CALL(nvmlDeviceGetPciInfo_v3, device, &pci);
	CALL(nvmlDeviceGetMemoryInfo, device, &memory);
	text = arena_print(m->arena, "%s, %s, %.1f GB, %.1f GB used", name, pci.bus_id, (double)memory.total / 1e9,
			   (double)memory.used / 1e9);
	if (CALL(nvmlDeviceGetCurrPcieLinkGeneration, device, &generation) == NVML_SUCCESS &&
	    CALL(nvmlDeviceGetCurrPcieLinkWidth, device, &width) == NVML_SUCCESS)
		text = arena_print(m->arena, "%s, PCIe %u x%u now", text, generation, width);
	for (unsigned l = 0; l < MOST_LINKS; l++)
		n_links += CALL(nvmlDeviceGetNvLinkState, device, l, &link) == NVML_SUCCESS && link == 1;
	if (n_links)
		text = arena_print(m->arena, "%s, %d NVLinks up", text, n_links);
	if (CALL(nvmlDeviceGetComputeMode, device, &mode) == NVML_SUCCESS)
		text = arena_print(m->arena, "%s, compute mode %s", text, compute_mode(mode));
	if (CALL(nvmlDeviceGetPersistenceMode, device, &persistence) == NVML_SUCCESS)
		text = arena_print(m->arena, "%s, persistence %s", text, persistence ? "on" : "off");
	add(m, arena_print(m->arena, "GPU %u", i), mode == 2 ? "off" : "on", text,
	    mode == 2 ? "its compute mode prohibits programs" : NULL, mode == 2 ? "nvidia-smi -c 0" : NULL);
	if (CALL(nvmlDeviceGetMigMode, device, &mig, &pending) == NVML_SUCCESS && (mig || pending))
		add(m, arena_print(m->arena, "GPU %u: MIG", i), "on", mig == pending ? "" : "changes at the next reset",
		    "kernels are recorded; counters see one instance only", NULL);
}

static void tell_processes(struct machine *m, unsigned i, void *device)
{
	struct nvml_process list[MOST_PROCESSES];
	unsigned n = MOST_PROCESSES;

	if (CALL(nvmlDeviceGetComputeRunningProcesses_v3, device, &n, list) != NVML_SUCCESS || n > MOST_PROCESSES)
		return;
	for (unsigned k = 0; k < n; k++) {
		const char *comm = machine_read(m, arena_print(m->arena, "/proc/%u/comm", list[k].pid));

		add(m, arena_print(m->arena, "GPU %u: in use", i), "",
		    arena_print(m->arena, "process %u (%s), %.1f GB", list[k].pid, comm ? comm : "of another container",
				list[k].used == ~0ull ? 0 : (double)list[k].used / 1e9), "times are shared with it", NULL);
	}
}

/* ---- pairs ---- */

static const char *way(int level)
{
	switch (level) {
	case 0: return "on one board";
	case 10: return "behind one PCIe switch";
	case 20: return "behind several PCIe switches";
	case 30: return "behind one host bridge";
	case 40: return "of one NUMA node";
	default: return "across NUMA nodes";
	}
}

static void tell_pairs(struct machine *m, void *const *device, unsigned n)
{
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = a + 1; b < n; b++) {
			int status = -1, level = -1;
			const bool is_known = CALL(nvmlDeviceGetP2PStatus, device[a], device[b], P2P_NVLINK, &status) == NVML_SUCCESS;

			if (CALL(nvmlDeviceGetTopologyCommonAncestor, device[a], device[b], &level) != NVML_SUCCESS && !is_known)
				continue;
			add(m, arena_print(m->arena, "GPU %u to GPU %u", a, b), "",
			    arena_print(m->arena, "%s%s", is_known && status == NVML_SUCCESS ? "linked by NVLink" : "no NVLink",
					level < 0 ? "" : arena_print(m->arena, ", %s", way(level))), NULL, NULL);
		}
}

/* ---- libraries ---- */

static void tell_cuda(struct machine *m)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*get)(int *) = NULL;
	int version = 0;

	if (library)
		*(void **)&get = dlsym(library, "cuDriverGetVersion");
	if (get && get(&version) == 0)
		add(m, "CUDA", "on", arena_print(m->arena, "%d.%d is the newest that the driver runs", version / 1000,
						 version % 1000 / 10), NULL, NULL);
	else
		add(m, "CUDA", "off", "", library ? "libcuda.so.1: does not tell its version" : "libcuda.so.1: not found",
		    "install NVIDIA's driver; in a container, start it with --gpus all");
}

static bool load_nvml(struct machine *m)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	char version[96] = "";
	int result;

	if (!library) {
		add(m, "NVML", "off", "", "libnvidia-ml.so.1: not found, so GPUs and their links are not known",
		    "install NVIDIA's driver; in a container, NVIDIA_DRIVER_CAPABILITIES=all");
		return false;
	}
#define FIND(name, types) *(void **)&nvml.name = dlsym(library, #name);
	NVML(FIND)
	result = CALL(nvmlInit_v2);
	if (result != NVML_SUCCESS) {
		add(m, "NVML", "off", "", arena_print(m->arena, "nvmlInit gives %d%s", result,
						      result == 9 ? ": the driver is not loaded" : ""), NULL);
		return false;
	}
	if (CALL(nvmlSystemGetDriverVersion, version, sizeof(version)) == NVML_SUCCESS)
		add(m, "driver", "on", version, NULL, NULL);
	return true;
}

static void ask(struct machine *m, const char *what)
{
	void *device[MOST_GPUS] = { NULL };
	unsigned n = 0;

	(void)what;
	tell_cuda(m);
	if (!load_nvml(m)) {
		add(m, "GPUs", "off", "", "none can be seen here; recordings hold NVTX ranges and calls only", NULL);
		return;
	}
	if (CALL(nvmlDeviceGetCount_v2, &n) != NVML_SUCCESS || n == 0)
		add(m, "GPUs", "off", "", "there is none", NULL);
	n = n > MOST_GPUS ? MOST_GPUS : n;
	for (unsigned i = 0; i < n; i++) {
		if (CALL(nvmlDeviceGetHandleByIndex_v2, i, &device[i]) != NVML_SUCCESS)
			continue;
		tell_device(m, i, device[i]);
		tell_processes(m, i, device[i]);
	}
	tell_pairs(m, device, n);
}

/* ---- what can be seen without a library ---- */

static void tell_mps(struct machine *m)
{
	const char *told = getenv("CUDA_MPS_PIPE_DIRECTORY");
	const char *pipes = told && *told ? told : "/tmp/nvidia-mps";
	const int server = machine_process("nvidia-cuda-mps-server"), control = machine_process("nvidia-cuda-mps-control");

	if (server || control || os_exists(pipes))
		add(m, "MPS", "on", server ? arena_print(m->arena, "server is process %d", server) : pipes,
		    "kernels of several processes share a GPU; the hardware's own trace is not available", NULL);
	else
		add(m, "MPS", "", "no server", NULL, NULL);
}

void machine_gpu(struct machine *m)
{
	machine_in_child(m, group, ask, NULL);
	tell_mps(m);
	if (machine_process("nv-hostengine"))
		add(m, "DCGM", "on", "nv-hostengine runs", "it may hold the counters of kernels",
		    "dcgmi profile --pause before counters are read");
	if (os_exists("/dev/dxg"))
		add(m, "WSL", "on", "/dev/dxg", "the GPU is Windows's: counters need its settings", NULL);
}
