/* host.c - the host of the state machine (coord_host): its replies on their way to clients, its
 * records on their way to the log. */
#include "server.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <syslog.h>

#include "base/cleanup.h"

enum {
	MAX_ABSENT = 1024, /* bytes of names in a trailer */
	SHARE_FROM = 4 << 10, /* bytes that are worth to be there once only */
};

/* ---- replies ---- */

static struct call *find(struct server *s, uint64_t id)
{
	struct rpc_call *rpc;

	if (s->current && s->current->id == id)
		return s->current;
	rpc = rpc_call_find(s->rpc, id);
	return rpc ? rpc_call_data(rpc) : NULL;
}

static void deliver(void *data, const struct queued_reply *head,
		    const void *message, const char *sentence,
		    const char *absent)
{
	struct server *s = data;
	struct call *c = find(s, head->call);

	if (!c)
		return;
	if (message)
		call_send(s, c, message, head->len, head->end);
	if (head->status != COORD_MORE)
		call_end(s, c, head->status, sentence, absent);
}

void host_send_replies(struct server *s)
{
	reply_queue_drain(&s->reply_queue, journal_durable(s), deliver, s);
	http_service_release(s->http, journal_durable(s));
}

static void fail_reply(void *data, const struct queued_reply *head,
		       const void *message, const char *sentence,
		       const char *absent)
{
	struct server *s = data;
	struct call *c = find(s, head->call);

	(void)message;
	(void)sentence;
	(void)absent;
	if (c)
		call_end(
			s, c, COORD_UNAVAILABLE,
			"the log cannot be written: the coordinator is stopping",
			NULL);
}

void host_fail_replies(struct server *s)
{
	reply_queue_drain(&s->reply_queue, UINT64_MAX, fail_reply, s);
	http_service_fail_held(s->http,
			       "{\"error\":\"the log cannot be written: "
			       "the coordinator is stopping\"}\n");
}

/* Names by commas; of very many, those that fit. */
static const char *join(struct str *out, const char *const *names, size_t n)
{
	str_clear(out);
	for (size_t i = 0; i < n && out->len < MAX_ABSENT; i++)
		str_addf(out, "%s%s", i ? "," : "", names[i]);
	return n && str_error(out) == 0 ? out->data : NULL;
}

/* ---- replies that the program completes ---- */

/* Who sees one job only is not told how much there is of others. */
static void fill_status(struct server *s, Roar__StatusReply *m)
{
	struct rpc_counts rpc;
	struct record_log_counts log;

	rpc_server_count(s->rpc, &rpc);
	journal_count(s, &log);
	m->n_connections = rpc.n_connections;
	m->log_records = log.records;
	m->log_bytes = (int64_t)log.bytes;
	m->n_requests = s->n_requests;
}

static void pack_status(struct server *s, const struct call *c,
			const ProtobufCMessage *message)
{
	Roar__StatusReply m = *(const Roar__StatusReply *)message;

	m.version = ROAR_VERSION;
	m.uptime_ms = loop_now_ms(s->loop) - s->started_mono_ms;
	m.stopping = s->stopping;
	m.fencing_token = (uint64_t)leadership_token(s);
	if (c->scope->admin)
		fill_status(s, &m);
	pack_add(&s->out, &m.base);
}

static void pack_reply(struct server *s, const struct call *c,
		       const ProtobufCMessage *message)
{
	str_clear(&s->out);
	if (c->method->coord->number == METHOD_GET_STATUS)
		pack_status(s, c, message);
	else
		pack_add(&s->out, message);
}

static struct rpc_shared *pack_shared(const ProtobufCMessage *message)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;

	pack_add(&bytes, message);
	return str_error(&bytes) < 0 ? NULL :
				       rpc_shared_new(bytes.data, bytes.len);
}

/* What replies have in common is packed when the first of them comes.  Little of it is
 * copied to each. */
static void add_common(struct server *s, struct queued_reply *head)
{
	if (s->common_len < SHARE_FROM) {
		pack_add(&s->out, s->common);
		return;
	}
	if (!s->end)
		s->end = pack_shared(s->common);
	if (!s->end)
		s->out.failed = true;
	head->end = s->end;
}

