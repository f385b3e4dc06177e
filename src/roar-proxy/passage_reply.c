/* passage_reply.c - the upstream's reply, on its way back to the client; see proxy.h
 *
 * A reply that may ask for another region is held until that is known: then it is sent on, or
 * the request goes there. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>

#include "base/macros.h"
#include "base/number.h"
#include "proxy.h"
#include "s3/s3_xml.h"

/* No reply came from the upstream. */
static void reply_failure(struct passage *p, int error, const char *sentence)
{
	struct proxy *proxy = p->run->proxy;

	proxy->n_failed++;
	log_lines_add(&proxy->lines, LOG_WARNING, NULL, "%s", sentence);
	if (http_reply_has_begun(p->exchange))
		http_reply_abort(p->exchange);
	else if (error == -ETIMEDOUT)
		passage_answer(p, 504, "ProxyUpstreamTimeout", sentence);
	else
		passage_answer(p, 502, "ProxyUpstreamFailed", sentence);
}

/* ---- from the upstream to the client ---- */

static void on_writable(struct http_call *c)
{
	struct passage *p = c->data;

	p->may_write = true;
	if (!p->exchange)
		return;
	http_exchange_continue(p->exchange);
	http_exchange_pause(p->exchange, false);
}

/* Those of one connection, and those that the server writes itself. */
static bool is_own_field(const struct http_head *head, const char *name,
			 bool has_options)
{
	static const char *const names[] = {
		"Connection",	    "Keep-Alive",
		"Proxy-Connection", "TE",
		"Trailer",	    "Transfer-Encoding",
		"Upgrade",	    "Proxy-Authenticate",
		"Content-Length",   "Date",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return has_options && http_head_lists(head, "Connection", name);
}

/* A reply to HEAD, or a 304, has the length of a body that it does not have. */
static int64_t reply_length(const struct http_head *reply)
{
	const char *text = http_head_get(reply, "Content-Length");

	int64_t n;

	if (reply->length == 0 && text &&
	    number_parse(text, 0, INT64_MAX, &n) == 0)
		return n;
	return reply->length == HTTP_LENGTH_CLOSE ? HTTP_LENGTH_CHUNKED :
						    reply->length;
}

static void begin_reply(struct passage *p, const struct http_head *reply)
{
	bool has_options = http_head_get(reply, "Connection");

	if (!p->exchange)
		return;
	for (size_t i = 0; i < reply->n_fields; i++)
		if (!is_own_field(reply, reply->fields[i].name, has_options))
			http_reply_field(p->exchange, reply->fields[i].name,
					 reply->fields[i].value);
	http_reply_begin(p->exchange, reply->status, reply_length(reply));
}

static void write_reply(struct passage *p, const char *data, size_t len)
{
	if (!p->exchange || http_reply_write(p->exchange, data, len) < 0)
		return;
	if (p->call && http_reply_backlog(p->exchange) > PASSAGE_ENOUGH)
		http_call_pause(p->call, true);
}

/* May it ask for another region? */
static bool is_redirect(const struct http_head *reply)
{
	return reply->status == 301 || reply->status == 307 ||
	       reply->status == 400;
}

/* May the request be sent again? */
static bool may_move(const struct passage *p)
{
	return !p->is_retry && !p->has_sent && p->q.bucket[0] &&
	       p->q.auth != S3_AUTH_NONE && p->exchange;
}

/* A region is known when a request has arrived there; or when the body of one that did not is
 * gone, so that only the client can try again. */
static void learn_region(struct passage *p, const struct http_head *reply)
{
	const char *region = http_head_get(reply, "x-amz-bucket-region");

	if (p->is_retry && !is_redirect(reply))
		(void)upstream_learn(p->run->proxy, p->q.bucket, p->region);
	else if (is_redirect(reply) && p->has_sent && region && p->q.bucket[0])
		(void)upstream_learn(p->run->proxy, p->q.bucket, region);
}

static void on_head(struct http_call *c)
{
	struct passage *p = c->data;

	record_head(p, c->reply);
	learn_region(p, c->reply);
	p->holds = is_redirect(c->reply) && may_move(p);
	if (!p->holds)
		begin_reply(p, c->reply);
}

/* Whatever is too long to be kept is sent on. */
static void let_go(struct passage *p, const struct http_head *reply)
{
	p->holds = false;
	begin_reply(p, reply);
	write_reply(p, str_cstr(&p->kept), p->kept.len);
}

static void on_body(struct http_call *c, const char *data, size_t len)
{
	struct passage *p = c->data;

	if ((p->keeps || p->holds) && p->kept.len + len <= PASSAGE_MAX_KEPT)
		str_add(&p->kept, data, len);
	else if (p->holds)
		let_go(p, c->reply);
	else
		p->keeps = false;
	if (!p->holds)
		write_reply(p, data, len);
	record_received(p, data, len); /* while the client reads */
}

/* The region that a held reply names; NULL: none, or the one that it went to. */
static const char *other_region(struct passage *p,
				const struct http_head *reply)
{
	const char *region = http_head_get(reply, "x-amz-bucket-region");
	struct s3_error error;

	if (!region &&
	    s3_xml_error(str_cstr(&p->kept), p->kept.len, &p->pool, &error) ==
		    0 &&
	    *error.region)
		region = error.region;
	if (!region || strcmp(region, upstream_region(p)) == 0)
		return NULL;
	return region;
}

/* Sends a held reply on, or the request to where the reply says; true: the latter. */
static bool move_or_let_go(struct passage *p, const struct http_head *reply)
{
	const char *region = other_region(p, reply);

	p->region = region ? pool_strdup(&p->pool, region) : NULL;
	if (!p->region || strlen(region) >= SIGV4_MAX_REGION) {
		p->region = NULL;
		let_go(p, reply);
		return false;
	}
	p->holds = false;
	p->is_retry = true;
	str_clear(&p->kept);
	passage_send(p);
	return true;
}

static void on_end(struct http_call *c, int error, const char *sentence)
{
	struct passage *p = c->data;

	p->call = NULL;
	if (p->holds && error == 0 && move_or_let_go(p, c->reply))
		return;
	if (c->reply && c->reply->status == 400)
		upstream_check_expired(p);
	record_end(p, error);
	if (!p->exchange)
		passage_free(p);
	else if (error)
		reply_failure(p, error, sentence);
	else
		http_reply_end(p->exchange);
}

const struct http_call_events passage_events = { .writable = on_writable,
						 .head = on_head,
						 .body = on_body,
						 .end = on_end };
