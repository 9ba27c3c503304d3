/*
 * cmd/compat.c - fathom compat: links by the names of Nsight Systems, so that
 * scripts written for it run this program; and what is done under these names.
 *
 * Under "nsys" the commands and options are ours, which are spelled alike. An
 * operand X.nsys-rep (or X.qdrep, X.sqlite) that is not there means X.fathom,
 * which is what a profile of that name wrote.
 */
#include "cmd/compat.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

static const char *const names[] = { "nsys", "nsys-ui" };

static const char *name_of(const char *program)
{
	const char *slash = program ? strrchr(program, '/') : NULL;

	return slash ? slash + 1 : program ? program : "";
}

bool compat_is_nsys(const char *program)
{
	return strcmp(name_of(program), names[0]) == 0;
}

bool compat_is_viewer(const char *program)
{
	return strcmp(name_of(program), names[1]) == 0;
}

enum status compat_view(char **argv, struct call *call)
{
	const char *file = argv[0] && argv[0][0] != '-' ? argv[0] : "FILE";

	return failed(call, "nsys-ui: this version has no viewer (fathom stats %s prints its tables, fathom info %s what is "
			    "in it, fathom export %s makes an SQLite file for others)", file, file, file);
}

bool compat_is_unserved(const char *command)
{
	static const char *const known[] = { "recipe", "plugins", "finalize", "nvprof" };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(command, known[i]) == 0)
			return true;
	return false;
}

void compat_operands(struct call *call)
{
	static const char *const suffixes[] = { ".nsys-rep", ".qdrep", ".sqlite" };
	const char **operands = arena_array(call->arena, const char *, call->n_operands + 1);

	for (size_t i = 0; i < call->n_operands; i++) {
		const char *path = call->operands[i];
		const size_t n = strlen(path);

		operands[i] = path;
		for (size_t s = 0; s < ARRAY_LEN(suffixes); s++) {
			const size_t k = strlen(suffixes[s]);
			const char *ours;

			if (n <= k || strcmp(path + n - k, suffixes[s]) != 0 || os_exists(path))
				continue;
			ours = arena_print(call->arena, "%.*s.fathom", (int)(n - k), path);
			if (os_exists(ours))
				operands[i] = ours;
		}
	}
	call->operands = operands;
}

/* ---- the links ---- */

struct compat_options {
	bool replace;
};

static bool make_link(const char *program, const char *path, bool replace, struct err *err)
{
	char target[PATH_MAX];
	struct stat st;
	const ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n > 0) {
		target[n] = '\0';
		if (strcmp(target, program) == 0)
			return true;
	}
	if (lstat(path, &st) == 0 && (!replace || S_ISDIR(st.st_mode)))
		return fail(err, "%s: exists, and is no link to this program%s", path,
			    S_ISDIR(st.st_mode) ? "" : " (-f replaces it)");
	unlink(path);
	return symlink(program, path) == 0 || fail(err, "%s: %s", path, strerror(errno));
}

static enum status run(struct call *call)
{
	const struct compat_options *o = call->options;
	char program[PATH_MAX], folder[PATH_MAX];

	if (!call->n_operands)
		return wrong(call, "compat: no folder given");
	if (!realpath("/proc/self/exe", program))
		return failed(call, "compat: /proc/self/exe: %s", strerror(errno));
	if (mkdir(call->operands[0], 0777) != 0 && errno != EEXIST)
		return failed(call, "compat: %s: %s", call->operands[0], strerror(errno));
	if (!realpath(call->operands[0], folder) || !os_is_folder(folder))
		return failed(call, "compat: %s: not a folder", call->operands[0]);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!make_link(program, arena_print(call->arena, "%s/%s", folder, names[i]), o->replace, call->err))
			return STATUS_FAILED;
	printf("%s: nsys and nsys-ui are this program; PATH=%s:$PATH finds them first\n", call->operands[0], folder);
	return STATUS_DONE;
}

static const struct option options[] = {
	{ 'f', "force-overwrite", OPTION_SWITCH, NULL, "replace files of these names", offsetof(struct compat_options, replace) },
};

static const struct example examples[] = {
	{ "fathom compat ~/fathom-nsys; PATH=~/fathom-nsys:$PATH ./profile-all.sh", "a script that calls nsys" },
};

const struct command command_compat = {
	.name = "compat",
	.usage = "[options] FOLDER",
	.summary = "links named nsys, for scripts that call it",
	.about = "Puts links named nsys and nsys-ui to this program into a folder. Under the name nsys the commands profile, "
		 "launch, start, stop, cancel, shutdown, sessions, status, stats and export take nsys's options; those that record "
		 "nothing here are told once, and noted in the report. Reports are .fathom files; a command that is given "
		 "X.nsys-rep reads X.fathom when only that is there.\n\n"
		 "There is no viewer yet: nsys-ui says so, and what to do instead.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct compat_options),
	.max_operands = 1,
	.operand = "folder",
	.run = run,
};
