/*
 * analysis/path/path_pieces.c - the pieces of a path as bytes, some five for each.
 *
 * A piece is a byte with its kind and what it is charged to, its length, and
 * how far the next piece that is charged to an operation (or call) is from its
 * own one. The walk comes from the end and knows that one already; a reader
 * begins with the first ones and adds.
 */
#include <string.h>

#include "analysis/path/path_parts.h"

enum charged { CHARGED_NOBODY, CHARGED_OP, CHARGED_CALL };

enum { KIND_BITS = 6, LONGEST_NUMBER = 10, LONGEST_PIECE = 1 + 2 * LONGEST_NUMBER };

_Static_assert(N_PATH_KINDS <= 1 << KIND_BITS, "a kind and who is charged share a byte");

/* Seven bits a byte, the lowest first. */
static size_t put_number(uint8_t *at, uint64_t number)
{
	size_t n = 0;

	for (; number >= 128; number >>= 7)
		at[n++] = (uint8_t)(number | 128);
	at[n++] = (uint8_t)number;
	return n;
}

static uint64_t take_number(const uint8_t **at)
{
	uint64_t number = 0;
	unsigned shift = 0;

	for (; **at & 128; shift += 7)
		number |= (uint64_t)(*(*at)++ & 127) << shift;
	return number | (uint64_t)*(*at)++ << shift;
}

/* Small numbers for small distances of either sign. */
static uint64_t folded(int64_t distance)
{
	return (uint64_t)distance << 1 ^ (uint64_t)(distance >> 63);
}

static int64_t unfolded(uint64_t number)
{
	return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

void pieces_put(struct piece_writer *w, const struct path_piece *piece)
{
	const enum charged charged = piece->op != NULL_ref     ? CHARGED_OP
	                             : piece->call != NULL_ref ? CHARGED_CALL
	                                                       : CHARGED_NOBODY;
	const uint32_t index = charged == CHARGED_OP ? piece->op : piece->call;
	uint32_t *next = charged == CHARGED_OP ? &w->op : &w->call;
	uint8_t bytes[LONGEST_PIECE];
	size_t n = 0;

	bytes[n++] = (uint8_t)(piece->kind | (unsigned)charged << KIND_BITS);
	n += put_number(bytes + n, (uint64_t)(piece->end_ns - piece->start_ns));
	if (charged != CHARGED_NOBODY) {
		n += put_number(bytes + n, folded((int64_t)*next - index));
		*next = index;
	}
	w->n_bytes += n;
	w->n++;
	if (w->end)
		memcpy(w->end - w->n_bytes, bytes, n);
}

struct path_reader path_read(const struct path *path)
{
	return (struct path_reader){ .at = path->pieces,
		                     .n_left = path->n,
		                     .at_ns = path->window.start_ns,
		                     .op = path->first_op,
		                     .call = path->first_call };
}

bool path_next(struct path_reader *r, struct path_piece *piece)
{
	unsigned charged;

	if (r->n_left == 0)
		return false;
	r->n_left--;
	charged = *r->at >> KIND_BITS;
	*piece = (struct path_piece){ .start_ns = r->at_ns,
		                      .op = NULL_ref,
		                      .call = NULL_ref,
		                      .kind = *r->at++ & ((1 << KIND_BITS) - 1) };
	piece->end_ns = r->at_ns += (int64_t)take_number(&r->at);
	if (charged == CHARGED_OP) {
		piece->op = r->op;
		r->op += (uint32_t)unfolded(take_number(&r->at));
	} else if (charged == CHARGED_CALL) {
		piece->call = r->call;
		r->call += (uint32_t)unfolded(take_number(&r->at));
	}
	return true;
}
