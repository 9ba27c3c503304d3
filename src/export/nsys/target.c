/*
 * export/nsys/target.c - lines about the machine, its devices, processes and
 * threads, and those that the store keeps as facts.
 */
#include <stdlib.h>
#include <string.h>

#include "export/nsys/nsys.h"

static void set_integer(struct out_value *value, int64_t integer)
{
	*value = (struct out_value){ .kind = OUT_INTEGER, .integer = integer };
}

static void set_text(struct out_value *value, const char *text)
{
	*value = (struct out_value){ .kind = OUT_TEXT, .text = text, .n = strlen(text) };
}

/* ---- devices ---- */

static void call_gpu_id(struct out *o, size_t row, struct out_value *value)
{
	set_integer(value, o->gpu_ids[row]);
}

static void call_cuda_ordinal(struct out *o, size_t row, struct out_value *value)
{
	const int32_t ordinal = o->trace->device.cuda_ordinal[row];

	set_integer(value, ordinal == NULL_i32 ? o->gpu_ids[row] : ordinal);
}

static bool has_gpu_id(const struct out *o, size_t row, int kind)
{
	(void)kind;
	return o->gpu_ids[row] != NULL_i32;
}

/* The one VM, unless the source says another. */
static void call_gpu_vm(struct out *o, size_t row, struct out_value *value)
{
	const struct arena_mark mark = arena_mark(&o->arena);
	const char *name = arena_print(&o->arena, "%d.vmId", (int)o->trace->device.ordinal[row]);
	const char *vm = out_fact(o, 0, "TARGET_INFO_GPU", name);

	set_integer(value, vm ? strtoll(vm, NULL, 10) : (int64_t)1 << 48);
	arena_reset(&o->arena, mark);
}

static int64_t key_of_device(const struct out *o, size_t row)
{
	return o->trace->device.ordinal[row];
}

static const struct out_column gpu[] = {
	CALLED("vmId", call_gpu_vm),
	CALLED("id", call_gpu_id),
	OWN("name", TEXT, device, name),
	OWN("busLocation", TEXT, device, bus),
	OWN("l2CacheSize", VALUE, device, l2_bytes),
	OWN("totalMemory", VALUE, device, memory_bytes),
	OWN("memoryBandwidth", VALUE, device, memory_rate),
	OWN("clockRate", VALUE, device, clock_hz),
	OWN("smCount", VALUE, device, n_sms),
	OWN("uuid", TEXT, device, uuid),
	OWN("chipName", TEXT, device, chip),
	CALLED("cuDevice", call_cuda_ordinal),
	OWN("constantMemory", VALUE, device, constant_bytes),
	OWN("maxRegistersPerBlock", VALUE, device, block_registers),
	OWN("maxShmemPerBlock", VALUE, device, block_shared_bytes),
	OWN("maxShmemPerBlockOptin", VALUE, device, optin_shared_bytes),
	OWN("maxShmemPerSm", VALUE, device, sm_shared_bytes),
	OWN("maxRegistersPerSm", VALUE, device, sm_registers),
	OWN("threadsPerWarp", VALUE, device, warp_threads),
	OWN("asyncEngines", VALUE, device, n_copy_engines),
	OWN("maxWarpsPerSm", VALUE, device, max_sm_warps),
	OWN("maxBlocksPerSm", VALUE, device, max_sm_blocks),
	OWN("maxThreadsPerBlock", VALUE, device, max_block_threads),
	OWN("computeMajor", VALUE, device, compute_major),
	OWN("computeMinor", VALUE, device, compute_minor),
};

/* ---- processes and threads ---- */

static int64_t pid_of(const struct out *o, ref process)
{
	return process == NULL_ref ? 0 : o->process_ids[process] >> 24 & 0xffffff;
}

static int64_t hardware_of(const struct out *o, ref process)
{
	return process == NULL_ref ? 0 : (int64_t)((uint64_t)o->process_ids[process] >> 56);
}

static int64_t vm_of(const struct out *o, ref process)
{
	return process == NULL_ref ? 1 : o->process_ids[process] >> 48 & 0xff;
}

#define PID_OF(t)                                                                                \
	static void call_##t##_pid(struct out *o, size_t row, struct out_value *value)           \
	{                                                                                        \
		set_integer(value, pid_of(o, o->trace->t.process[row]));                         \
	}                                                                                        \
	static ref source_of_##t(const struct out *o, size_t row)                                \
	{                                                                                        \
		const ref process = o->trace->t.process[row];                                    \
		return process == NULL_ref ? 0 : o->trace->process.source[process];              \
	}

