/*
 * import/import.c - any supported file, or a folder of them, to a trace.
 *
 * What a file is, its bytes say. In a folder only files with a suffix that an
 * importer names (with .gz or .zst behind it, or not) are looked at; they are
 * the ranks of one job, in the order of their names with numbers compared as
 * numbers. Folders in a folder are not entered. A spool is a folder that is one
 * input: its control page stands for it.
 *
 * No row counts twice: of files in a folder that are forms of one recording by
 * their names (x.nsys-rep, x.sqlite, x.fathom; compressed or not) one is read,
 * the .fathom first, and a file that is named twice is refused.
 */
#include "import/import.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

/* Sniffed in this order: magic numbers first, text last. */
#define IMPORTERS(_) _(fathom) _(spool) _(nsys) _(nsys_rep) _(torch)

#define DECLARE(name) extern const struct importer importer_##name;
#define POINTER(name) &importer_##name,
IMPORTERS(DECLARE)
const struct importer *const importers[] = { IMPORTERS(POINTER) };
const size_t n_importers = ARRAY_LEN(importers);

static const char formats[] = "not a format that Fathom reads (a .fathom file, an Nsight Systems .sqlite "
			      "or .nsys-rep, a PyTorch or Chrome .json[.gz])";

/* The inputs that one call reads, in order. */
struct inputs {
	struct arena arena;
	size_t n, size;
	const char **paths;
	size_t n_others; /* files of folders that are no traces by their names */
	size_t n_forms;  /* files of folders that are another form of a file beside them */
	const char *form, *form_of; /* the first of these by name, and what is read instead */
};

static const struct importer *recognise(struct source *source)
{
	for (size_t i = 0; i < n_importers; i++)
		if (importers[i]->sniff(source_peek(source)))
			return importers[i];
	return NULL;
}

static bool read_file(struct builder *b, const char *path, const struct import_options *options, const struct ui *ui,
                      struct err *err)
{
	struct source *source = source_open(path, options, ui, err);
	const struct importer *importer;
	bool done;

	if (!source)
		return false;
	importer = recognise(source);
	if (importer)
		done = importer->read(source, b, err);
	else if (source_peek(source).n == 0 && source_damage(source))
		done = fail(err, "%s: %s", path, source_damage(source));
	else
		done = fail(err, "%s: %s", path, source_peek(source).n == 0 ? "empty" : formats);
	source_close(source);
	return done;
}

/* Compare names, runs of digits by their value. */
static int compare_names(const char *a, const char *b)
{
	while (*a && *b) {
		size_t n_a = strspn(a, "0123456789"), n_b = strspn(b, "0123456789");
		size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");

		if (n_a == 0 || n_b == 0) {
			if (*a != *b)
				return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
			a++;
			b++;
			continue;
		}
		a += zeros_a < n_a ? zeros_a : n_a - 1;
		b += zeros_b < n_b ? zeros_b : n_b - 1;
		n_a = strspn(a, "0123456789");
		n_b = strspn(b, "0123456789");
		if (n_a != n_b)
			return n_a < n_b ? -1 : 1;
		for (; n_a > 0; n_a--, a++, b++)
			if (*a != *b)
				return *a < *b ? -1 : 1;
	}
	return *a ? 1 : *b ? -1 : 0;
}

static int compare_paths(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	int order = compare_names(*x, *y);

	return order ? order : strcmp(*x, *y); /* r1 and r01 */
}

static bool has_suffix(const char *name, size_t n, const char *suffix)
{
	size_t k = strlen(suffix);

	return n > k && memcmp(name + n - k, suffix, k) == 0;
}

static bool is_trace_name(const char *name)
{
	size_t n = strlen(name);

	if (has_suffix(name, n, ".gz"))
		n -= 3;
	else if (has_suffix(name, n, ".zst"))
		n -= 4;
	for (size_t i = 0; i < n_importers; i++)
		if (has_suffix(name, n, importers[i]->suffix))
			return true;
	return false;
}