/* ---- what the state machine calls ---- */

static int on_record(void *host, const Roar__Record__Record *record)
{
	struct server *s = host;
	int r = journal_append(s, record);

	if (r >= 0 && record->what_case == ROAR__RECORD__RECORD__WHAT_CHECKPOINT)
		s->checkpoint_bytes += (uint64_t)record->checkpoint->info
					       ->size_bytes;
	return r;
}

static void reply_to(struct server *s, struct call *c,
		     struct queued_reply *head, const ProtobufCMessage *message,
		     const char *sentence, const char *absent)
{
	if (message) {
		pack_reply(s, c, message);
		if (s->common)
			add_common(s, head);
		head->len = (uint32_t)s->out.len;
	}
	if (str_error(&s->out) < 0) {
		str_release(&s->out);
		call_end(s, c, COORD_RESOURCE_EXHAUSTED, "out of memory", NULL);
		return;
	}
	/* What waited leaves before what need not. */
	if (journal_is_durable(s) && s->reply_queue.n)
		host_send_replies(s);
	if (journal_is_durable(s))
		deliver(s, head, message ? str_cstr(&s->out) : NULL, sentence,
			absent);
	else if (reply_queue_add(&s->reply_queue, head, str_cstr(&s->out),
				 sentence, absent) < 0)
		call_end(s, c, COORD_RESOURCE_EXHAUSTED, "out of memory", NULL);
	else if (head->status != COORD_MORE)
		c->answered = true;
}

static void reply_to_look(struct look *l, enum coord_status status,
			  const ProtobufCMessage *message, const char *sentence)
{
	l->status = status;
	if (message)
		l->reply(l, message);
	else
		(void)snprintf(l->sentence, sizeof(l->sentence), "%s",
			       sentence ? sentence : "");
}

static void on_reply(void *host, uint64_t call, enum coord_status status,
		     const ProtobufCMessage *message, const char *sentence,
		     const char *const *names, size_t n_names)
{
	struct server *s = host;
	struct queued_reply head = { .seq = s->appended,
				     .call = call,
				     .status = status,
				     .len = REPLY_NO_MESSAGE };
	struct call *c;

	if (s->look && s->look->id == call) {
		reply_to_look(s->look, status, message, sentence);
		return;
	}
	c = find(s, call);
	if (!c)
		return;
	if (c->method->coord->number == METHOD_STOP && status == COORD_OK)
		s->stop_asked = true;
	reply_to(s, c, &head, message, sentence,
		 join(&s->absent, names, n_names));
}

static void on_share(void *host, const ProtobufCMessage *common)
{
	struct server *s = host;

	s->common = common;
	s->common_len = common ? protobuf_c_message_get_packed_size(common) : 0;
	rpc_shared_unref(s->end);
	s->end = NULL;
}

static void on_note(void *host, int level, const char *job,
		    const char *sentence)
{
	struct server *s = host;

	log_lines_add(&s->lines, level, job, "%s", sentence);
}

static uint64_t on_random(void *host)
{
	uint64_t number = 0;

	(void)host;
	while (getrandom(&number, sizeof(number), 0) != sizeof(number))
		;
	return number;
}

const struct coord_host server_host = {
	.record = on_record,
	.reply = on_reply,
	.share = on_share,
	.note = on_note,
	.random = on_random,
};

/* ---- looks of HTTP ---- */

/* A look is no promise: it shows also what is not on disk yet. */
void host_look(struct server *s, const struct scope *scope,
	       const struct coord_method *method,
	       const ProtobufCMessage *request, struct look *l)
{
	struct coord_caller who = { .job = scope->job, .admin = scope->admin };

	l->id = (UINT64_C(1) << 63) | ++s->n_looks;
	l->status = COORD_UNKNOWN;
	s->look = l;
	coord_request(s->coord, server_now(s), &who, method, l->id, INT64_MAX,
		      request);
	s->look = NULL;
}
