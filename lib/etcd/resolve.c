/* resolve.c - see resolve.h */
#include "etcd/resolve.h"

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

/* Of the thread and of who asked; freed by the last of both. */
struct question {
	_Atomic int n_owners;
	char *host, *port;
	int event_fd;
	int result; /* of getaddrinfo() */
	struct addrinfo *found;
};

struct resolve {
	struct loop *loop;
	struct question *question;
	struct loop_fd answered; /* fd -1: not waited for */
	void (*tell)(void *data, const struct sockaddr *address, socklen_t len,
		     const char *sentence);
	void *data;
	unsigned number; /* of the address */
};

static void question_leave(struct question *q)
{
	if (!q || atomic_fetch_sub(&q->n_owners, 1) > 1)
		return;
	if (q->found)
		freeaddrinfo(q->found);
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

	q->result = getaddrinfo(q->host, q->port, &hints, &q->found);
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

/* There is at least one. */
static const struct addrinfo *pick(const struct addrinfo *all, unsigned number)
{
	const struct addrinfo *a = all;
	unsigned n = 1;

	for (const struct addrinfo *i = all->ai_next; i; i = i->ai_next)
		n++;
	for (number %= n; number > 0; number--)
		a = a->ai_next;
	return a;
}

static void on_answered(struct loop_fd *f, uint32_t events)
{
	struct resolve *r = container_of(f, struct resolve, answered);
	const struct question *q = r->question;
	uint64_t n;

	(void)events;
	(void)!read(f->fd, &n,
		    sizeof(n)); /* what the thread wrote is seen now */
	loop_remove(r->loop, f);
	f->fd = -1;
	if (q->result) {
		r->tell(r->data, NULL, 0, gai_strerror(q->result));
	} else {
		const struct addrinfo *a = pick(q->found, r->number);

		r->tell(r->data, a->ai_addr, a->ai_addrlen, NULL);
	}
}

void resolve_end(struct resolve *r)
{
	if (!r)
		return;
	if (r->answered.fd >= 0)
		loop_remove(r->loop, &r->answered);
	question_leave(r->question);
	free(r);
}

int resolve_begin(struct loop *loop, const char *host, const char *port,
		  unsigned number,
		  void (*found)(void *data, const struct sockaddr *address,
				socklen_t len, const char *sentence),
		  void *data, struct resolve **ret)
{
	struct resolve *r = calloc(1, sizeof(*r));
	int e = r ? question_new(host, port, &r->question) : -ENOMEM;

	if (e < 0) {
		free(r);
		return e;
	}
	r->loop = loop;
	r->tell = found;
	r->data = data;
	r->number = number;
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
		resolve_end(r);
		return e;
	}
	*ret = r;
	return 0;
}
