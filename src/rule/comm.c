/* rule/comm.c - see comm.h. */
#include "rule/comm.h"

#include <math.h>

#include "query/stats.h"

static void find_longest(struct comm *c, const struct lookup *l)
{
	const struct timeline *tl = &l->a->tl;
	const struct timeline_device *d = &tl->devices[c->device];
	int64_t longest_ns = -1;

	for (uint32_t i = d->first_op; i < d->first_op + d->n_ops; i++) {
		const struct op *op = lookup_op(l, i);

		if (!op || op->class != OP_COMM)
			continue;
		c->n++;
		if (duration_ns(op->start_ns, op->end_ns) > longest_ns) {
			longest_ns = duration_ns(op->start_ns, op->end_ns);
			c->longest = i;
		}
	}
}

/* Wait and transfer of the collectives whose member ran on this device. */
static void split(struct comm *c, const struct lookup *l)
{
	const struct ranks *ranks = &l->a->ranks;
	const struct timeline_device *d = &l->a->tl.devices[c->device];

	for (size_t i = 0; i < ranks->n_members; i++) {
		const struct collective_member *m = &ranks->members[i];

		if (m->wait_ns == NULL_i64 || m->transfer_ns == NULL_i64 || m->op < d->first_op ||
		    m->op >= d->first_op + d->n_ops || !lookup_op(l, m->op))
			continue;
		add_ns(&c->wait_ns, m->wait_ns);
		add_ns(&c->transfer_ns, m->transfer_ns);
	}
	c->transfer_share = (double)c->wait_ns + (double)c->transfer_ns > 0 ?
			    (double)c->transfer_ns / ((double)c->wait_ns + (double)c->transfer_ns) : NAN;
}

bool comm_of(struct comm *out, const struct lookup *l)
{
	struct comm c = { .longest = NULL_ref };

	for (size_t d = 0; d < l->a->tl.n_devices; d++) {
		const struct account *account = &l->a->devices[d].account;

		if (account->comm_busy_ns > 0 &&
		    (!c.account || account_exposed_comm_ns(account) > account_exposed_comm_ns(c.account))) {
			c.account = account;
			c.device = d;
		}
	}
	if (!c.account)
		return false;
	c.exposed_ns = account_exposed_comm_ns(c.account);
	c.busy_ns = c.account->wall_ns - c.account->idle_ns;
	c.overlap = (double)c.account->hidden_comm_ns / (double)c.account->comm_busy_ns;
	c.of_busy = c.busy_ns > 0 ? (double)c.account->comm_busy_ns / (double)c.busy_ns : 0;
	find_longest(&c, l);
	split(&c, l);
	c.largest = l->a->ranks.n_rows ? l->a->ranks.rows[0].name : NULL;
	*out = c;
	return true;
}