#define OF_HARDWARE(t)                                                                           \
	static void call_##t##_hardware(struct out *o, size_t row, struct out_value *value)      \
	{                                                                                        \
		set_integer(value, hardware_of(o, o->trace->t.process[row]));                    \
	}                                                                                        \
	static void call_##t##_vm(struct out *o, size_t row, struct out_value *value)            \
	{                                                                                        \
		set_integer(value, vm_of(o, o->trace->t.process[row]));                          \
	}

PID_OF(ordinal)
PID_OF(context)
PID_OF(stream)
OF_HARDWARE(context)
OF_HARDWARE(stream)

#define HARDWARE(t)                                                                    \
	CALLED("hwId", call_##t##_hardware), CALLED("vmId", call_##t##_vm), CALLED("processId", call_##t##_pid)

/* A line for each process and ordinal that the process may use. */
static const struct out_column cuda_device[] = {
	OWN("gpuId", DEVICE, ordinal, device),
	OWN("cudaId", VALUE, ordinal, number),
	CALLED("pid", call_ordinal_pid),
	VIA("uuid", TEXT, ordinal, device, device, uuid),
	VIA("numMultiprocessors", VALUE, ordinal, device, device, n_sms),
};

static void call_process_id(struct out *o, size_t row, struct out_value *value)
{
	set_integer(value, o->process_ids[row]);
}

static void call_pid(struct out *o, size_t row, struct out_value *value)
{
	set_integer(value, pid_of(o, (ref)row));
}

/* Where a source names processes, those without a name were only met in passing. */
static bool is_named_process(const struct out *o, size_t row, int kind)
{
	(void)kind;
	return o->trace->process.name[row] != NULL_str ||
	       o->trace->column_state[TABLE_process][COL_process_global_id] != STATE_RECORDED;
}

static const struct out_column process[] = {
	CALLED("globalPid", call_process_id),
	CALLED("pid", call_pid),
	OWN("name", TEXT, process, name),
};

static void call_thread_id(struct out *o, size_t row, struct out_value *value)
{
	set_integer(value, o->thread_ids[row]);
}

static bool is_named_thread(const struct out *o, size_t row, int kind)
{
	(void)kind;
	return o->trace->thread.name[row] != NULL_str;
}

static const struct out_column thread[] = {
	OWN("nameId", STRING, thread, name),
	OWN("priority", VALUE, thread, priority),
	CALLED("globalTid", call_thread_id),
};

/* ---- contexts and streams ---- */

static bool is_numbered_context(const struct out *o, size_t row, int kind)
{
	(void)kind;
	return o->trace->context.number[row] != NULL_i64;
}

static int64_t key_of_context(const struct out *o, size_t row)
{
	return o->trace->context.number[row];
}

static const struct out_column context[] = {
	OWN("nullStreamId", VALUE, context, null_stream),
	HARDWARE(context),
	OWN("deviceId", GPU, context, device_number),
	OWN("contextId", VALUE, context, number),
	OWN("parentContextId", VALUE, context, parent),
	OWN("isGreenContext", VALUE, context, is_green),
	OWN("numMultiprocessors", VALUE, context, n_sms),
};

/* Where a source describes streams, the others were only met in rows. */
static bool is_described_stream(const struct out *o, size_t row, int kind)
{
	const struct stream_table *s = &o->trace->stream;

	(void)kind;
	if (s->number[row] == NULL_i64)
		return false;
	return s->flag[row] != NULL_i32 || o->trace->column_state[TABLE_stream][COL_stream_flag] != STATE_RECORDED;
}

static int64_t key_of_stream(const struct out *o, size_t row)
{
	return o->trace->stream.number[row];
}

static const struct out_column stream[] = {
	OWN("streamId", VALUE, stream, number),
	HARDWARE(stream),
	OWN("contextId", VALUE, stream, context),
	OWN("priority", IMAGE, stream, priority),
	OWN("flag", VALUE, stream, flag),
};

static bool has_name(const struct out *o, size_t row, int kind)
{
	(void)kind;
	return o->trace->stream.name[row] != NULL_str && o->trace->stream.number[row] != NULL_i64;
}

static const struct out_column stream_name[] = {
	OWN("name", TEXT, stream, name),
	HARDWARE(stream),
	OWN("deviceId", GPU, stream, device_number),
	OWN("contextId", VALUE, stream, context),
	OWN("streamId", VALUE, stream, number),
};

/* ---- counters ---- */

enum { METRICS_OF_GPU, METRICS_OF_SOC };

static bool is_counter(const struct out *o, size_t row, int kind)
{
	const struct counter_table *c = &o->trace->counter;

	if (c->type_id[row] == NULL_i64 || c->number[row] == NULL_i64)
		return false;
	return (c->device_number[row] == NULL_i32) == (kind == METRICS_OF_SOC);
}

static int64_t key_of_counter(const struct out *o, size_t row)
{
	return o->trace->counter.number[row];
}

static const struct out_column counter[] = {
	OWN("typeId", VALUE, counter, type_id),
	OWN("metricId", VALUE, counter, number),
	OWN("metricName", TEXT, counter, name),
};

/* ---- facts: tables of keys and values ---- */

enum { CAPTURE, SYSTEM, FILES, STREAMS, THREAD_NAMES };

static bool is_fact(const struct out *o, size_t row, int kind)
{
	static const char *const scopes[] = {
		[CAPTURE] = "META_DATA_CAPTURE", [SYSTEM] = "TARGET_INFO_SYSTEM_ENV", [FILES] = "ANALYSIS_FILE",
		[STREAMS] = "ProcessStreams", [THREAD_NAMES] = "ThreadNames",
	};
	const char *scope = trace_text(o->trace, o->trace->fact.scope[row]);

	return scope && strcmp(scope, scopes[kind]) == 0;
}

static const struct out_column pair[] = {
	OWN("name", TEXT, fact, name),
	OWN("value", TEXT, fact, value),
};

/* Nsight Systems' number of a name; the list is that of schema 3.20. */
static void call_name_number(struct out *o, size_t row, struct out_value *value)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {
		{ "CpuCores", 1 }, { "CpuSpeedMhz", 2 }, { "CpuArchitecture", 3 }, { "SupportedABIs", 5 },
		{ "Supported64BitABIs", 7 }, { "CpuDescription", 13 }, { "CpuInfo", 14 }, { "CpuEmcSpeedMhz", 101 },
		{ "SupportsXmcClients", 153 }, { "TargetInstallDir", 170 }, { "HasDiscreteGpu", 203 },
		{ "NvDriverVersion", 205 }, { "IsX86BasedDevice", 506 }, { "HardwarePlatform", 600 },
		{ "SoftwarePlatform", 601 }, { "OsDescription", 605 }, { "DeviceEnvironment", 610 },
		{ "CudaDriverVersion", 611 }, { "SoftwareReleaseVersion", 618 }, { "Hostname", 619 },
		{ "IsDevicePropsUpdated", 701 }, { "IsDeviceCapsUpdated", 702 }, { "IsPersistentDevice", 703 },
		{ "IsRootEnabled", 705 }, { "SystemUID", 721 }, { "HasThreadStateEvents", 800 },
		{ "HasNvtxEvents", 809 }, { "HasCudaEvents", 812 }, { "HasGraphicsEvents", 813 },
		{ "HasOSRuntimeEvents", 815 }, { "HasCuDNNEvents", 816 }, { "HasOpenACCEvents", 819 },
		{ "HasNvMediaEvents", 820 }, { "HasCudaBacktraceEvents", 821 }, { "HasVideoEvents", 822 },
		{ "SupportsDX11", 838 }, { "SupportsDX12", 839 }, { "SupportsGpuCtxsw", 840 },
		{ "SupportsPmuCounters", 842 }, { "SupportsCpuFrequency", 844 }, { "SupportsVulkan", 845 },
		{ "SupportsMPI", 846 }, { "SupportsCpuCtxsw", 848 }, { "SupportsGpuMetrics", 849 },
		{ "HasBacktraces", 851 }, { "HasBacktracingAlgorithms", 852 }, { "SupportsSampling", 861 },
		{ "SupportsLinuxPerf", 862 }, { "dptiSupportsHES", 863 }, { "KernelVersion", 882 },
		{ "EventLibSourcesInfo", 891 }, { "SupportsArchTimer", 892 }, { "SupportedFTraceEvents", 894 },
		{ "IsGameRecordingModeOn", 896 }, { "GpuInfo", 897 }, { "HasOpenMPEvents", 899 },
		{ "SupportsSli", 900 }, { "SupportsOpenSHMEM", 903 }, { "ExportLevel", 904 }, { "SupportsUCX", 906 },
		{ "SupportsIsr", 907 }, { "SupportsSocMetrics", 908 }, { "NicInfo", 910 },
		{ "OfedDriverVersion", 911 }, { "LinuxPerfInfo", 912 }, { "SupportsPythonBacktraceSampling", 913 },
		{ "SupportsNicMetrics", 914 }, { "SupportsVulkanSC", 917 }, { "SupportsOpenXR", 918 },
		{ "LinuxParanoidLevel", 919 }, { "SupportsSyscallTrace", 920 }, { "SocInfo", 921 },
	};
	const char *name = trace_text(o->trace, o->trace->fact.name[row]);

	for (size_t i = 0; i < ARRAY_LEN(names) && name; i++)
		if (strcmp(names[i].name, name) == 0)
			set_integer(value, names[i].number);
}

