/* s3_call.c - a call from its begin to its end, try by try
 *
 *	begin ──▶ start_try() ──▶ keys ──▶ s3_call_send() ──▶ on_end() ──▶ finish()
 *	               ▲                                          │
 *	               └────────────── pause ◀────────────────────┘ */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/quote.h"
#include "s3/s3_client_internal.h"

enum { MAX_ERROR_BODY = 64 << 10 };

static void start_try(struct s3_call *c);

static void free_call(struct s3_call *c)
{
	list_remove(&c->link);
	credentials_cancel(&c->wait);
	loop_timer_clear(c->client->loop, &c->timer);
	if (c->http)
		http_call_cancel(c->http);
	str_release(&c->body);
	pool_release(&c->pool);
	free(c);
}

void s3_call_cancel(struct s3_call *call)
{
	if (call)
		free_call(call);
}

/* ---- the end ---- */

static void add_place(struct str *out, const struct s3_call *c)
{
	if (c->q.url)
		quote_printable(out, c->q.url, strcspn(c->q.url, "?"));
	else {
		str_addf(out, "%s://%s/",
			 c->client->endpoint.is_gcs ? "gs" : "s3", c->q.bucket);
		quote_name(out, c->q.key, strlen(c->q.key));
	}
}

/* "cannot GET 's3://bucket/key': 404 NoSuchKey, The specified key does not exist" */
static void add_sentence(struct str *out, const struct s3_call *c,
			 const struct s3_reply *reply, const char *why)
{
	str_addf(out, "cannot %s '", c->q.method);
	add_place(out, c);
	str_adds(out, "': ");
	if (why) {
		str_adds(out, why);
		return;
	}
	str_addf(out, "the server answered %u%s%.60s", reply->status,
		 *reply->s3.code ? " " : "", reply->s3.code);
	/* A reply to HEAD has no document that says why. */
	if (!*reply->s3.code && reply->status == 403 && !c->q.url)
		str_adds(out, " (forbidden): the keys are wrong or have "
			      "expired, or do not allow this");
	if (*reply->s3.message) {
		str_adds(out, ", ");
		quote_printable(out, reply->s3.message,
				strnlen(reply->s3.message, 300));
	}
}

static void finish(struct s3_call *c, struct s3_reply *reply, const char *why)
{
	CLEANUP(str_release) struct str sentence = STR_INIT;
	void (*end)(void *data, const struct s3_reply *reply) = c->events->end;

	if (reply->error)
		add_sentence(&sentence, c, reply, why);
	reply->sentence = str_cstr(&sentence);
	c->http = NULL;
	list_remove(&c->link); /* the client may not cancel it any more */
	end(c->data, reply);
	free_call(c);
}

static void fail(struct s3_call *c, int error, const char *why)
{
	struct s3_reply reply = { .error = error,
				  .body = "",
				  .s3 = { "", "", "", "" } };

	finish(c, &reply, why);
}

/* ---- the reply ---- */

/* A range that is not the one that was asked for would be put in the wrong place. */
static bool check_range(struct s3_call *c, const struct http_head *head)
{
	int64_t from = c->q.from + c->n_delivered, first, last;
	const char *text = http_head_get(head, "Content-Range");
	bool has_asked = from > 0 || c->q.to >= 0;

	if (!has_asked)
		return true;
	if (head->status == 200)
		return from == 0;
	if (head->status != 206 || !text ||
	    sscanf(text, "bytes %" SCNd64 "-%" SCNd64 "/", &first, &last) != 2)
		return false;
	return first == from && last >= first &&
	       (c->q.to < 0 || last < c->q.to);
}

static void keep_etag(struct s3_call *c, const struct http_head *head)
{
	char etag[144];

	s3_head_etag(head, etag, sizeof(etag));
	if (!c->etag && *etag && strncmp(etag, "W/", 2) != 0)
		c->etag = pool_strdup(&c->pool, etag);
}

static void on_head(struct http_call *http)
{
	struct s3_call *c = http->data;
	const struct http_head *head = http->reply;

	c->status = head->status;
	c->is_good = head->status >= 200 && head->status < 300;
	str_clear(&c->body);
	if (!c->is_good || !c->events->body)
		return;
	if (!check_range(c, head)) {
		c->is_good = false;
		return;
	}
	keep_etag(c, head);
	if (!c->has_begun && c->events->head)
		c->events->head(c->data, head);
	c->has_begun = true;
}

static void on_body(struct http_call *http, const char *data, size_t len)
{
	struct s3_call *c = http->data;
	size_t max = c->is_good ? S3_XML_MAX : MAX_ERROR_BODY;

	if (c->is_good && c->events->body) {
		c->n_delivered += (int64_t)len;
		c->events->body(c->data, data, len);
	} else if (len <= max - c->body.len) {
		str_add(&c->body, data, len);
	}
}

/* ---- the next try ---- */

static void on_timer(struct loop_timer *t)
{
	start_try(container_of(t, struct s3_call, timer));
}

static void try_later(struct s3_call *c, int64_t pause_ms)
{
	c->timer.due = on_timer;
	if (loop_timer_set(c->client->loop, &c->timer,
			   loop_now_ms(c->client->loop) + pause_ms) < 0)
		fail(c, -ENOMEM, "out of memory");
}

