/*
 * session/machine.h - what this machine allows, line by line.
 *
 * Libraries of the driver are opened in a child process, so that neither a
 * crash nor a side effect of theirs reaches us. Nothing is changed and no
 * counter is sampled.
 */
#pragma once

#include "base/arena.h"
#include "base/base.h"

struct machine_line {
	const char *group, *name;
	const char *state; /* on, off, or "" for what is only a value */
	const char *value;
	const char *why;   /* why it is off, or "" */
	const char *how;   /* how to turn it on, or "" */
};

struct machine {
	struct arena *arena;
	struct machine_line *line;
	size_t n, room;
};

/* Add a line; the texts are copied, NULL is "". */
void machine_add(struct machine *m, struct machine_line line);

/* The lines that a probe adds in a child process; one line of its own when that does not end well. */
void machine_in_child(struct machine *m, const char *group, void (*probe)(struct machine *m, const char *what),
		      const char *what);

/* The first line of a file, or NULL. Owned by the arena. */
char *machine_read(struct machine *m, const char *path);

/* Number of the first process of that name; 0 when there is none. Names are cut at 15 bytes. */
int machine_process(const char *name);

/* ---- the probes ---- */

void machine_gpu(struct machine *m);
void machine_cupti(struct machine *m, const char *collector, const char *why_no_collector);
void machine_host(struct machine *m);
void machine_place(struct machine *m, const char *spool);
void machine_network(struct machine *m);
