/* peer.c - see peer.h */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- what became of a call ---- */

static void on_writable(struct http_call *c)
{
	((struct outcome *)c->data)->n_writable++;
}

static void on_head(struct http_call *c)
{
	((struct outcome *)c->data)->status = c->reply->status;
}

static void on_body(struct http_call *c, const char *data, size_t len)
{
	struct outcome *o = c->data;

	str_add(&o->body, data, len);
	if (o->pauses)
		http_call_pause(c, true);
	o->pauses = false;
	if (o->cancels) {
		o->call = NULL;
		http_call_cancel(c);
	}
}

static void on_end(struct http_call *c, int error, const char *sentence)
{
	struct outcome *o = c->data;

	assert_true(!error == !sentence);
	o->call = NULL;
	o->error = error;
	o->n_ended++;
	(void)snprintf(o->sentence, sizeof(o->sentence), "%s",
		       sentence ? sentence : "");
	if (c->n_trailers)
		(void)snprintf(o->trailer, sizeof(o->trailer), "%s=%s",
			       c->trailers[0].name, c->trailers[0].value);
}

const struct http_call_events outcome_events = { .writable = on_writable,
						 .head = on_head,
						 .body = on_body,
						 .end = on_end };

void outcome_release(struct outcome *o)
{
	str_release(&o->body);
}

/* ---- the server ---- */

static void listen_somewhere(struct peer *p)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	p->listener = fd;
	p->port = ntohs(a.sin_port);
	(void)snprintf(p->origin, sizeof(p->origin), "http://127.0.0.1:%u",
		       p->port);
}

void peer_init(struct peer *p, const struct http_client_limits *limits)
{
	*p = (struct peer){ .fd = -1 };
	assert_int_equal(loop_new(&p->loop), 0);
	assert_int_equal(
		http_client_new(p->loop, NULL, NULL, limits, &p->client), 0);
	listen_somewhere(p);
}

void peer_close(struct peer *p)
{
	if (p->fd >= 0)
		(void)close(p->fd);
	p->fd = -1;
}

void peer_release(struct peer *p)
{
	http_client_free(p->client);
	loop_free(p->loop);
	peer_close(p);
	while (p->n_older)
		(void)close(p->older[--p->n_older]);
	if (p->listener >= 0)
		(void)close(p->listener);
	str_release(&p->got);
}

static void serve(struct peer *p)
{
	char bytes[65536];
	ssize_t n = -1;
	int fd = p->listener < 0 ? -1 : accept(p->listener, NULL, NULL);

	if (fd >= 0) {
		if (p->fd >= 0 && p->n_older < 8)
			p->older[p->n_older++] = p->fd;
		p->fd = fd;
		p->n_accepted++;
		p->ended = false;
	}
	while (p->fd >= 0 && !p->is_deaf &&
	       (n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		str_add(&p->got, bytes, (size_t)n);
	if (p->fd >= 0 && n == 0)
		p->ended = true;
}

void peer_pump(struct peer *p)
{
	for (int i = 0; i < 12; i++) {
		assert_int_equal(loop_round(p->loop, i == 0), 0);
		serve(p);
	}
}

void peer_pump_until(struct peer *p, const unsigned *flag)
{
	time_t begin = time(NULL);

	while (!*flag) {
		assert_int_equal(loop_round(p->loop, 10), 0);
		serve(p);
		assert_true(time(NULL) - begin < 20);
	}
}

void peer_say(struct peer *p, const char *text)
{
	assert_int_equal(send(p->fd, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
	peer_pump(p);
}

/* ---- calls ---- */

void peer_begin(struct peer *p, const struct http_call_request *q,
		struct outcome *o)
{
	struct http_call_request own = *q;

	if (!own.origin)
		own.origin = p->origin;
	*o = (struct outcome){ 0 };
	assert_int_equal(http_call_begin(p->client, &own, &outcome_events, o,
					 &o->call),
			 0);
	peer_pump(p);
}

void peer_get(struct peer *p, const char *target, struct outcome *o)
{
	peer_begin(p,
		   &(struct http_call_request){ .method = "GET",
						.target = target },
		   o);
}

int peer_setup(void **state)
{
	static struct peer p;
	struct http_client_limits limits = HTTP_CLIENT_LIMITS;

	limits.max_per_origin = 2;
	peer_init(&p, &limits);
	*state = &p;
	return 0;
}

int peer_teardown(void **state)
{
	peer_release(*state);
	return 0;
}

void peer_change_limits(struct peer *p, const struct http_client_limits *l)
{
	http_client_free(p->client);
	assert_int_equal(http_client_new(p->loop, NULL, NULL, l, &p->client),
			 0);
}
