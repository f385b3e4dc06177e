/* fuzz_http_client.c - replies, as the client reads them from a server that sends anything.
 *
 * The first byte says in which parts the rest arrives, and the method.  However it arrives,
 * the outcome is the same, and a call ends exactly once. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "http/http_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct outcome {
	struct str text; /* status, fields, body and trailers */
	int error;
	unsigned n_ended;
};

static void add_fields(struct str *out, const struct http_field *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert(!strpbrk(f[i].name, "\r\n: "));
		assert(!strpbrk(f[i].value, "\r\n"));
		str_addf(out, "%s=%s\n", f[i].name, f[i].value);
	}
}

static void on_head(struct http_call *c)
{
	struct outcome *o = c->data;

	assert(c->reply->status >= 200 && c->reply->status <= 999);
	str_addf(&o->text, "%u %s\n", c->reply->status, c->reply->reason);
	add_fields(&o->text, c->reply->fields, c->reply->n_fields);
}

static void on_body(struct http_call *c, const char *data, size_t len)
{
	struct outcome *o = c->data;

	assert(c->reply);
	str_add(&o->text, data, len);
}

static void on_end(struct http_call *c, int error, const char *sentence)
{
	struct outcome *o = c->data;

	assert(!error == !sentence);
	o->n_ended++;
	o->error = error;
	if (!error)
		add_fields(&o->text, c->trailers, c->n_trailers);
}

static const struct http_call_events EVENTS = { .head = on_head,
						.body = on_body,
						.end = on_end };

static void pump(struct loop *loop)
{
	for (int i = 0; i < 3; i++)
		assert(loop_round(loop, 0) == 0);
}

/* The server sends `reply` in steps and closes. */
static void answer(struct loop *loop, int fd, const uint8_t *reply, size_t len,
		   size_t step)
{
	while (len) {
		size_t n = len < step ? len : step;

		if (send(fd, reply, n, MSG_NOSIGNAL) < 0)
			return; /* the client has had enough */
		pump(loop);
		reply += n;
		len -= n;
	}
	(void)shutdown(fd, SHUT_WR);
	pump(loop);
}

static void run(const uint8_t *reply, size_t len, bool is_head, size_t step,
		struct outcome *o)
{
	const struct http_call_request q = { .method = is_head ? "HEAD" :
								 "POST",
					     .origin = "http://a",
					     .target = "/" };
	struct http_client_limits limits = HTTP_CLIENT_LIMITS;
	struct http_client *client;
	struct http_call *call;
	struct loop *loop;
	int ends[2];

	limits.max_head = 1024;
	assert(loop_new(&loop) == 0);
	assert(http_client_new(loop, NULL, NULL, &limits, &client) == 0);
	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  0, ends) == 0);
	assert(http_client_take(client, "http://a", ends[0]) == 0);
	assert(http_call_begin(client, &q, &EVENTS, o, &call) == 0);
	pump(loop);
	answer(loop, ends[1], reply, len, step);
	assert(o->n_ended == 1);
	http_client_free(client);
	loop_free(loop);
	(void)close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct outcome whole = { 0 }, parts = { 0 };
	bool is_head;

	/* Without a byte of a reply the request is sent again, by another connection. */
	if (len < 2 || len > 16384)
		return 0;
	is_head = data[0] & 0x80;
	run(data + 1, len - 1, is_head, SIZE_MAX, &whole);
	run(data + 1, len - 1, is_head, 1 + (data[0] & 0x7f) % 17, &parts);
	assert(whole.error == parts.error);
	if (!whole.error)
		assert(whole.text.len == parts.text.len &&
		       (whole.text.len == 0 ||
			memcmp(whole.text.data, parts.text.data,
			       whole.text.len) == 0));
	str_release(&whole.text);
	str_release(&parts.text);
	return 0;
}