/* The device is called what the capture calls it. */
static void call_device_state(struct out *o, size_t row, struct out_value *value)
{
	const char *device = out_fact(o, o->trace->fact.source[row], "META_DATA_CAPTURE", "DEVICE_ID");

	set_text(value, device ? device : "");
}

static const struct out_column system_columns[] = {
	FIXED("globalVid", (int64_t)1 << 48),
	CALLED("devStateName", call_device_state),
	OWN("name", TEXT, fact, name),
	CALLED("nameEnum", call_name_number),
	OWN("value", TEXT, fact, value),
};

static const struct out_column file[] = {
	OWN("filename", TEXT, fact, name),
	OWN("contentId", NAME, fact, value),
	OWN("globalPid", PROCESS, fact, process),
};

static const struct out_column file_stream[] = {
	OWN("globalPid", PROCESS, fact, process),
	OWN("filenameId", NAME, fact, name),
	OWN("contentId", NAME, fact, value),
};

/* A thread that had several names: its globalTid is the fact's name. */
static void call_renamed_thread(struct out *o, size_t row, struct out_value *value)
{
	const char *id = trace_text(o->trace, o->trace->fact.name[row]);

	set_integer(value, id ? strtoll(id, NULL, 10) : 0);
}

static const struct out_column thread_name[] = {
	OWN("nameId", NAME, fact, value),
	CALLED("globalTid", call_renamed_thread),
};

