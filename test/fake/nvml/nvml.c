/*
 * test/fake/nvml/nvml.c - an NVML that knows two GPUs, without a driver.
 *
 * FAKE_THROTTLED is the share of all time that power holds them back, 0 when
 * not said; FAKE_REASONS the bits of the reasons for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int devices[2] = { 41, 43 }; /* their temperatures */

int nvmlInit_v2(void);
int nvmlInit_v2(void) { return 0; }

int nvmlSystemGetDriverVersion(char *text, unsigned n);
int nvmlSystemGetDriverVersion(char *text, unsigned n)
{
	snprintf(text, n, "999.12");
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
	*device = &devices[i];
	return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned n);
int nvmlDeviceGetName(void *device, char *text, unsigned n)
{
	(void)device;
	snprintf(text, n, "Fake GPU");
	return 0;
}

int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz)
{
	(void)device;
	*mhz = clock == 1 ? 1980 : 0;
	return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw)
{
	(void)device;
	*mw = 700000;
	return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
	*celsius = sensor == 0 ? (unsigned)*(int *)device : 0;
	return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	const char *told = getenv("FAKE_REASONS");

	(void)device;
	*reasons = told ? strtoull(told, NULL, 0) : 1; /* 1: idle, which is no throttling */
	return 0;
}

struct violation {
	unsigned long long reference_us, violation_ns;
};

int nvmlDeviceGetViolationStatus(void *device, int policy, struct violation *out);
int nvmlDeviceGetViolationStatus(void *device, int policy, struct violation *out)
{
	const char *share = getenv("FAKE_THROTTLED");
	struct timespec now;

	(void)device;
	clock_gettime(CLOCK_MONOTONIC, &now);
	out->reference_us = (unsigned long long)now.tv_sec * 1000000;
	out->violation_ns = policy == 0 && share ?
		(unsigned long long)(strtod(share, NULL) * ((double)now.tv_sec * 1e9 + (double)now.tv_nsec)) : 0;
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, void *list);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, void *list)
{
	(void)device;
	(void)list;
	*n = 0;
	return 0;
}
