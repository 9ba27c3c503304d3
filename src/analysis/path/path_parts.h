/* analysis/path/path_parts.h - the walk as its files share it. */
#pragma once

#include "analysis/path/path.h"
#include "analysis/path/relay.h"

/* Where the walk is: on an operation, or on a thread at the end of a call or in it. */
struct place {
	uint32_t op;     /* index, or NULL_ref on a thread */
	uint32_t call;   /* index; NULL_ref when none came before */
	uint32_t thread; /* index, or NULL_ref on a device */
};

/* A stretch of a thread that some row explains. */
struct mark {
	int64_t start_ns, end_ns;
};

/* Rows of a table with spans of threads, sorted by (track, start, -end). */
struct spans {
	size_t n;
	const int64_t *start_ns, *end_ns;
	const ref *track;
	const str_id *name; /* NULL: all rows count */
	bool (*is_wait)(const char *name); /* NULL: by the words of a function */
};

/* Writes pieces from the last one on. */
struct piece_writer {
	uint8_t *end; /* of their bytes; NULL while they are counted */
	size_t n, n_bytes;
	uint32_t op, call; /* the last ones that were charged */
};

void pieces_put(struct piece_writer *w, const struct path_piece *piece);

struct walk {
	const struct timeline *tl;
	const struct ranks *ranks; /* or NULL */
	struct interval window;
	struct path *path;
	struct arena *scratch;
	struct relays relays;
	struct spans waits, overheads;
	uint8_t *is_wait;   /* by str_id: 0 not looked at, 1 no, 2 yes */
	struct mark *marks; /* a block */
	size_t marks_room;
	struct piece_writer pieces;
	size_t n_still;
	struct place place;
	int64_t at_ns;    /* on the clock of the pieces */
	int64_t shift_ns; /* from the clock of the place to that of the pieces */
};

void walk_charge(struct walk *w, int64_t from_ns, enum path_kind kind, struct place charged);

/* Go from an operation that began at start_ns to what it waited for, or to its launch. */
void walk_leave_op(struct walk *w, uint32_t op, int64_t start_ns);

/* Ask the trace for what tells host time apart; what cannot be read is not used. */
void walk_read_evidence(struct walk *w);

/* Waits on record of a thread in a stretch of time: marks 0 .. n, disjoint and ascending. Gives n. */
size_t walk_find_waits(struct walk *w, ref track, int64_t from_ns, int64_t to_ns);

/* Charge the host's time of the place's thread back to from_ns; call is the one behind it, or NULL_ref. */
void walk_host(struct walk *w, int64_t from_ns, uint32_t call);

/* On a matched collective: charge it and go to the rank that came last. False when it is not matched. */
bool walk_collective(struct walk *w, uint32_t op);

/*
 * What the end of a window is: an operation that ends with it, else (NULL_ref)
 * a thread, the one whose last call ends last; both NULL_ref in an empty window.
 */
struct path_end {
	uint32_t op, thread;
};

struct path_end path_find_end(const struct timeline *tl, struct interval window);

/* The latest operation of the stream of one that has begun by a time, or NULL_ref when it is not soon found. */
uint32_t op_begun_by(const struct timeline *tl, uint32_t op, int64_t at_ns);
