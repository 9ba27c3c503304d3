/*
 * cmd/reading.c - how files are read, which is the same for every command that
 * reads them: the words of --rank, and what the environment says of nsys and of
 * temporary files.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/os.h"
#include "cmd/command.h"
#include "import/import.h"

/* How many files a folder holds is known when it is read. */
static bool has_folder(const struct call *call)
{
	for (size_t i = 0; i < call->n_operands; i++)
		if (os_is_folder(call->operands[i]))
			return true;
	return false;
}

bool read_how(const struct call *call, const struct words *words, struct import_options *out)
{
	int32_t *ranks = arena_array(call->arena, int32_t, words->n);

	for (size_t i = 0; i < words->n; i++) {
		const char *word = words->word[i];
		char *end;
		long value;

		errno = 0;
		value = strtol(word, &end, 10);
		if (errno || end == word || *end || value < 0 || value >= INT32_MAX)
			return fail(call->err, "%s: --rank: %s is no number from 0 on", call->command, word);
		ranks[i] = (int32_t)value;
	}
	if (words->n && words->n != call->n_operands && !has_folder(call))
		return fail(call->err, "%s: --rank: %zu rank%s for %zu file%s", call->command, words->n,
			    words->n == 1 ? "" : "s", call->n_operands, call->n_operands == 1 ? "" : "s");
	out->nsys = getenv("FATHOM_NSYS");
	out->temporary = getenv("TMPDIR");
	out->ranks = words->n ? ranks : NULL;
	out->n_ranks = words->n;
	return true;
}
