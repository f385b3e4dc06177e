/* key_wait.c - calls that wait for a key: by the key's name, so that a change
 * touches only those who wait for it. */
#include "coord/keys/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static struct waited *waited_ensure(struct job *job, const char *name)
{
	size_t len = strlen(name);
	struct waited *on = map_get(&job->waited, name, len);

	if (on)
		return on;
	on = calloc(1, sizeof(*on) + len + 1);
	if (!on)
		return NULL;
	list_init(&on->waits);
	memcpy(on->name, name, len + 1);
	if (map_set(&job->waited, on->name, len, on) < 0) {
		free(on);
		return NULL;
	}
	return on;
}

static void waited_tidy(struct job *job, struct waited *on)
{
	if (!list_empty(&on->waits))
		return;
	(void)map_remove(&job->waited, on->name, strlen(on->name));
	free(on);
}

static void withdraw(struct coord *c, struct wait *wait)
{
	struct key_wait *w = container_of(wait, struct key_wait, wait);

	wait_remove(c, wait);
	list_remove(&w->in_waited);
	waited_tidy(wait->job, w->on);
	free(w);
}

static void expire(struct coord *c, struct wait *wait)
{
	struct key_wait *w = container_of(wait, struct key_wait, wait);
	struct request q = { .c = c, .call = wait->call };

	request_refuse(&q, COORD_DEADLINE_EXCEEDED,
		       "the deadline is over and key '%s' was not set%s",
		       w->on->name, w->after_version ? " anew" : "");
	withdraw(c, wait);
}

static const struct wait_kind key_kind = { .withdraw = withdraw,
					   .expire = expire };

int key_wait(const struct request *q, struct job *job,
	     const Roar__KvGetRequest *m)
{
	struct key_wait *w = calloc(1, sizeof(*w));
	struct waited *on = w ? waited_ensure(job, m->key) : NULL;

	if (!on) {
		free(w);
		request_refuse_change(q, -ENOMEM);
		return -ENOMEM;
	}
	w->on = on;
	w->after_version = m->after_version;
	list_init(&w->in_waited);
	if (wait_add(q, job, &w->wait, &key_kind) < 0) {
		free(w);
		waited_tidy(job, on);
		return -EAGAIN;
	}
	list_add(&on->waits, &w->in_waited);
	return 0;
}

static void wake(struct job *job, struct waited *on, const struct key *key)
{
	Roar__KvReply reply = ROAR__KV_REPLY__INIT;
	Roar__KvReply own = ROAR__KV_REPLY__INIT;
	Roar__KvEntry entry;
	size_t left = 0;

	key_view(job, key->name, key, &entry);
	reply.done = true;
	reply.entry = &entry;
	const Roar__KvReply *each = shared_reply_begin(job->c, &reply, &own);

	LIST_EACH(it, after, &on->waits) {
		struct key_wait *w = container_of(it, struct key_wait,
						  in_waited);

		if (key->version <= w->after_version) {
			left++;
			continue;
		}
		call_reply(job->c, w->wait.call, COORD_OK, each, NULL);
		wait_remove(job->c, &w->wait);
		list_remove(&w->in_waited);
		free(w);
	}
	shared_reply_end(job->c);
	if (!left)
		waited_tidy(job, on);
}

void key_changed(struct job *job, const char *name)
{
	const struct key *key = key_find(job, name);
	struct waited *on = map_get(&job->waited, name, strlen(name));

	key_publish(job, name, key);
	if (key && on)
		wake(job, on, key);
}
