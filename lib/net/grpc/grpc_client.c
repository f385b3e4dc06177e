/* grpc_client.c - see grpc_client.h */
#include "net/grpc/grpc_client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "net/grpc/grpc_client_internal.h"

enum { INPUT = 64 << 10 }; /* read at once */

static void free_client(struct grpc_client *c)
{
	loop_later_clear(c->dial.loop, &c->flush);
	dial_close(&c->dial);
	nghttp2_session_del(c->http2);
	for (size_t i = 0; i < GRPC_CLIENT_FIELDS; i++)
		free(c->fields[i].value);
	free(c);
}

static void enter(struct grpc_client *c)
{
	c->busy++;
}

static void leave(struct grpc_client *c)
{
	assert(c->busy > 0);
	if (--c->busy > 0)
		return;
	if (c->closed)
		free_client(c);
	else if (c->is_lost)
		dial_fail(&c->dial, "%s", c->why);
}

void grpc_client_leave(struct grpc_client *c, const char *why)
{
	if (!c->http2 || c->is_lost)
		return;
	c->is_lost = true;
	(void)snprintf(c->why, sizeof(c->why), "%s", why);
	enter(c);
	leave(c);
}

void grpc_client_close(struct grpc_client *c, const char *sentence)
{
	if (!c || c->closed)
		return;
	c->closed = true;
	enter(c);
	grpc_client_end_calls(c, sentence);
	leave(c);
}

void grpc_client_good(struct grpc_client *c)
{
	dial_good(&c->dial);
}

bool grpc_client_round_is_over(const struct grpc_client *c)
{
	return dial_round_is_over(&c->dial);
}

int grpc_client_set_field(struct grpc_client *c, const char *name,
			  const char *value)
{
	char *copy = value ? strdup(value) : NULL;
	size_t i = 0;

	if (value && !copy)
		return -ENOMEM;
	while (c->fields[i].name && strcmp(c->fields[i].name, name) != 0) {
		i++;
		assert(i < GRPC_CLIENT_FIELDS);
	}
	free(c->fields[i].value);
	c->fields[i].name = name;
	c->fields[i].value = copy;
	return 0;
}

/* ---- bytes ---- */

void grpc_client_flush_soon(struct grpc_client *c)
{
	loop_later(c->dial.loop, &c->flush);
}

static void on_flush(struct loop_later *l)
{
	struct grpc_client *c = container_of(l, struct grpc_client, flush);
	const uint8_t *data;
	ssize_t n;

	if (!c->http2)
		return;
	enter(c);
	while (!c->closed && !c->is_lost &&
	       (n = nghttp2_session_mem_send(c->http2, &data)) != 0)
		if (n < 0 || stream_add(&c->dial.stream, data, (size_t)n) < 0)
			grpc_client_leave(c, "out of memory");
	if (!c->closed && !c->is_lost)
		(void)dial_flush(&c->dial);
	leave(c);
}

static void on_ready(struct dial *d)
{
	struct grpc_client *c = container_of(d, struct grpc_client, dial);
	uint8_t bytes[INPUT];
	ssize_t n = dial_read(d, bytes, sizeof(bytes));

	if (n < 0)
		return;
	enter(c);
	n = nghttp2_session_mem_recv(c->http2, bytes, (size_t)n);
	if (n < 0)
		grpc_client_leave(c, nghttp2_strerror((int)n));
	grpc_client_flush_soon(c);
	leave(c);
}

/* ---- connections ---- */

static void on_opened(struct dial *d)
{
	struct grpc_client *c = container_of(d, struct grpc_client, dial);

	if (grpc_client_begin_http2(c) < 0) {
		dial_fail(d, "out of memory");
		return;
	}
	dial_up(d);
	grpc_client_flush_soon(c);
	c->user->opened(c->data);
}

static void on_failed(struct dial *d, bool was_up)
{
	struct grpc_client *c = container_of(d, struct grpc_client, dial);
	const struct address *address = dial_failed_address(d);
	char sentence[512];

	(void)was_up;
	(void)snprintf(sentence, sizeof(sentence), "%s: %s", address->name,
		       dial_why(d));
	c->is_lost = false;
	enter(c);
	c->user->lost(c->data, address, dial_why(d));
	grpc_client_end_calls(c, sentence);
	nghttp2_session_del(c->http2);
	c->http2 = NULL;
	leave(c);
}

static const struct dial_user dial_user = {
	.opened = on_opened,
	.ready = on_ready,
	.failed = on_failed,
};

int grpc_client_open(struct loop *loop, const struct dial_options *options,
		     const struct grpc_client_user *user, void *data,
		     struct grpc_client **ret)
{
	struct grpc_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->flush.call = on_flush;
	c->user = user;
	c->data = data;
	r = dial_open(&c->dial, loop, options, &dial_user);
	if (r < 0) {
		free_client(c);
		return r;
	}
	*ret = c;
	return 0;
}
