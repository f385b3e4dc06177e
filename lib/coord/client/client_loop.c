/* client_loop.c - the turns of a client, its thread, its lock, and fork(). */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "coord/client/client.h"

int64_t client_now_ms(void)
{
	return clock_mono_ns() / 1000000;
}

int64_t client_deadline_ms(int64_t timeout_ms)
{
	int64_t deadline;

	if (timeout_ms < 0 ||
	    __builtin_add_overflow(client_now_ms(), timeout_ms, &deadline))
		return INT64_MAX;
	return deadline;
}

/* ---- all clients of the process, for fork() ----
 *
 * A child must not keep the sockets: while one of its descriptors is open, the
 * coordinator does not notice the end of the parent. */

/* Protects `list` and the links of its clients.  Taken before the locks of clients; only
 * fork() holds both, and takes the locks of all clients in the order of the list. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct roar_coord *list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	(void)pthread_mutex_lock(&list_lock);
	for (struct roar_coord *c = list; c; c = c->next_client)
		(void)pthread_mutex_lock(&c->lock);
}

static void after_fork_in_parent(void)
{
	for (struct roar_coord *c = list; c; c = c->next_client)
		(void)pthread_mutex_unlock(&c->lock);
	(void)pthread_mutex_unlock(&list_lock);
}

static void after_fork_in_child(void)
{
	for (struct roar_coord *c = list; c; c = c->next_client) {
		dial_abandon(&c->link.frames.dial);
		if (c->loop)
			loop_abandon(c->loop);
		closep(&c->wake.fd);
		closep(&c->nudge);
		c->wake.fd = c->nudge = -1;
		c->forked = true;
		(void)pthread_mutex_unlock(&c->lock);
	}
	(void)pthread_mutex_unlock(&list_lock);
}

static void watch_forks(void)
{
	(void)pthread_atfork(before_fork, after_fork_in_parent,
			     after_fork_in_child);
}

void client_list_add(struct roar_coord *c)
{
	(void)pthread_once(&once, watch_forks);
	(void)pthread_mutex_lock(&list_lock);
	c->next_client = list;
	if (list)
		list->prev_client = c;
	list = c;
	(void)pthread_mutex_unlock(&list_lock);
}

void client_list_remove(struct roar_coord *c)
{
	(void)pthread_mutex_lock(&list_lock);
	if (c->prev_client)
		c->prev_client->next_client = c->next_client;
	else
		list = c->next_client;
	if (c->next_client)
		c->next_client->prev_client = c->prev_client;
	(void)pthread_mutex_unlock(&list_lock);
}

/* ---- in and out ---- */

int client_enter(struct roar_coord *c)
{
	if (getpid() != c->pid)
		return sentence_fail(
			-ECHILD, "this process was forked from the one that "
				 "has the client: join as a worker of "
				 "its own");
	(void)pthread_mutex_lock(&c->lock);
	if (c->stopping) {
		(void)pthread_mutex_unlock(&c->lock);
		return sentence_fail(-ECANCELED, "the client is being freed");
	}
	c->n_inside++;
	return 0;
}

void client_leave(struct roar_coord *c)
{
	if (--c->n_inside == 0)
		(void)pthread_cond_broadcast(&c->left);
	(void)pthread_mutex_unlock(&c->lock);
}

void client_die(struct roar_coord *c, int error, const char *sentence)
{
	assert(client_is_locked(c) && error < 0);
	if (c->dead)
		return;
	(void)snprintf(c->dead_text, sizeof(c->dead_text), "%s", sentence);
	c->dead = error;
	client_link_close(c);
	if (c->driver_sleeps)
		client_nudge_reader(c);
	client_calls_end(c, error, c->dead_text);
	(void)pthread_cond_broadcast(&c->changed);
}

/* ---- turns ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t client_turn(struct roar_coord *c, const struct loop_events *events)
{
	int64_t due;

	assert(client_is_locked(c));
	loop_dispatch(c->loop, events);
	due = client_session_turn(c, client_now_ms());
	due = earlier(due, client_calls_turn(c, client_now_ms()));
	due = earlier(due, client_link_turn(c, client_now_ms()));
	client_link_flush(c);
	return earlier(due, loop_due_ms(c->loop));
}

void client_wake(const struct roar_coord *c)
{
	uint64_t one = 1;

	/* Full means that it is awake already. */
	if (write(c->wake.fd, &one, sizeof(one)) < 0)
		return;
}

static void on_wake(struct loop_fd *f, uint32_t events)
{
	uint64_t count;

	(void)events;
	(void)!read(f->fd, &count, sizeof(count)); /* it waits again */
}

static void *body(void *arg)
{
	struct roar_coord *c = arg;
	struct loop_events events = { 0 };
	int64_t due;

	(void)pthread_mutex_lock(&c->lock);
	while (!c->stopping || c->n_inside) {
		due = client_turn(c, &events);
		(void)pthread_mutex_unlock(&c->lock);
		(void)loop_wait(c->loop, due, &events);
		(void)pthread_mutex_lock(&c->lock);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void wait_by_turns(struct roar_coord *c, int64_t until_ms)
{
	int64_t due = earlier(c->due_ms, until_ms);
	struct loop_events events;

	(void)pthread_mutex_unlock(&c->lock);
	(void)loop_wait(c->loop, due, &events);
	(void)pthread_mutex_lock(&c->lock);
	c->due_ms = client_turn(c, &events);
}

void client_wait(struct roar_coord *c, pthread_cond_t *cond, int64_t until_ms)
{
	struct timespec until = {
		.tv_sec = until_ms / 1000,
		.tv_nsec = until_ms % 1000 * 1000000,
	};

	if (!c->has_thread)
		wait_by_turns(c, until_ms);
	else if (until_ms == INT64_MAX)
		(void)pthread_cond_wait(cond, &c->lock);
	else
		(void)pthread_cond_timedwait(cond, &c->lock, &until);
}

int client_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int r = pthread_condattr_init(&attr);

	if (r)
		return -r;
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	r = pthread_cond_init(cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	return -r;
}

/* ---- life ---- */

int client_start(struct roar_coord *c)
{
	int r = loop_new(&c->loop);

	if (r < 0)
		return r;
	c->wake = (struct loop_fd){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				    .ready = on_wake };
	c->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake.fd < 0 || c->nudge < 0)
		return -errno;
	r = loop_add(c->loop, &c->wake, EPOLLIN);
	if (r == 0)
		r = client_link_open(c);
	if (r < 0 || !c->has_thread)
		return r;
	r = thread_start(&c->thread, NULL, body, c);
	c->has_thread = r == 0;
	return r;
}

void client_stop(struct roar_coord *c)
{
	(void)pthread_mutex_lock(&c->lock);
	c->stopping = true;
	client_calls_end(c, -ECANCELED,
			 "the client was freed while a call waited");
	(void)pthread_cond_broadcast(&c->changed);
	while (c->n_inside)
		(void)pthread_cond_wait(&c->left, &c->lock);
	(void)pthread_mutex_unlock(&c->lock);
	if (c->has_thread) {
		client_wake(c);
		(void)pthread_join(c->thread, NULL);
		c->has_thread = false;
	}
}