/* The file beside this one that is the same recording in a form that is preferred, or NULL. */
static const char *find_form(struct arena *arena, const char *path)
{
	static const char *const exports[] = { ".sqlite", ".sqlite.gz", ".sqlite.zst" };
	size_t n = strlen(path), n_suffix = 0;
	const char *other;

	if (has_suffix(path, n, ".gz") || has_suffix(path, n, ".zst")) {
		n -= has_suffix(path, n, ".gz") ? 3 : 4;
		other = arena_copy(arena, path, n);
		if (os_exists(other))
			return other;
	}
	for (size_t i = 0; i < n_importers; i++)
		if (has_suffix(path, n, importers[i]->suffix))
			n_suffix = strlen(importers[i]->suffix);
	if (has_suffix(path, n, importer_fathom.suffix))
		return NULL;
	other = arena_print(arena, "%.*s%s", (int)(n - n_suffix), path, importer_fathom.suffix);
	if (os_exists(other))
		return other;
	for (size_t i = 0; i < ARRAY_LEN(exports) && has_suffix(path, n, importer_nsys_rep.suffix); i++) {
		other = arena_print(arena, "%.*s%s", (int)(n - n_suffix), path, exports[i]);
		if (os_exists(other))
			return other;
	}
	return NULL;
}

static void add_input(struct inputs *in, const char *path)
{
	if (in->n == in->size) {
		in->size = in->size ? in->size * 2 : 16;
		in->paths = block_grow(in->paths, in->size * sizeof(*in->paths));
	}
	in->paths[in->n++] = path;
}

