/* answer/document.c - see document.h. */
#include "answer/document.h"

#include <string.h>

/* Room for one more of an array that is owned by the arena. */
static void *grown(struct arena *arena, void *old, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return old;
	*room = *room ? 2 * *room : 8;

	void *more = arena_take_array(arena, *room, size);

	if (n)
		memcpy(more, old, n * size);
	return more;
}

struct section *document_section(struct document *d, const char *id, const char *title, bool is_screen)
{
	struct section *s = arena_array(d->speech.arena, struct section, 1);

	*s = (struct section){ .id = id, .title = title, .is_screen = is_screen };
	d->sections = grown(d->speech.arena, d->sections, d->n_sections, &d->room, sizeof(*d->sections));
	d->sections[d->n_sections++] = s;
	return s;
}

static struct block *add(struct document *d, struct section *s, struct block block)
{
	struct block *b = arena_array(d->speech.arena, struct block, 1);

	*b = block;
	s->blocks = grown(d->speech.arena, s->blocks, s->n_blocks, &s->room, sizeof(*s->blocks));
	s->blocks[s->n_blocks++] = b;
	return b;
}

struct block *add_paragraph(struct document *d, struct section *s, enum tone tone, const char *text)
{
	return add(d, s, (struct block){ .kind = BLOCK_PARAGRAPH, .tone = tone, .text = text });
}

struct block *add_note(struct document *d, struct section *s, const char *text)
{
	return add(d, s, (struct block){ .kind = BLOCK_NOTE, .tone = TONE_FAINT, .text = text });
}

struct block *add_facts(struct document *d, struct section *s)
{
	return add(d, s, (struct block){ .kind = BLOCK_FACTS });
}

struct block *add_bar(struct document *d, struct section *s, const char *text)
{
	return add(d, s, (struct block){ .kind = BLOCK_BAR, .text = text });
}

struct block *add_point(struct document *d, struct section *s, int number, enum tone tone, const char *heading)
{
	return add(d, s, (struct block){ .kind = BLOCK_POINT, .tone = tone, .number = number, .text = heading });
}

struct block *add_table(struct document *d, struct section *s, const char *layout, const enum phrase_id *titles)
{
	struct block *b = add(d, s, (struct block){ .kind = BLOCK_TABLE, .n_columns = strlen(layout) });

	b->columns = arena_array(d->speech.arena, struct table_column, b->n_columns);
	for (size_t i = 0; i < b->n_columns; i++)
		b->columns[i] = (struct table_column){
			.title = say(&d->speech, titles[i]),
			.is_number = layout[i] == 'n',
			.may_wrap = layout[i] == 'w',
		};
	return b;
}

void block_pair(struct document *d, struct block *b, const char *label, const char *text)
{
	b->pairs = grown(d->speech.arena, b->pairs, b->n_pairs, &b->room_pairs, sizeof(*b->pairs));
	b->pairs[b->n_pairs++] = (struct pair){ .label = label, .text = text };
}

void block_part(struct document *d, struct block *b, unsigned hue, const char *label, const char *amount, double share)
{
	b->parts = grown(d->speech.arena, b->parts, b->n_parts, &b->room_parts, sizeof(*b->parts));
	b->parts[b->n_parts++] = (struct bar_part){ label, amount, share, hue };
}

void block_row(struct document *d, struct block *b, const char *const *cells)
{
	for (size_t i = 0; i < b->n_columns; i++) {
		b->cells = grown(d->speech.arena, b->cells, b->n_cells, &b->room_cells, sizeof(*b->cells));
		b->cells[b->n_cells++] = cells[i];
	}
	b->n_rows++;
}
