/* watch.c - who wants to hear of changes.
 *
 * Changes of the world are gathered: when ten thousand workers join within a second, a
 * watcher hears of it some twenty times, not ten thousand times.  The first
 * change is told at once. */
#include "coord/core/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "coord/data/data.h"
#include "coord/keys/key.h"

enum {
	WORLD_PAUSE_MS = 50, /* between two WORLD events of a job */
};

struct watch {
	struct wait wait;
	struct list in_job, in_keys, in_worker;
	bool shards; /* wants TABLE events */
	char *worker_id; /* NULL: of no worker */
	char *prefix; /* NULL: no keys */
};

/* ---- the world ---- */

static bool noted(const struct job *job, const char *id)
{
	for (size_t i = 0; i < job->n_changed; i++)
		if (strcmp(job->changed[i], id) == 0)
			return true;
	return false;
}

void world_changed(struct job *job, const char *worker_id)
{
	struct coord *c = job->c;
	int64_t due = job->told_ms + WORLD_PAUSE_MS;
	char *copy;

	saves_check(job);
	if (list_empty(&job->watches))
		return;
	if (due < c->now.mono_ms)
		due = c->now.mono_ms;
	if (due < job->world.timer.due_ms)
		timer_heap_set(&c->mono, &job->world.timer, due);
	if (!worker_id || job->n_changed == MAX_CHANGED ||
	    noted(job, worker_id))
		return;
	copy = strdup(worker_id);
	if (copy)
		job->changed[job->n_changed++] = copy;
}

/* What an event tells every watcher... */
static void common_event(const struct job *job, Roar__WatchEvent *ret)
{
	roar__watch_event__init(ret);
	ret->world_epoch = job->epoch;
	ret->world_size = (int32_t)job->n_workers;
	ret->ready = job_ready(job);
}

/* ...and this one. */
static int32_t rank_of(const struct job *job, const struct watch *watch)
{
	const struct worker *w = watch->worker_id ?
					 worker_find(job, watch->worker_id) :
					 NULL;

	return w ? w->rank : -1;
}

static void tell_rank(const struct job *job, const struct watch *watch,
		      Roar__WatchEvent *event)
{
	event->rank = rank_of(job, watch);
	call_reply(job->c, watch->wait.call, COORD_MORE, event, NULL);
}

static void event_of(const struct job *job, const struct watch *watch,
		     Roar__WatchEvent *ret)
{
	common_event(job, ret);
	ret->rank = rank_of(job, watch);
}

/* How those who changed are now. */
struct change_views {
	Roar__WorkerView views[MAX_CHANGED], *ptrs[MAX_CHANGED];
	Coordinator__WorkerStatus statuses[MAX_CHANGED];
	size_t n;
};

static void view_changed(const struct job *job, struct change_views *v)
{
	v->n = job->n_changed;
	for (size_t i = 0; i < v->n; i++) {
		const struct worker *w = worker_find(job, job->changed[i]);

		v->ptrs[i] = &v->views[i];
		if (w) {
			worker_view(w, &v->views[i], &v->statuses[i]);
			continue;
		}
		roar__worker_view__init(&v->views[i]);
		v->views[i].worker_id = job->changed[i];
		v->views[i].rank = -1;
		v->views[i].state = ROAR__WORKER_VIEW__STATE__GONE;
	}
}

void world_due(struct coord *c, struct alarm *a)
{
	struct job *job = container_of(a, struct job, world);
	Roar__WatchEvent event, own = ROAR__WATCH_EVENT__INIT, *each;
	struct change_views v;

	timer_heap_set(&c->mono, &a->timer, INT64_MAX);
	job->told_ms = c->now.mono_ms;
	view_changed(job, &v);
	common_event(job, &event);
	event.changed = v.ptrs;
	event.n_changed = v.n;
	each = shared_reply_begin(c, &event, &own);
	LIST_EACH(it, after, &job->watches)
		tell_rank(job, container_of(it, struct watch, in_job), each);
	shared_reply_end(c);
	for (size_t i = 0; i < job->n_changed; i++)
		free(job->changed[i]);
	job->n_changed = 0;
}

/* ---- commands ---- */

void commands_push(struct worker *w)
{
	struct watch *watch;
	char **commands;
	size_t n;

	if (!w->n_commands || list_empty(&w->watches) ||
	    commands_take(w, &commands, &n) < 0)
		return;
	/* The youngest: an older one may be of a connection that is dead and does not know
	 * it yet. */
	watch = container_of(w->watches.prev, struct watch, in_worker);
	for (size_t i = 0; i < n; i++) {
		Roar__WatchEvent event;

		event_of(w->job, watch, &event);
		event.kind = ROAR__WATCH_EVENT__KIND__COMMAND;
		event.command = commands[i];
		call_reply(w->job->c, watch->wait.call, COORD_MORE, &event,
			   NULL);
	}
	commands_free(commands, n);
}

