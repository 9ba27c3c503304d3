/* cmd/outputs.c - see outputs.h. */
#include "cmd/outputs.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/os.h"
#include "base/text.h"
#include "trace/trace.h"

bool output_is_console(const char *output)
{
	return strcmp(output, "-") == 0;
}

bool output_is_foreign(const char *path)
{
	static const char *const endings[] = {
		"pdf",  "ps",   "doc",  "docx", "odt",   "rtf",     "tex",   "xls",    "xlsx",   "ods",      "csv",    "tsv",
		"ppt",  "pptx", "png",  "jpg",  "jpeg",  "gif",     "svg",   "xml",    "yaml",   "yml",      "toml",   "rst",
		"db",   "sql",  "zip",  "gz",   "ipynb", "parquet", "arrow", "fathom", "sqlite", "nsys-rep", "ncu-rep", "zst",
	};
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	for (size_t i = 0; dot && i < ARRAY_LEN(endings); i++)
		if (strcasecmp(dot + 1, endings[i]) == 0)
			return true;
	return false;
}

const char *output_nth(const struct words *words, size_t i)
{
	return words->n == 0 ? NULL : words->word[i < words->n ? i : words->n - 1];
}

const char *output_path(const struct call *call, const struct trace *trace, const char *output, const char *name,
                        const struct words *words, const char *suffix)
{
	struct text text = { 0 };

	if (output_is_console(output))
		return NULL;
	if (*output == '@')
		return output;
	if (strcmp(output, ".") == 0) {
		const char *slash = strrchr(trace->path, '/'), *base = slash ? slash + 1 : trace->path;
		const char *end = strchr(base, '.');

		text_add(&text, trace->path, end && end > base ? (size_t)(end - trace->path) : strlen(trace->path));
	} else {
		text_adds(&text, output);
	}
	text_print(&text, "_%s", name);
	for (size_t i = 0; i < words->n; i++)
		text_print(&text, "_%s", words->word[i]);
	text_adds(&text, suffix);

	const char *path = arena_copy(call->arena, text.p, text.n);

	text_end(&text);
	return path;
}

static bool write_command(const char *command, const struct text *text, struct err *err)
{
	FILE *pipe = popen(command, "w");
	void (*before)(int);
	int ended;

	if (!pipe)
		return fail(err, "%s: could not be started", command);
	/* A command that does not read to the end is its own affair. */
	before = signal(SIGPIPE, SIG_IGN);
	fwrite(text->p, 1, text->n, pipe);
	ended = pclose(pipe);
	signal(SIGPIPE, before);
	return ended == 0 || fail(err, "%s: did not end well", command);
}

bool output_write(const struct call *call, const char *path, bool replace, const struct text *text)
{
	struct os_draft draft;

	if (!path) {
		fwrite(text->p, 1, text->n, stdout);
		return true;
	}
	if (*path == '@') {
		fflush(stdout);
		return write_command(path + 1, text, call->err);
	}
	if (os_is_special(path)) {
		fflush(stdout);
		return os_pour(path, text->p, text->n, call->err);
	}
	if (!os_draft(path, &draft, call->err))
		return false;
	if (os_write(&draft, text->p, text->n, call->err) && os_commit(&draft, replace, call->err))
		return true;
	os_discard(&draft);
	return false;
}
