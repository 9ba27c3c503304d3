/*
 * answer/document.h - a report before it is text: sections of blocks.
 *
 * Texts may hold `code`; everything else in them is plain. The document knows
 * nothing of terminals or HTML; renderers know nothing of GPUs.
 */
#pragma once

#include "answer/speech.h"

struct text;

enum tone { TONE_PLAIN, TONE_STRONG, TONE_FAINT, TONE_GOOD, TONE_WARN, TONE_BAD };

enum block_kind {
	BLOCK_PARAGRAPH, /* text */
	BLOCK_NOTE,      /* text, in small: a denominator, why a table is empty */
	BLOCK_FACTS,     /* label and text, a line each */
	BLOCK_TABLE,
	BLOCK_BAR,       /* parts of a whole */
	BLOCK_POINT,     /* a numbered heading with labelled lines below */
};

struct pair {
	const char *label, *text;
	enum tone tone;
};

struct bar_part {
	const char *label, *amount;
	double share;
	unsigned hue; /* number of its colour, and of its letter in text */
};

struct table_column {
	const char *title;
	bool is_number; /* to the right */
	bool may_wrap;  /* its pieces are broken where there is no room */
};

struct block {
	enum block_kind kind;
	enum tone tone;
	const char *text;             /* of a point: its heading */
	const char *whole;            /* of a bar: what its parts add up to */
	int number;                   /* of a point */
	struct pair *pairs;           /* facts; lines of a point */
	struct bar_part *parts;
	struct table_column *columns;
	const char **cells;           /* n_rows * n_columns; NULL is empty */
	size_t n_pairs, n_parts, n_columns, n_rows;
	size_t room_pairs, room_parts, room_cells, n_cells;
};

struct section {
	const char *id;    /* accounting: an anchor, never translated */
	const char *title;
	bool is_screen;    /* of the first screen; the others are the full report */
	bool is_plain;     /* speaks for itself: no title where room is short */
	bool is_joined;    /* follows the section before without an empty line where room is short */
	struct block **blocks;
	size_t n_blocks, room;
};

struct document {
	struct speech speech; /* its arena owns the document */
	const char *title, *subtitle;
	struct section **sections;
	size_t n_sections, room;
};

struct section *document_section(struct document *d, const char *id, const char *title, bool is_screen);

/* Add a block. Texts are borrowed: they live as long as the document's arena. */
struct block *add_paragraph(struct document *d, struct section *s, enum tone tone, const char *text);
struct block *add_note(struct document *d, struct section *s, const char *text);
struct block *add_facts(struct document *d, struct section *s);
struct block *add_bar(struct document *d, struct section *s, const char *text);
struct block *add_point(struct document *d, struct section *s, int number, enum tone tone, const char *heading);
/* A column a letter: t text, w text whose words may be broken, n number; with as many titles. */
struct block *add_table(struct document *d, struct section *s, const char *layout, const enum phrase_id *titles);

void block_pair(struct document *d, struct block *b, const char *label, const char *text);
void block_part(struct document *d, struct block *b, unsigned hue, const char *label, const char *amount, double share);
/* Add a row: as many texts as there are columns. */
void block_row(struct document *d, struct block *b, const char *const *cells);

/* How a document is written. */
struct look {
	int width;        /* columns of text; 0 for the usual 100 */
	bool colour;
	bool screen_only; /* of text: the first screen alone */
};

void render_document_text(const struct document *d, const struct look *look, struct text *out);
void render_document_markdown(const struct document *d, const struct look *look, struct text *out);
void render_document_html(const struct document *d, const struct look *look, struct text *out);
