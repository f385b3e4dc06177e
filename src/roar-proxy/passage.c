/* passage.c - one request, from the client to the upstream, and its reply back; see proxy.h
 *
 *	begin() ─▶ credentials ─▶ passage_forward() ─▶ on_writable() ─▶ body() … ─▶ end()
 *	                              ▲    └─▶ on_head() ─▶ on_body() … ─▶ on_end()
 *	                              └── the bucket is in another region ──┘
 *
 * The client's body waits until the upstream takes it, and "100 Continue" with it: an upload
 * that the upstream refuses is not sent.  A client that leaves before it has its reply leaves
 * the passage alone if the upstream has all of the request: what it did is still recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/number.h"
#include "proxy.h"
#include "s3/s3_xml.h"

static const struct http_call_events EVENTS;

static struct proxy *proxy_of(const struct passage *p)
{
	return p->run->proxy;
}

static void free_passage(struct passage *p)
{
	if (p->waits)
		credentials_cancel(&p->wait);
	list_remove(&p->link);
	upload_release(p);
	str_release(&p->kept);
	str_release(&p->sent);
	multihash_release(&p->hash);
	pool_release(&p->pool);
	run_release_one(p->run);
	free(p);
}

/* ---- errors of our own ---- */

static void reply_error(struct passage *p, unsigned status, const char *code,
			const char *message)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char id[32];

	(void)snprintf(id, sizeof(id), "roar-%016llx",
		       (unsigned long long)proxy_of(p)->n_requests);
	str_addf(&text,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<Error><Code>%s</Code><Message>",
		 code);
	s3_xml_add_text(&text, message);
	str_adds(&text, "</Message><Resource>");
	s3_xml_add_text(&text, p->q.path ? p->q.path : "");
	str_addf(&text, "</Resource><RequestId>%s</RequestId></Error>", id);
	http_reply_field(p->exchange, "x-amz-request-id", id);
	http_reply(p->exchange, status, "application/xml", str_cstr(&text),
		   text.len);
}

void passage_refuse(struct passage *p, unsigned status, const char *code,
		    const char *message)
{
	p->is_refused = true;
	if (p->call)
		http_call_cancel(p->call);
	p->call = NULL;
	record_end(p, -ECANCELED);
	if (!p->exchange)
		return;
	if (http_reply_has_begun(p->exchange))
		http_reply_abort(p->exchange);
	else
		reply_error(p, status, code, message);
}

/* No reply came from the upstream. */
static void reply_failure(struct passage *p, int error, const char *sentence)
{
	struct proxy *proxy = proxy_of(p);

	proxy->n_failed++;
	log_lines_add(&proxy->lines, LOG_WARNING, NULL, "%s", sentence);
	if (http_reply_has_begun(p->exchange))
		http_reply_abort(p->exchange);
	else if (error == -ETIMEDOUT)
		reply_error(p, 504, "ProxyUpstreamTimeout", sentence);
	else
		reply_error(p, 502, "ProxyUpstreamFailed", sentence);
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
		(void)upstream_learn(proxy_of(p), p->q.bucket, p->region);
	else if (is_redirect(reply) && p->has_sent && region && p->q.bucket[0])
		(void)upstream_learn(proxy_of(p), p->q.bucket, region);
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

	record_received(p, data, len);
	if ((p->keeps || p->holds) && p->kept.len + len <= PASSAGE_MAX_KEPT)
		str_add(&p->kept, data, len);
	else if (p->holds)
		let_go(p, c->reply);
	else
		p->keeps = false;
	if (!p->holds)
		write_reply(p, data, len);
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

static void find_credentials(struct passage *p);

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
	find_credentials(p);
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
		free_passage(p);
	else if (error)
		reply_failure(p, error, sentence);
	else
		http_reply_end(p->exchange);
}

static const struct http_call_events EVENTS = { .writable = on_writable,
						.head = on_head,
						.body = on_body,
						.end = on_end };

/* ---- from the client to the upstream ---- */

