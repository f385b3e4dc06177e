/* host_lookup.c - see host_lookup.h */
#include "net/host_lookup.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/thread.h"

/* Shared by the lookup thread and the loop's thread; freed by the last of the two.  The
 * thread writes `result` and `all` before it signals `event_fd`; the loop reads them after
 * that. */
struct question {
	_Atomic int n_owners; /* 2, 1, then freed */
	char *host, *port;
	int event_fd;
	int result; /* of getaddrinfo() */
	struct addrinfo *all;
};

struct host_lookup {
	struct loop *loop;
	struct question *question;
	struct loop_fd answered; /* fd -1: not waited for */
	void (*found)(void *data, const struct addrinfo *all, const char *why);
	void *data;
};

static void question_leave(struct question *q)
{
	if (!q || atomic_fetch_sub(&q->n_owners, 1) > 1)
		return;
	if (q->all)
		freeaddrinfo(q->all);
	closep(&q->event_fd);
	free(q->host);
	free(q->port);
	free(q);
}

static int question_new(const char *host, const char *port,
			struct question **ret)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->n_owners = 1;
	q->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	q->host = strdup(host);
	q->port = strdup(port);
	if (q->event_fd < 0 || !q->host || !q->port) {
		question_leave(q);
		return -ENOMEM;
	}
	*ret = q;
	return 0;
}

static void ask(struct question *q, int flags)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = flags };

	q->result = getaddrinfo(q->host, q->port, &hints, &q->all);
}

static void say_done(const struct question *q)
{
	const uint64_t one = 1;

	(void)!write(q->event_fd, &one, sizeof(one));
}

static void *ask_in_thread(void *arg)
{
	struct question *q = arg;

	ask(q, 0);
	say_done(q);
	question_leave(q);
	return NULL;
}

static int begin_thread(struct question *q)
{
	pthread_t thread;
	int r;

	atomic_fetch_add(&q->n_owners, 1);
	r = thread_start(&thread, NULL, ask_in_thread, q);
	if (r < 0)
		atomic_fetch_sub(&q->n_owners, 1);
	else
		(void)pthread_detach(thread);
	return r;
}

static void on_answered(struct loop_fd *f, uint32_t events)
{
	struct host_lookup *r = container_of(f, struct host_lookup, answered);
	const struct question *q = r->question;
	uint64_t n;

	(void)events;
	(void)!read(f->fd, &n, sizeof(n)); /* orders it after the thread */
	loop_remove(r->loop, f);
	f->fd = -1;
	if (q->result)
		r->found(r->data, NULL, gai_strerror(q->result));
	else
		r->found(r->data, q->all, NULL);
}

void host_lookup_end(struct host_lookup *r)
{
	if (!r)
		return;
	if (r->answered.fd >= 0)
		loop_remove(r->loop, &r->answered);
	question_leave(r->question);
	free(r);
}

int host_lookup_begin(struct loop *loop, const char *host, const char *port,
		      void (*found)(void *data, const struct addrinfo *all,
				    const char *why),
		      void *data, struct host_lookup **ret)
{
	struct host_lookup *r = calloc(1, sizeof(*r));
	int e = r ? question_new(host, port, &r->question) : -ENOMEM;

	if (e < 0) {
		free(r);
		return e;
	}
	r->loop = loop;
	r->found = found;
	r->data = data;
	ask(r->question, AI_NUMERICHOST);
	if (r->question->result)
		e = begin_thread(r->question);
	else
		say_done(r->question);
	r->answered = (struct loop_fd){ .fd = r->question->event_fd,
					.ready = on_answered };
	if (e == 0)
		e = loop_add(loop, &r->answered, EPOLLIN);
	if (e < 0) {
		r->answered.fd = -1;
		host_lookup_end(r);
		return e;
	}
	*ret = r;
	return 0;
}
