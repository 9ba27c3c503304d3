/*
 * rule/copies.h - copies between host and device with what they cost: for the
 * rules copy.pageable, copy.synchronous and copy.serial.
 */
#pragma once

#include "rule/lookup.h"

/* How a copy stands to the host; each copy is of one kind. */
enum copy_kind {
	COPY_PAGEABLE,    /* host memory is pageable: staged by the driver, the caller waits */
	COPY_SYNCHRONOUS, /* asked for by a call that waits by what it is */
	COPY_SERIAL,      /* asynchronous, and yet nothing ran beside it */
	COPY_OTHER,       /* between devices, inside one, or too small to count */
	N_COPY_KINDS
};

struct copies {
	uint64_t n[N_COPY_KINDS], n_down[N_COPY_KINDS]; /* down: device to host */
	double bytes[N_COPY_KINDS];
	int64_t ns[N_COPY_KINDS];         /* accumulated durations */
	int64_t exposed_ns[N_COPY_KINDS]; /* of the device's time; at most its exposed copies */
	int64_t waiting_ns[N_COPY_KINDS]; /* device idle while the host was inside the copy's call */
	uint32_t largest[N_COPY_KINDS];   /* op with the most exposed time, or NULL_ref */
	struct places places[N_COPY_KINDS];
	uint64_t n_unknown;               /* between host and device, and the kind of memory was not recorded */
	int64_t unknown_ns;               /* exposed time of them */
};

struct copies copies_of(const struct lookup *l);

/* Values, evidence and class that the three rules tell; time at stake is what is exposed and waited for. */
void tell_copies(struct finding *f, const struct lookup *l, const struct copies *c, enum copy_kind kind);

/*
 * The answer to copy=0 as what could come back at most, since no remedy takes a copy's time away. One that can only be
 * hidden gains no more than the time at stake. Set that first.
 */
void bound_copies(struct finding *f, const struct lookup *l, bool is_hidden);