void passage_forward(struct passage *p, const struct sigv4_credentials *keys)
{
	struct http_call_request q;
	int r = upstream_request(p, keys, &q);

	if (r == -ECANCELED) /* it was refused */
		return;
	if (r == 0)
		r = http_call_begin(proxy_of(p)->client, &q, &EVENTS, p,
				    &p->call);
	if (r == -EAGAIN)
		passage_refuse(p, 503, "SlowDown",
			       "Please reduce your request rate.");
	else if (r == -EINVAL)
		passage_refuse(p, 400, "InvalidRequest",
			       "The request cannot be forwarded.");
	else if (r < 0)
		passage_refuse(p, 500, "InternalError", "out of memory");
}

static void on_credentials(struct credentials_wait *w,
			   const struct sigv4_credentials *keys,
			   const char *sentence)
{
	struct passage *p = container_of(w, struct passage, wait);

	p->waits = false;
	if (keys)
		passage_forward(p, keys);
	else
		passage_refuse(p, 403, "InvalidAccessKeyId", sentence);
}

/* A request without a signature is forwarded without one. */
static void find_credentials(struct passage *p)
{
	const struct sigv4_credentials *keys;

	if (p->q.auth == S3_AUTH_NONE) {
		passage_forward(p, NULL);
		return;
	}
	p->wait.done = on_credentials;
	if (!proxy_of(p)->credentials) {
		passage_refuse(p, 403, "InvalidAccessKeyId",
			       proxy_of(p)->no_credentials.text);
		return;
	}
	keys = credentials_get(proxy_of(p)->credentials, &p->wait);
	p->waits = !keys;
	if (keys)
		passage_forward(p, keys);
}

static struct passage *new_passage(struct http_exchange *x)
{
	struct passage *p = calloc(1, sizeof(*p));
	struct run *run = x->ctx;

	if (!p)
		return NULL;
	p->run = run;
	p->exchange = x;
	p->op = OBJECT_OP_INIT;
	list_init(&p->link);
	multihash_init(&p->hash);
	run->n_open++;
	run->proxy->n_requests++;
	x->data = p;
	return p;
}

/* What the tag of a connection says, beside the pid of its process. */
enum { TAG_NEW = 0, TAG_NO_PROCESS = -1, TAG_FOREIGN = -2 };

/* May this client use our access rights?  A connection is judged once.  One of which nothing
 * is known has come by loopback, as all do. */
static bool is_allowed(struct passage *p, struct peer_identity *ret_peer)
{
	int64_t *tag = http_exchange_tag(p->exchange);

	*ret_peer = (struct peer_identity){ 0 };
	if (*tag != TAG_NEW)
		return *tag != TAG_FOREIGN;
	*tag = TAG_NO_PROCESS;
	if (peer_identity_get(&proxy_of(p)->peers,
			      http_exchange_socket(p->exchange), ret_peer) < 0 ||
	    proxy_of(p)->options->allow_remote || ret_peer->uid == 0 ||
	    ret_peer->uid == geteuid())
		return true;
	*tag = TAG_FOREIGN;
	return false;
}

static void find_process(struct passage *p, const struct peer_identity *peer)
{
	int64_t *tag = http_exchange_tag(p->exchange);

	if (*tag == TAG_NO_PROCESS) {
		pid_t pid = peer_process_find(&proxy_of(p)->peers, peer);

		*tag = pid > 0 ? pid : TAG_NO_PROCESS;
	}
	p->op.pid = *tag > 0 ? (int32_t)*tag : 0;
}

/* AWS_ENDPOINT_URL sends requests for every service here.  Those of others sign a body whose
 * hash no field has, so they cannot be signed anew as a stream. */
static bool is_for_s3(struct passage *p)
{
	const char *service = p->q.claim.service;
	const char *message;

	if (!service[0] || strncmp(service, "s3", 2) == 0)
		return true;
	message = pool_printf(
		&p->pool,
		"The proxy forwards requests to S3 only, and this one "
		"is signed for '%s': set the endpoint of that service "
		"in the environment of the command, as "
		"AWS_ENDPOINT_URL_STS for sts.",
		service);
	passage_refuse(p, 501, "NotImplemented",
		       message ? message : "out of memory");
	return false;
}

