/* import/torch/pipe.c - see pipe.h. */
#include "import/torch/pipe.h"

#include <pthread.h>
#include <string.h>

/* More threads than this wait for the one that appends. */
enum { MOST_JOBS = 8, MOST_CHUNKS = MOST_JOBS + 2 };

struct pipe {
	int n_threads;
	uint64_t n_chunks;
	pthread_t threads[MOST_JOBS];
	pthread_mutex_t lock; /* for the numbers below */
	pthread_cond_t sent, parsed;
	uint64_t n_sent, n_begun, n_done; /* chunk i is ring[i % n_chunks] */
	bool is_parsed[MOST_CHUNKS];
	bool stop;
	struct chunk ring[MOST_CHUNKS];
};

static void *parse_chunks(void *arg)
{
	struct pipe *pipe = arg;

	pthread_mutex_lock(&pipe->lock);
	for (;;) {
		uint64_t i;

		while (!pipe->stop && pipe->n_begun == pipe->n_sent)
			pthread_cond_wait(&pipe->sent, &pipe->lock);
		if (pipe->stop)
			break;
		i = pipe->n_begun++ % pipe->n_chunks;
		pthread_mutex_unlock(&pipe->lock);
		chunk_parse(&pipe->ring[i]);
		pthread_mutex_lock(&pipe->lock);
		pipe->is_parsed[i] = true;
		pthread_cond_signal(&pipe->parsed);
	}
	pthread_mutex_unlock(&pipe->lock);
	return NULL;
}

struct pipe *pipe_begin(int jobs)
{
	struct pipe *pipe = block_take(sizeof(*pipe));
	int wanted = jobs <= 1 ? 0 : jobs < MOST_JOBS ? jobs : MOST_JOBS;

	memset(pipe, 0, sizeof(*pipe));
	pthread_mutex_init(&pipe->lock, NULL);
	pthread_cond_init(&pipe->sent, NULL);
	pthread_cond_init(&pipe->parsed, NULL);
	while (pipe->n_threads < wanted &&
	       pthread_create(&pipe->threads[pipe->n_threads], NULL, parse_chunks, pipe) == 0)
		pipe->n_threads++;
	pipe->n_chunks = pipe->n_threads ? (uint64_t)pipe->n_threads + 2 : 1;
	for (uint64_t i = 0; i < pipe->n_chunks; i++)
		chunk_begin(&pipe->ring[i]);
	return pipe;
}

void pipe_end(struct pipe *pipe)
{
	pthread_mutex_lock(&pipe->lock);
	pipe->stop = true;
	pthread_cond_broadcast(&pipe->sent);
	pthread_mutex_unlock(&pipe->lock);
	for (int i = 0; i < pipe->n_threads; i++)
		pthread_join(pipe->threads[i], NULL);
	for (uint64_t i = 0; i < pipe->n_chunks; i++)
		chunk_end(&pipe->ring[i]);
	pthread_cond_destroy(&pipe->parsed);
	pthread_cond_destroy(&pipe->sent);
	pthread_mutex_destroy(&pipe->lock);
	block_end(pipe);
}

struct chunk *pipe_free(struct pipe *pipe)
{
	return pipe->n_sent - pipe->n_done < pipe->n_chunks ? &pipe->ring[pipe->n_sent % pipe->n_chunks] : NULL;
}

void pipe_send(struct pipe *pipe)
{
	pthread_mutex_lock(&pipe->lock);
	pipe->is_parsed[pipe->n_sent % pipe->n_chunks] = false;
	pipe->n_sent++;
	pthread_cond_signal(&pipe->sent);
	pthread_mutex_unlock(&pipe->lock);
}

struct chunk *pipe_take(struct pipe *pipe)
{
	uint64_t i = pipe->n_done % pipe->n_chunks;

	if (pipe->n_done == pipe->n_sent)
		return NULL;
	if (pipe->n_threads == 0) {
		chunk_parse(&pipe->ring[i]);
		return &pipe->ring[i];
	}
	pthread_mutex_lock(&pipe->lock);
	while (!pipe->is_parsed[i])
		pthread_cond_wait(&pipe->parsed, &pipe->lock);
	pthread_mutex_unlock(&pipe->lock);
	return &pipe->ring[i];
}

void pipe_done(struct pipe *pipe)
{
	pthread_mutex_lock(&pipe->lock);
	pipe->n_done++;
	pthread_mutex_unlock(&pipe->lock);
}
