/* rule/comm.h - communication of the device that exposes most of it: for the rules comm.exposed and comm.share. */
#pragma once

#include "rule/lookup.h"

struct comm {
	size_t device;
	const struct account *account;
	uint64_t n;
	int64_t exposed_ns, busy_ns;      /* exposed; device busy with anything */
	double overlap, of_busy;          /* U(M and C) / U(M); U(M) / busy */
	uint32_t longest;                 /* op with the longest duration, or NULL_ref */
	/* Sums over the members of collectives that could be split; both 0 where none could. */
	int64_t wait_ns, transfer_ns;
	double transfer_share;            /* of wait and transfer; NAN without a split */
	const char *largest;              /* operation with most time, or NULL */
};

/* False when no device communicates in the window. */
bool comm_of(struct comm *out, const struct lookup *l);
