/* base/share.c - work that several threads share; see os.h. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/os.h"

enum { MOST_HELPERS = 15 };

struct share {
	void (*job)(void *arg, size_t i);
	void *arg;
	size_t n;
	atomic_size_t next;
};

static void *work(void *p)
{
	struct share *s = p;

	for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n;)
		s->job(s->arg, i);
	return NULL;
}

void os_share(void (*job)(void *arg, size_t i), void *arg, size_t n, int n_threads)
{
	struct share s = { .job = job, .arg = arg, .n = n };
	const int n_processors = os_processors();
	pthread_t helpers[MOST_HELPERS];
	int n_helpers = 0;

	/* A thread that cannot be had is done without. */
	while (n_helpers < MOST_HELPERS && n_helpers + 1 < n_threads && n_helpers + 1 < n_processors &&
	       pthread_create(&helpers[n_helpers], NULL, work, &s) == 0)
		n_helpers++;
	work(&s);
	while (n_helpers > 0)
		pthread_join(helpers[--n_helpers], NULL);
}
