/*
 * cmd/ranks.c - the words of --rank, which every command that reads files has.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/command.h"
#include "import/import.h"

bool read_ranks(const struct call *call, const struct words *words, struct import_options *out)
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
	out->ranks = words->n ? ranks : NULL;
	out->n_ranks = words->n;
	return true;
}