static void begin(struct http_exchange *x)
{
	struct passage *p = new_passage(x);
	struct proxy *proxy = ((struct run *)x->ctx)->proxy;
	const struct s3_refusal *refusal = NULL;
	struct peer_identity peer;
	int r;

	if (!p) {
		http_reply(x, 500, NULL, "", 0);
		return;
	}
	http_exchange_set_max_body(x, UINT64_MAX);
	http_exchange_defer_continue(x);
	r = s3_request_parse(&p->q, &p->pool, x->request, proxy->base_host,
			     &refusal);
	if (r == -EINVAL)
		passage_refuse(p, refusal->status, refusal->code,
			       refusal->message);
	else if (r < 0)
		passage_refuse(p, 500, "InternalError", "out of memory");
	else if (!is_allowed(p, &peer))
		passage_refuse(p, 403, "AccessDenied",
			       "The proxy serves the processes of its own user; "
			       "start it with --allow-remote to serve others.");
	else if (p->run->ends)
		passage_refuse(p, 503, "SlowDown", "The proxy is ending.");
	else if (s3_payload_has_chunks(p->q.payload) && x->request->length == 0)
		passage_refuse(p, 400, "IncompleteBody",
			       "The request body has no chunks.");
	else if (p->q.expires_s < loop_wall_ms(proxy->loop) / 1000)
		passage_refuse(p, 403, "AccessDenied", "Request has expired");
	if (p->is_refused || !is_for_s3(p))
		return;
	if (x->request->length != 0)
		http_exchange_pause(x, true);
	record_begin(p);
	find_credentials(p);
	/* While the upstream works. */
	if (p->is_recorded)
		find_process(p, &peer);
}

static void body(struct http_exchange *x, const char *data, size_t len)
{
	struct passage *p = x->data;

	if (!p || !p->call || upload_add(p, data, len) < 0)
		return;
	if (http_call_backlog(p->call) > PASSAGE_ENOUGH)
		http_exchange_pause(x, true);
}

static void end(struct http_exchange *x)
{
	struct passage *p = x->data;

	if (p && p->call)
		upload_end(p);
	else if (p && p->waits)
		p->body_ended = true;
}

static void drained(struct http_exchange *x)
{
	struct passage *p = x->data;

	if (p && p->call)
		http_call_pause(p->call, false);
}

/* Does it matter what the upstream did, though nobody waits for it? */
static bool outlives_client(const struct passage *p)
{
	switch (p->op.kind) {
	case OBJECT_PUT:
	case OBJECT_COPY:
	case OBJECT_DELETE:
	case OBJECT_CREATE_UPLOAD:
	case OBJECT_UPLOAD_PART:
	case OBJECT_UPLOAD_PART_COPY:
	case OBJECT_COMPLETE_UPLOAD:
	case OBJECT_ABORT_UPLOAD:
		return p->call && p->body_ended && p->is_recorded;
	default:
		return false;
	}
}

static void closed(struct http_exchange *x)
{
	struct passage *p = x->data;

	if (!p)
		return;
	p->exchange = NULL;
	if (outlives_client(p)) {
		list_add(&proxy_of(p)->detached, &p->link);
		http_call_pause(p->call, false);
		return;
	}
	if (p->call)
		http_call_cancel(p->call);
	p->call = NULL;
	record_end(p, -ECONNRESET);
	free_passage(p);
}

void passage_end_detached(struct run *run)
{
	LIST_EACH(it, after, &run->proxy->detached) {
		struct passage *p = container_of(it, struct passage, link);

		if (p->run != run)
			continue;
		http_call_cancel(p->call);
		record_end(p, -ETIMEDOUT);
		free_passage(p);
	}
}

const struct http_handler passage_handler = { .begin = begin,
					      .body = body,
					      .end = end,
					      .drained = drained,
					      .closed = closed };