#define FACTS(name, columns, kind_) MAP(name, fact, columns, .has = is_fact, .kind = kind_)

const struct out_map out_target_maps[] = {
	FACTS("ANALYSIS_FILE", file, FILES),
	MAP("ThreadNames", thread, thread, .has = is_named_thread),
	FACTS("ThreadNames", thread_name, THREAD_NAMES),
	FACTS("ProcessStreams", file_stream, STREAMS),
	FACTS("TARGET_INFO_SYSTEM_ENV", system_columns, SYSTEM),
	MAP("TARGET_INFO_GPU", device, gpu, .has = has_gpu_id, .key = key_of_device),
	MAP("TARGET_INFO_CUDA_DEVICE", ordinal, cuda_device, .source = source_of_ordinal),
	MAP("TARGET_INFO_CUDA_CONTEXT_INFO", context, context, .has = is_numbered_context, .key = key_of_context,
	    .source = source_of_context),
	MAP("TARGET_INFO_CUDA_STREAM", stream, stream, .has = is_described_stream, .key = key_of_stream,
	    .source = source_of_stream),
	MAP("TARGET_INFO_NVTX_CUDA_STREAM", stream, stream_name, .has = has_name, .source = source_of_stream),
	MAP("TARGET_INFO_GPU_METRICS", counter, counter, .has = is_counter, .kind = METRICS_OF_GPU,
	    .key = key_of_counter),
	MAP("TARGET_INFO_SOC_METRICS", counter, counter, .has = is_counter, .kind = METRICS_OF_SOC,
	    .key = key_of_counter),
	FACTS("META_DATA_CAPTURE", pair, CAPTURE),
	MAP("PROCESSES", process, process, .has = is_named_process),
};

const size_t n_out_target_maps = ARRAY_LEN(out_target_maps);
