/*
 * import/torch/pipe.h - chunks that are parsed by several threads at once.
 *
 * Whoever owns the pipe fills chunks and takes them back parsed, in the order
 * in which it gave them.
 */
#pragma once

#include "import/torch/chunk.h"

struct pipe;

/* jobs is the number of threads that parse; 1 parses in pipe_take. Owned by the caller (pipe_end). */
struct pipe *pipe_begin(int jobs);
void pipe_end(struct pipe *pipe);

/* An unused chunk to fill, or NULL while all are on their way. */
struct chunk *pipe_free(struct pipe *pipe);

/* Send the chunk that pipe_free gave. */
void pipe_send(struct pipe *pipe);

/* The oldest chunk that was sent, parsed; NULL if there is none. It is the caller's until pipe_done. */
struct chunk *pipe_take(struct pipe *pipe);
void pipe_done(struct pipe *pipe);
