/* recover.c - records that programs wrote and a killed tracer has not read
 *
 * The log outlives its tracer.  The ring also still holds records that were read
 * before, as far as they are not overwritten.  From those the processes and their
 * directories are learned, without events.  The records after the tail are then read as
 * the tracer would have read them, only later: files that have changed since are gaps,
 * as always. */
#include <errno.h>
#include <stdlib.h>

#include "trace/hybrid/hybrid.h"
#include "trace/hybrid/hybrid_internal.h"

struct recovery {
	struct hybrid hybrid; /* without listener, guardian and command */
	struct tracer_job job;
};

static void free_recovery(struct recovery *r)
{
	if (!r)
		return;
	log_file_release(&r->hybrid.file);
	members_release(&r->hybrid);
	log_opens_release(&r->hybrid);
	str_release(&r->hybrid.magic);
	free(r->hybrid.waiting.tids);
	written_release(&r->hybrid.written);
	written_release(&r->hybrid.closed.writable);
	observer_release(&r->hybrid.o);
	free(r);
}
DEFINE_CLEANUP(struct recovery *, free_recovery)

/* Learns the processes from records that were already read: up to the tail, without
 * events. */
static void remember(struct hybrid *h)
{
	uint64_t head = atomic_load(&h->log.header->head);
	uint64_t tail = atomic_load(&h->log.header->tail);

	if (head - tail > h->log.n_cells)
		return; /* the log is inconsistent: log_records_drain() will
			 * report it */
	h->log.tail = head > h->log.n_cells ? head - h->log.n_cells : 0;
	h->o.quiet = true;
	while (h->log.tail < tail) {
		int r;

		if (log_is_stuck(&h->log))
			log_skip(&h->log); /* the end of an older record */
		r = log_read(&h->log, &h->view);
		if (r == -EPROTO)
			break;
		if (r == 1)
			log_records_who(h, &h->view);
	}
	h->o.quiet = false;
	h->log.tail = tail;
}

static void read_rest(struct hybrid *h)
{
	log_records_drain(h, true);
	log_records_trouble(h);
	for (size_t i = 0; i < h->waiting.n; i++) {
		struct tracee *t = tree_find(&h->o.tree, h->waiting.tids[i]);

		if (t)
			pending_call_end(h, t);
	}
	log_opens_abandon(h, NULL);
}

int hybrid_recover(const char *run, pid_t root,
		   void (*sink)(void *ctx, const struct event *ev), void *ctx)
{
	CLEANUP(free_recoveryp)
	struct recovery *r = calloc(1, sizeof(*r));
	struct hybrid *h;
	int result;

	if (!r)
		return -ENOMEM;
	h = &r->hybrid;
	h->base.ops = &tracer_hybrid;
	h->listener = h->guardian.line = -1;
	h->o.told = emit_event;
	r->job = (struct tracer_job){ .sink = sink, .ctx = ctx };
	result = observer_init(&h->o, &r->job);
	if (result == 0)
		result = log_file_salvage(&h->file, run);
	if (result < 0)
		return result;
	log_reader_init(&h->log, h->file.header, h->file.n_cells, h->file.key);
	observer_set_time(&h->o);
	h->late = true;
	h->o.root = root;
	h->o.quiet = true;
	if (root > 0 && !member_add(h, root, 0))
		return -ENOMEM;
	remember(h);
	read_rest(h);
	return 0;
}

void hybrid_forget(const char *run)
{
	log_file_discard(run);
}
