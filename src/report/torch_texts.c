/* report/torch_texts.c - a pool of texts with dense ids: open addressing, at most half full. */
#include <string.h>

#include "base/hash.h"
#include "report/torch_model.h"

static void grow(struct torch_texts *texts)
{
	texts->n_slots = texts->n_slots ? texts->n_slots * 2 : 64;
	texts->slots = block_grow(texts->slots, texts->n_slots * sizeof(*texts->slots));
	memset(texts->slots, 0xff, texts->n_slots * sizeof(*texts->slots));
	for (size_t i = 0; i < texts->n; i++) {
		size_t at = hash_bytes(texts->text[i].p, texts->text[i].n) & (texts->n_slots - 1);

		while (texts->slots[at] != TORCH_NONE)
			at = (at + 1) & (texts->n_slots - 1);
		texts->slots[at] = (uint32_t)i;
	}
}

uint32_t torch_texts_id(struct torch_texts *texts, struct arena *arena, const char *p, size_t n)
{
	size_t at;

	if (texts->n * 2 >= texts->n_slots)
		grow(texts);
	at = hash_bytes(p, n) & (texts->n_slots - 1);
	for (; texts->slots[at] != TORCH_NONE; at = (at + 1) & (texts->n_slots - 1)) {
		const struct span *known = &texts->text[texts->slots[at]];

		if (known->n == n && memcmp(known->p, p, n) == 0)
			return texts->slots[at];
	}
	if (texts->n == texts->room) {
		texts->room = texts->room ? texts->room * 2 : 64;
		texts->text = block_grow(texts->text, texts->room * sizeof(*texts->text));
	}
	texts->text[texts->n] = (struct span){ arena_copy(arena, p, n), n };
	texts->slots[at] = (uint32_t)texts->n;
	return (uint32_t)texts->n++;
}

void torch_texts_end(struct torch_texts *texts)
{
	block_end(texts->text);
	block_end(texts->slots);
	*texts = (struct torch_texts){ 0 };
}
