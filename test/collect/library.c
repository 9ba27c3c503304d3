/* collect: libfathom-collect.so as a file - what it needs, and what it shows. */
#include "test/collect/capture.h"

#include <stdio.h>

static FILE *symbols(const char *which)
{
	char command[800];

	if (system("command -v nm > /dev/null") != 0)
		SKIP("needs nm (binutils)");
	snprintf(command, sizeof(command), "nm -D %s %s", which, capture_built("src/collect/libfathom-collect.so"));
	return popen(command, "r");
}

TEST(collect_library, needs_nothing_but_the_c_library)
{
	FILE *f = symbols("--undefined-only");
	char line[300];
	size_t n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		const bool is_weak = strstr(line, " w ") != NULL; /* hooks of the linker: may stay open */

		if (!is_weak && !strstr(line, "@GLIBC_"))
			test_fail(__FILE__, __LINE__, "not of libc: %s", line);
		n++;
	}
	EXPECT(f && pclose(f) == 0 && n > 20);
}

TEST(collect_library, shows_its_entry_points_only)
{
	/*
	 * Of CUDA and NVTX; of a program that controls its recording; of CUPTI, for programs with a profiler of their own; and of
	 * the C library, for programs that leave without a word. */
	static const char *const entries[] = {
		"InitializeInjection\n", "InitializeInjectionNvtx\n", "InitializeInjectionNvtx2\n", "fathom_is_recording\n",
		"fathom_start\n", "fathom_stop\n", "fathom_range_push\n", "fathom_range_pop\n", "fathom_mark\n",
		"cuptiActivityRegisterCallbacks\n", "cuptiActivityDisable\n", "cuptiFinalize\n", "cuptiSubscribe\n",
		"cuptiSubscribe_v2\n", "_exit\n", "_Exit\n",
	};
	FILE *f = symbols("--defined-only");
	char line[300];
	size_t n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		const char *name = strrchr(line, ' ');
		bool is_entry = false;

		for (size_t i = 0; name && i < ARRAY_LEN(entries); i++)
			is_entry |= strcmp(name + 1, entries[i]) == 0;
		if (!is_entry)
			test_fail(__FILE__, __LINE__, "shown: %s", line);
		n++;
	}
	EXPECT(f && pclose(f) == 0);
	EXPECT_EQ_INT(n, ARRAY_LEN(entries));
}
