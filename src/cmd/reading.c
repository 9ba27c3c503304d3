/*
 * cmd/reading.c - how files are read, which is the same for every command that
 * reads them: the words of --rank, and what the environment says of nsys and of
 * temporary files.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/command.h"
#include "import/import.h"

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
	out->nsys = getenv("FATHOM_NSYS");
	out->temporary = getenv("TMPDIR");
	out->ranks = words->n ? ranks : NULL;
	out->n_ranks = words->n;
	return true;
}
