/*
 * import/nsys/rep.c - a report of Nsight Systems itself, by way of an export.
 *
 * The format of a .nsys-rep is not public. What is read, in this order:
 *
 *   (1) X.fathom or X.sqlite[.gz] beside X.nsys-rep, unless it is older;
 *   (2) what `nsys export` makes of it, if an nsys can be run;
 *   (3) the older X.fathom or X.sqlite, and a note that it is older.
 *
 * Each time a note says which file was taken.
 */
#include <string.h>

#include "base/os.h"
#include "import/nsys/nsys.h"

extern const struct importer importer_nsys, importer_fathom;

static const char magic[] = "NVIDIA Tegra Profiler Report";

enum { MOST_PATH = 4096 };

static bool is_report(struct span head)
{
	return head.n >= sizeof(magic) - 1 && memcmp(head.p, magic, sizeof(magic) - 1) == 0;
}

/* A neighbour that is itself a report is not looked into, so this cannot go in circles. */
static bool read_other(struct source *source, const char *path, struct builder *b, struct err *err)
{
	static const struct importer *const importers_of_it[] = { &importer_nsys, &importer_fathom };
	struct import_options options = *source_options(source);
	struct source *other;
	bool done;

	options.rank = source_rank(source, NULL_i32);
	options.n_overruled = NULL; /* counted */
	other = source_open(path, &options, source_ui(source), err);
	if (!other)
		return false;
	done = fail(err, "%s: neither an SQLite database nor a .fathom file", path);
	for (size_t i = 0; i < ARRAY_LEN(importers_of_it); i++) {
		if (!importers_of_it[i]->sniff(source_peek(other)))
			continue;
		done = importers_of_it[i]->read(other, b, err);
		break;
	}
	source_close(other);
	return done;
}

/* X of X.nsys-rep. */
static char *stem_of(struct arena *arena, const char *path)
{
	static const char suffix[] = ".nsys-rep";
	size_t n = strlen(path), k = sizeof(suffix) - 1;

	return arena_copy(arena, path, n > k && strcmp(path + n - k, suffix) == 0 ? n - k : n);
}

/* The neighbour to take: one that is not older than the report, else any; NULL if there is none. */
static const char *find_neighbour(struct arena *arena, const char *path, bool *is_older)
{
	static const char *const suffixes[] = { ".fathom", ".sqlite", ".sqlite.gz" };
	const char *stem = stem_of(arena, path), *older = NULL;

	*is_older = false;
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		const char *other = arena_print(arena, "%s%s", stem, suffixes[i]);

		if (os_file_size(other) == 0)
			continue;
		if (os_modified_ns(other) >= os_modified_ns(path))
			return other;
		if (!older)
			older = other;
	}
	*is_older = older != NULL;
	return older;
}

static const char *nsys_program(struct source *source)
{
	const char *nsys = source_options(source)->nsys;

	return nsys && *nsys ? nsys : "nsys";
}

/* Let nsys write into a folder of our own, read that, and remove it. */
static bool read_export(struct source *source, struct arena *arena, struct builder *b, bool *ran, struct err *err)
{
	const char *nsys = nsys_program(source), *path = source_path(source);
	char folder[MOST_PATH], *to;
	bool done = false;

	*ran = false;
	if (!os_temporary_folder(source_options(source)->temporary, folder, sizeof(folder), err))
		return false;
	to = arena_print(arena, "%s/export.sqlite", folder);
	if (path[0] == '-')
		path = arena_print(arena, "./%s", path);

	const char *const argv[] = { nsys, "export", "--type", "sqlite", "-o", to, path, NULL };

	ui_note(source_ui(source), "%s: exporting with %s", path, nsys);
	if (os_run_quietly(argv, err)) {
		*ran = true;
		done = read_other(source, to, b, err);
		if (done)
			BUILDER_AT(b, source, name, (ref)builder_rows(b, TABLE_source) - 1) =
				builder_text(b, source_name(source));
	}
	os_remove(to);
	os_remove(folder);
	return done;
}

static bool read_report(struct source *source, struct builder *b, struct err *err)
{
	const char *path = source_path(source), *other;
	struct arena arena = { 0 };
	bool is_older, ran = false, done;

	other = find_neighbour(&arena, path, &is_older);
	if (other && !is_older) {
		ui_note(source_ui(source), "%s: reading %s beside it", path, other);
		done = read_other(source, other, b, err);
	} else {
		done = read_export(source, &arena, b, &ran, err);
		if (!done && !ran && other) {
			ui_note(source_ui(source), "%s: reading %s beside it, which is older", path, other);
			done = read_other(source, other, b, err);
		} else if (!done && !ran) {
			const char *cause = arena_copy(&arena, err->text, strlen(err->text));

			fail(err, "%s: needs an export (%s): nsys export --type sqlite %s", path, cause, path);
		}
	}
	arena_end(&arena);
	return done;
}

const struct importer importer_nsys_rep = {
	.name    = "nsys-rep",
	.summary = "report of Nsight Systems, by way of its export",
	.suffix  = ".nsys-rep",
	.sniff   = is_report,
	.read    = read_report,
};