/* An error in a reply, as far as it says one. */
static void read_error(struct s3_call *c, struct pool *pool,
		       struct s3_reply *reply)
{
	bool may_be = !c->is_good || c->q.may_lie;

	reply->s3 = (struct s3_error){ "", "", "", "" };
	if (may_be && c->body.len)
		(void)s3_xml_error(c->body.data, c->body.len, pool, &reply->s3);
}

/* A success with an error in it is one of the server: S3 begins long replies early. */
static int judge_reply(const struct s3_call *c, const struct s3_reply *reply)
{
	if (c->is_good && !(c->q.may_lie && *reply->s3.code))
		return 0;
	if (reply->status >= 200 && reply->status < 300)
		return *reply->s3.code ? -EREMOTEIO : -EBADMSG;
	return s3_retry_errno(reply->status);
}

static void on_end(struct http_call *http, int error, const char *sentence)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct s3_call *c = http->data;
	struct s3_reply reply = {
		.status = http->reply ? http->reply->status : 0,
		.head = http->reply,
		.body = str_cstr(&c->body),
		.len = c->body.len,
	};
	enum s3_verdict verdict;

	c->http = NULL;
	read_error(c, &pool, &reply);
	if (!error && c->body.failed)
		error = -ENOMEM;
	reply.error = error ? error : judge_reply(c, &reply);
	if (!reply.error) {
		finish(c, &reply, NULL);
		return;
	}
	if (reply.error == -EBADMSG) {
		finish(c, &reply,
		       "the server did not send the range that it "
		       "was asked for");
		return;
	}
	verdict = s3_retry_judge(c, error, http->reply, &reply.s3);
	/* What is not known to be the same content cannot be continued. */
	if (c->n_delivered && !c->etag)
		verdict = S3_ENDS;
	if (verdict == S3_ENDS)
		finish(c, &reply, error ? sentence : NULL);
	else
		try_later(c, verdict == S3_RETRIES_AT_ONCE ?
				     0 :
				     s3_retry_pause_ms(c->n_tries,
						       error ? NULL :
							       http->reply));
}

static void send_try(struct s3_call *c, const struct sigv4_credentials *keys)
{
	static const struct http_call_events events = { .head = on_head,
							.body = on_body,
							.end = on_end };
	int r;

	c->is_good = false;
	str_clear(&c->body);
	r = s3_call_send(c, keys, &events);
	if (r == -EAGAIN)
		try_later(c, s3_retry_pause_ms(1, NULL));
	else if (r < 0)
		fail(c, r, strerror(-r));
}

static void on_keys(struct credentials_wait *w,
		    const struct sigv4_credentials *keys, const char *sentence)
{
	struct s3_call *c = container_of(w, struct s3_call, wait);

	if (keys)
		send_try(c, keys);
	else
		fail(c, -EACCES, sentence);
}

static void start_try(struct s3_call *c)
{
	const struct sigv4_credentials *keys;

	c->n_tries++;
	if (!c->client->credentials || c->q.url) {
		send_try(c, NULL);
		return;
	}
	c->wait.done = on_keys;
	keys = credentials_get(c->client->credentials, &c->wait);
	if (keys)
		send_try(c, keys);
}

/* ---- the begin ---- */

static int copy_text(struct s3_call *c, const char **text)
{
	if (!*text)
		return 0;
	*text = pool_strdup(&c->pool, *text);
	return *text ? 0 : -ENOMEM;
}

static int copy_request(struct s3_call *c, const struct s3_call_request *q)
{
	struct http_field *fields;
	int r = 0;

	c->q = *q;
	c->q.bucket = q->bucket ? q->bucket : "";
	c->q.key = q->key ? q->key : "";
	fields = pool_alloc(&c->pool, (q->n_fields + 1) * sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	for (size_t i = 0; i < q->n_fields && r == 0; i++) {
		fields[i] = q->fields[i];
		r = copy_text(c, &fields[i].name);
		if (r == 0)
			r = copy_text(c, &fields[i].value);
	}
	c->q.fields = fields;
	if (r < 0 || copy_text(c, &c->q.method) < 0 ||
	    copy_text(c, &c->q.bucket) < 0 || copy_text(c, &c->q.key) < 0 ||
	    copy_text(c, &c->q.url) < 0 || copy_text(c, &c->q.query) < 0 ||
	    copy_text(c, &c->q.etag) < 0 || copy_text(c, &c->q.crc64nvme) < 0)
		return -ENOMEM;
	c->etag = c->q.etag;
	return 0;
}

int s3_call_begin(struct s3_client *client,
		  const struct s3_call_request *request,
		  const struct s3_call_events *events, void *data,
		  struct s3_call **ret)
{
	enum { OWN_FIELDS = 9 };
	struct s3_call *c;
	int r;

	assert(events->end);
	if (request->n_fields > S3_CALL_MAX_FIELDS - OWN_FIELDS ||
	    request->from < 0 ||
	    (request->to >= 0 && request->to <= request->from))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->client = client;
	c->events = events;
	c->data = data;
	list_add(&client->calls, &c->link);
	r = copy_request(c, request);
	c->timer.due = on_timer;
	if (r == 0) /* from the loop: what begin() cannot report, end() does */
		r = loop_timer_set(client->loop, &c->timer,
				   loop_now_ms(client->loop));
	if (r < 0) {
		free_call(c);
		return r;
	}
	*ret = c;
	return 0;
}
