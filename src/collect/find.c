/*
 * collect/find.c - which CUPTI to use: one process can only have one.
 *
 * In this order: one that is loaded already; the one asked for; one of the
 * Python environment (nvidia packages); one below CUDA_HOME or CUDA_PATH; one
 * that the loader finds; one in the usual folder.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/find.h"

static int look_for_cupti(struct dl_phdr_info *object, size_t size, void *path)
{
	const char *base = strrchr(object->dlpi_name, '/');

	(void)size;
	if (!base || strncmp(base + 1, "libcupti.so", 11) != 0)
		return 0;
	snprintf(path, 512, "%s", object->dlpi_name);
	return 1;
}

/* The first libcupti.so* of a folder, whatever its version. */
static bool look_in(const char *folder, char *path, size_t n)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool found = false;

	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "libcupti.so", 11) != 0)
			continue;
		found = snprintf(path, n, "%s/%s", folder, entry->d_name) < (int)n;
	}
	closedir(dir);
	return found;
}

/* lib/pythonX.Y/site-packages/nvidia/{cu13,cuda_cupti}/lib below a prefix. */
static bool look_in_python(const char *prefix, char *path, size_t n)
{
	static const char *const packages[] = { "nvidia/cu13/lib", "nvidia/cuda_cupti/lib" };
	static const char *const sites[] = { "site-packages", "dist-packages" };
	char folder[512];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/lib", prefix);
	dir = opendir(folder);
	while (dir && !found && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "python", 6) != 0)
			continue;
		for (size_t i = 0; i < 4 && !found; i++) {
			snprintf(folder, sizeof(folder), "%s/lib/%s/%s/%s", prefix, entry->d_name, sites[i / 2],
				 packages[i % 2]);
			found = look_in(folder, path, n);
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool look_below(const char *home, char *path, size_t n)
{
	static const char *const folders[] = { "lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib", "lib" };
	char folder[512];

	for (size_t i = 0; home && i < 4; i++) {
		snprintf(folder, sizeof(folder), "%s/%s", home, folders[i]);
		if (look_in(folder, path, n))
			return true;
	}
	return false;
}

static bool look_around(const char *executable, char *path, size_t n)
{
	const char *venv = getenv("VIRTUAL_ENV"), *conda = getenv("CONDA_PREFIX");
	char *slash;

	if (venv && look_in_python(venv, path, n))
		return true;
	if (conda && look_in_python(conda, path, n))
		return true;
	/* PREFIX/bin/python: the interpreter's own packages. */
	snprintf(path, n, "%s", executable);
	slash = strrchr(path, '/');
	if (slash && strstr(slash, "python")) {
		char prefix[512];

		*slash = '\0';
		slash = strrchr(path, '/');
		if (slash && strcmp(slash, "/bin") == 0) {
			*slash = '\0';
			snprintf(prefix, sizeof(prefix), "%s", path);
			if (look_in_python(prefix, path, n))
				return true;
			snprintf(prefix + strlen(prefix), sizeof(prefix) - strlen(prefix), "/local");
			if (look_in_python(prefix, path, n))
				return true;
		}
	}
	return look_below(getenv("CUDA_HOME"), path, n) || look_below(getenv("CUDA_PATH"), path, n);
}

static void *try_open(const char *name, int flags, char *path, size_t n)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
	struct link_map *map;

	if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
		snprintf(path, n, "%s", map->l_name);
	return library;
}

void *cupti_find(const char *asked, const char *executable, char *path, char *reason, size_t n)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
	char found[512] = "";
	void *library;

	if (dl_iterate_phdr(look_for_cupti, found)) {
		library = try_open(found, RTLD_NOLOAD, path, n);
		if (library)
			return library;
	}
	if (asked && asked[0]) {
		library = try_open(asked, 0, path, n);
		if (!library)
			snprintf(reason, n, "%s", dlerror());
		return library;
	}
	if (look_around(executable, found, sizeof(found))) {
		library = try_open(found, 0, path, n);
		if (library)
			return library;
	}
	for (size_t i = 0; i < 3; i++) {
		library = try_open(names[i], 0, path, n);
		if (library)
			return library;
	}
	if (look_below("/usr/local/cuda", found, sizeof(found))) {
		library = try_open(found, 0, path, n);
		if (library)
			return library;
	}
	snprintf(reason, n, "libcupti: not found (set FATHOM_CUPTI or install the CUDA toolkit)");
	return NULL;
}