void worker_drop_watches(struct worker *w)
{
	LIST_EACH(it, after, &w->watches)
		list_remove(it);
}

/* ---- keys ---- */

void key_publish(struct job *job, const char *name, const struct key *key)
{
	Roar__WatchEvent event, own = ROAR__WATCH_EVENT__INIT, *each;
	Roar__KvEntry entry;

	if (list_empty(&job->key_watches))
		return;
	common_event(job, &event);
	event.kind = ROAR__WATCH_EVENT__KIND__KEY;
	event.entry = &entry;
	event.deleted = !key;
	key_view(job, name, key, &entry);
	if (!key)
		entry.version = job->last_version;
	each = shared_reply_begin(job->c, &event, &own);
	LIST_EACH(it, after, &job->key_watches) {
		struct watch *watch = container_of(it, struct watch, in_keys);

		if (strncmp(name, watch->prefix, strlen(watch->prefix)) == 0)
			tell_rank(job, watch, each);
	}
	shared_reply_end(job->c);
}

/* ---- shards ---- */

void table_publish(struct job *job, const struct dataset *d)
{
	LIST_EACH(it, after, &job->watches) {
		struct watch *watch = container_of(it, struct watch, in_job);
		Roar__WatchEvent event;
		Roar__TableReply table;

		if (!watch->shards)
			continue;
		event_of(job, watch, &event);
		table_view(d, &table);
		event.kind = ROAR__WATCH_EVENT__KIND__SHARDS;
		event.table = &table;
		call_reply(job->c, watch->wait.call, COORD_MORE, &event, NULL);
	}
}

/* ---- the call ---- */

static void withdraw(struct coord *c, struct wait *wait)
{
	struct watch *watch = container_of(wait, struct watch, wait);

	wait_remove(c, wait);
	list_remove(&watch->in_job);
	list_remove(&watch->in_keys);
	list_remove(&watch->in_worker);
	free(watch->worker_id);
	free(watch->prefix);
	free(watch);
}

static void expire(struct coord *c, struct wait *wait)
{
	call_reply(c, wait->call, COORD_DEADLINE_EXCEEDED, NULL,
		   "the watch's deadline is over");
	withdraw(c, wait);
}

static const struct wait_kind watch_wait = { .watch = true,
					     .withdraw = withdraw,
					     .expire = expire };

static int watch_new(const Roar__WatchRequest *m, struct watch **ret)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	bool keys = m->keys || *m->key_prefix;

	if (!watch)
		return -ENOMEM;
	list_init(&watch->in_job);
	list_init(&watch->in_keys);
	list_init(&watch->in_worker);
	watch->shards = m->shards;
	watch->worker_id = *m->worker_id ? strdup(m->worker_id) : NULL;
	watch->prefix = keys ? strdup(m->key_prefix) : NULL;
	if ((*m->worker_id && !watch->worker_id) || (keys && !watch->prefix)) {
		free(watch->worker_id);
		free(watch->prefix);
		free(watch);
		return -ENOMEM;
	}
	*ret = watch;
	return 0;
}

static void begin(const struct request *q, struct watch *watch,
		  struct worker *w)
{
	struct job *job = watch->wait.job;
	Roar__WatchEvent event;

	list_add(&job->watches, &watch->in_job);
	if (watch->prefix)
		list_add(&job->key_watches, &watch->in_keys);
	event_of(job, watch, &event);
	call_reply(q->c, q->call, COORD_MORE, &event, NULL);
	if (w) {
		list_add(&w->watches, &watch->in_worker);
		commands_push(w);
	}
}

void method_watch(const struct request *q, const void *message)
{
	const Roar__WatchRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	struct worker *w = NULL;
	struct watch *watch;
	int r;

	if (!job || request_check_prefix(q, m->key_prefix) < 0)
		return;
	if (*m->worker_id) {
		w = request_holder(q, job, m->worker_id, m->session);
		if (!w || worker_heard(q, w) < 0)
			return;
	}
	r = watch_new(m, &watch);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	if (wait_add(q, job, &watch->wait, &watch_wait) == 0) {
		begin(q, watch, w);
		return;
	}
	free(watch->worker_id);
	free(watch->prefix);
	free(watch);
}
