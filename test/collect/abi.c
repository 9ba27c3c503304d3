/* collect_abi: what the collector believes about CUPTI, against CUPTI's own headers and libraries. */
#include "test/collect/capture.h"

#include <stdio.h>
#include <unistd.h>

#include "collect/cupti_abi.h"

/* Room for a command's output. */
static char output[1 << 16];

static int run(const char *command)
{
	FILE *f = popen(command, "r");
	size_t n = f ? fread(output, 1, sizeof(output) - 1, f) : 0;

	output[n] = '\0';
	return f ? pclose(f) : -1;
}

/* Where the headers of a CUDA are; the test is skipped when they are nowhere and cannot be had. */
static const char *headers_of(int version)
{
	static char folder[700];
	const char *home = getenv("CUDA_HOME"), *built = capture_built("cuda-headers");
	char command[1000];
	const char *line = version == 13 ? "CUPTI_API_VERSION 13" : "CUPTI_API_VERSION [12][0-9]$";

	snprintf(folder, sizeof(folder), "%s", home ? home : "/usr/local/cuda");
	snprintf(command, sizeof(command), "%s/include/cupti_version.h", folder);
	if (access(command, R_OK) == 0) {
		snprintf(command, sizeof(command), "grep -q '%s' %s/include/cupti_version.h", line, folder);
		if (run(command) == 0)
			return folder;
	}
	snprintf(folder, sizeof(folder), "%s/%d", built, version);
	snprintf(command, sizeof(command), "%s/include/cupti.h", folder);
	if (access(command, R_OK) == 0)
		return folder;
	snprintf(command, sizeof(command), "timeout 90 test/collect/fetch-headers %s > /dev/null 2>&1", built);
	if (run(command) != 0)
		SKIP("needs CUPTI's headers of CUDA %d: CUDA_HOME, or pip to fetch them", version);
	return folder;
}

static void is_as_declared(int version)
{
	const char *folder = headers_of(version);
	char command[3000];

	snprintf(command, sizeof(command), "cc -std=gnu17 -fsyntax-only -Isrc -I. -isystem %s/include test/collect/abi_check.c 2>&1", folder);
	if (run("command -v cc") != 0)
		SKIP("needs a compiler named cc");
	if (run(command) != 0)
		test_fail("test/collect/abi_check.c", 1, "CUDA %d:\n%s", version, output);
}

static void has_the_functions(int version)
{
	static const char *const needed[] = {
#define NAME(name, args) "cupti" #name "\n",
		CUPTI_FUNCTIONS(NAME)
	}, *const wished[] = { CUPTI_OPTIONAL(NAME) };
	const char *folder = headers_of(version);
	char command[1200];

	snprintf(command, sizeof(command), "nm -D --defined-only %s/lib*/libcupti.so.1* | sed 's/.* //; s/@.*//' | sort -u | grep '^cupti'", folder);
	if (run(command) != 0 || !strstr(output, "cuptiGetVersion\n"))
		SKIP("needs libcupti.so and nm");
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!strstr(output, needed[i]))
			test_fail(__FILE__, __LINE__, "CUDA %d has no %s", version, needed[i]);
	for (size_t i = 0; i < ARRAY_LEN(wished) && version == 13; i++)
		if (!strstr(output, wished[i]))
			test_fail(__FILE__, __LINE__, "CUDA %d has no %s", version, wished[i]);
}

TEST(collect_abi, is_that_of_cuda_12)
{
	is_as_declared(12);
	has_the_functions(12);
}

TEST(collect_abi, is_that_of_cuda_13)
{
	is_as_declared(13);
	has_the_functions(13);
}
