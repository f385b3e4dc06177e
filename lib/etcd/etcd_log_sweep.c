/* etcd_log_sweep.c - the end of snapshots that never came to be.
 *
 * A leader that ends while it writes a snapshot leaves parts that no head names, and so does a
 * snapshot that fails.  They are in nobody's way, but etcd has to hold them.  So whoever begins
 * to lead, or fails, removes all parts but those of the head. */
#include <errno.h>

#include "base/macros.h"
#include "etcd/etcd_log_internal.h"

bool log_sweep_is_on(const struct etcd_log *l)
{
	return etcd_call_is_on(&l->sweep.call) ||
	       loop_timer_is_set(&l->sweep.again);
}

/* That it failed is no harm: the next snapshot, or the next leader, will do it. */
static void on_swept(struct etcd_call *call, unsigned status,
		     const ProtobufCMessage *reply, const char *sentence)
{
	struct log_step *s = container_of(call, struct log_step, call);

	if (log_step_is_over(s, status) &&
	    log_step_result(status, reply, sentence) == -ESTALE)
		log_fail(s->log, -ESTALE, LOG_STALE);
}

static void sweep(struct log_step *s)
{
	struct etcd_log *l = s->log;
	struct etcd_key all = etcd_key(l->cluster, "snap/");
	struct etcd_key end = etcd_key_behind(&all);
	struct etcd_key part = etcd_key_part(l->cluster, l->begin, 0);
	struct etcd_key behind = etcd_key_part(l->cluster, l->begin,
					       l->n_parts);
	const struct log_op ops[] = {
		{ .key = &all, .behind = &part },
		{ .key = &behind, .behind = &end },
	};

	log_step_write(s, ops, 2, on_swept);
}

void log_sweep(struct etcd_log *l)
{
	if (log_sweep_is_on(l))
		return;
	log_step_init(&l->sweep, l, sweep);
	sweep(&l->sweep);
}
