/* passage.c - one request, from the client to the upstream; see proxy.h
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
#include <unistd.h>

#include "base/macros.h"
#include "proxy.h"
#include "s3/s3_xml.h"

static struct proxy *proxy_of(const struct passage *p)
{
	return p->run->proxy;
}

void passage_free(struct passage *p)
{
	if (p->waits)
		credentials_cancel(&p->wait);
	list_remove(&p->link);
	upload_release(p);
	str_release(&p->kept);
	str_release(&p->sent);
	record_settle(p);
	multihash_release(&p->hash);
	pool_release(&p->pool);
	run_release_one(p->run);
	free(p);
}

/* ---- errors of our own ---- */

void passage_answer(struct passage *p, unsigned status, const char *code,
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
		passage_answer(p, status, code, message);
}

/* ---- from the client to the upstream ---- */

void passage_forward(struct passage *p, const struct sigv4_credentials *keys)
{
	struct http_call_request q;
	int r = upstream_request(p, keys, &q);

	if (r == -ECANCELED) /* it was refused */
		return;
	if (r == 0)
		r = http_call_begin(proxy_of(p)->client, &q, &passage_events, p,
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
void passage_send(struct passage *p)
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
	passage_send(p);
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
	passage_free(p);
}

void passage_end_detached(struct run *run)
{
	LIST_EACH(it, after, &run->proxy->detached) {
		struct passage *p = container_of(it, struct passage, link);

		if (p->run != run)
			continue;
		http_call_cancel(p->call);
		record_end(p, -ETIMEDOUT);
		passage_free(p);
	}
}

const struct http_handler passage_handler = { .begin = begin,
					      .body = body,
					      .end = end,
					      .drained = drained,
					      .closed = closed };