static bool add_folder(struct inputs *in, const char *folder, struct err *err)
{
	size_t first = in->n;
	struct dirent *entry;
	DIR *dir = opendir(folder);

	if (!dir)
		return fail(err, "%s: %s", folder, strerror(errno));
	while ((entry = readdir(dir))) {
		size_t n = strlen(folder);
		const char *path, *form;

		if (entry->d_name[0] == '.')
			continue;
		path = arena_print(&in->arena, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", entry->d_name);
		if (!is_trace_name(entry->d_name) || os_is_folder(path)) {
			in->n_others++;
		} else if ((form = find_form(&in->arena, path))) {
			if (in->n_forms++ == 0 || strcmp(path, in->form) < 0) {
				in->form = path;
				in->form_of = form;
			}
		} else {
			add_input(in, path);
		}
	}
	closedir(dir);
	qsort(in->paths + first, in->n - first, sizeof(*in->paths), compare_paths);
	if (in->n == first)
		return fail(err, "%s: no trace in this folder", folder);
	return true;
}

/* The control page of a folder that is a spool, or NULL. */
static const char *find_control(struct arena *arena, const char *folder)
{
	const char *path = arena_print(arena, "%s/control", folder);
	struct os_file file;
	struct err ignored;
	char head[8];
	size_t got = 0;

	if (os_file_size(path) < sizeof(head) || !os_open(path, &file, &ignored))
		return NULL;
	if (!os_read(&file, head, sizeof(head), &got, &ignored))
		got = 0;
	os_close(&file);
	return importer_spool.sniff((struct span){ head, got }) ? path : NULL;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Fails when two inputs are one file. */
static bool are_distinct(struct inputs *in, struct err *err)
{
	const char **real = arena_array(&in->arena, const char *, in->n);
	char path[PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++)
		if (realpath(in->paths[i], path))
			real[n++] = arena_copy(&in->arena, path, strlen(path));
	if (n > 1)
		qsort(real, n, sizeof(*real), compare_texts);
	for (size_t i = 1; i < n; i++)
		if (strcmp(real[i - 1], real[i]) == 0)
			return fail(err, "%s: named twice", real[i]);
	return true;
}

static bool find_inputs(struct inputs *in, const char *const *paths, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		const char *path = strcmp(paths[i], "-") == 0 ? "/dev/stdin" : paths[i];
		const bool is_folder = os_is_folder(path);
		const char *control = is_folder ? find_control(&in->arena, path) : NULL;

		/* A file that was named and is not there is a slip of the pen, not a loss. */
		if (!os_exists(path))
			return fail(err, "%s: %s", path, strerror(errno));
		if (!is_folder || control)
			add_input(in, control ? control : arena_copy(&in->arena, path, strlen(path)));
		else if (!add_folder(in, path, err))
			return false;
	}
	return are_distinct(in, err);
}

static void end_inputs(struct inputs *in)
{
	block_end(in->paths);
	arena_end(&in->arena);
}

static void tell_left_out(struct inputs *in, const struct ui *ui)
{
	if (in->n_others > 0)
		ui_note(ui, "%zu other file%s left alone", in->n_others, in->n_others == 1 ? "" : "s");
	if (in->n_forms)
		ui_note(ui, "%s left out: %s beside it is the same recording%s", in->form, in->form_of,
			in->n_forms > 1 ? arena_print(&in->arena, " (and %zu more such files)", in->n_forms - 1) : "");
}

/* One bad file among several is a note and a loss; only bad ones are a failure. */
static bool read_inputs(struct builder *b, const struct inputs *in, const struct import_options *options,
                        const struct ui *ui, struct err *err)
{
	size_t n_read = 0, n_overruled = 0;

	if (in->n > 1 && options->rank != NULL_i32)
		return fail(err, "rank %d: one rank for %zu files", options->rank, in->n);
	if (options->n_ranks && options->n_ranks != in->n)
		return fail(err, "--rank: %zu rank%s for %zu file%s", options->n_ranks,
			    options->n_ranks == 1 ? "" : "s", in->n, in->n == 1 ? "" : "s");
	for (size_t i = 0; i < in->n; i++) {
		struct import_options one = *options;

		if (options->n_ranks)
			one.rank = options->ranks[i];
		one.place = in->n > 1 ? (int)i + 1 : 0;
		one.n_overruled = &n_overruled;
		if (read_file(b, in->paths[i], &one, ui, err)) {
			n_read++;
			continue;
		}
		if (in->n == 1)
			return false;
		ui_note(ui, "%s", err->text);
		builder_lose(b, "unreadable", in->paths[i], 1, err->text);
	}
	if (n_overruled)
		ui_note(ui, "--rank: %zu of %zu file%s tell%s another rank (by content or name)", n_overruled,
			in->n, in->n == 1 ? "" : "s", n_overruled == 1 ? "s" : "");
	return n_read > 0;
}

bool import_into(struct builder *b, const char *path, const struct import_options *options, const struct ui *ui,
                 struct err *err)
{
	struct inputs in = { 0 };
	bool done = find_inputs(&in, &path, 1, err);

	if (done) {
		tell_left_out(&in, ui);
		done = read_inputs(b, &in, options, ui, err);
	}
	end_inputs(&in);
	return done;
}

static bool is_trace_file(const char *path)
{
	struct os_file file;
	struct err ignored;
	char head[256];
	size_t got = 0;
	bool is;

	/* What is no file, a pipe, cannot be read twice. */
	if (os_file_size(path) == 0 || !os_open(path, &file, &ignored))
		return false;
	is = os_read(&file, head, sizeof(head), &got, &ignored) && trace_is_file((struct span){ head, got });
	os_close(&file);
	return is;
}

struct trace *import_open(const char *const *paths, size_t n, const struct import_options *options, const struct ui *ui,
                          struct err *err)
{
	struct inputs in = { 0 };
	struct trace *trace = NULL;

	if (!find_inputs(&in, paths, n, err)) {
		end_inputs(&in);
		return NULL;
	}
	tell_left_out(&in, ui);
	if (in.n == 1 && !options->n_ranks && is_trace_file(in.paths[0])) {
		trace = trace_open(in.paths[0], err);
	} else {
		struct builder *b = builder_begin();

		if (read_inputs(b, &in, options, ui, err))
			trace = builder_seal(b, paths[0], err);
		else
			builder_drop(b);
	}
	end_inputs(&in);
	return trace;
}
