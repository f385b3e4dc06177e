/* grpc_message.c - DATA, in whatever pieces it comes, to whole messages.
 *
 *	u8	1: compressed, which we do not take
 *	u32	length, big-endian
 *		the message
 *
 * A message that lies whole in what was read is not copied. */

#include "base/byte_order.h"
#include "net/grpc/grpc_internal.h"
#include "net/rpc/rpc_status.h"

static size_t message_len(const uint8_t *prefix)
{
	return be32_get(prefix + 1);
}

/* ---- refusals ---- */

static void refuse(struct rpc_call *call, unsigned status, const char *sentence)
{
	struct conn *c = call->conn;
	struct buffer *in = &call->grpc.in;

	(void)conn_count_incomplete(c, -(ssize_t)buffer_len(in));
	buffer_release(&c->server->shelf, in);
	call_refuse(call, status, sentence);
}

static void refuse_compressed(struct rpc_call *call)
{
	/* The names of encodings are told by every reply of ours that has headers. */
	refuse(call, RPC_UNIMPLEMENTED,
	       "compressed messages are not supported: send them with the encoding 'identity'");
}

/* Looks at a prefix as soon as it is there: a message that is too large is refused before
 * it has come. */
static bool prefix_ok(struct rpc_call *call, const uint8_t *prefix)
{
	if (prefix[0] == 1)
		refuse_compressed(call);
	else if (prefix[0] != 0)
		refuse(call, RPC_INTERNAL, "a message has a malformed prefix");
	else if (message_len(prefix) > conn_max_message(call->conn))
		refuse(call, RPC_RESOURCE_EXHAUSTED,
		       conn_too_large(call->conn));
	else
		return true;
	return false;
}

/* ---- a whole message ---- */

/* Streams get it at once; a unary call when the client is done, which shows that there is
 * only one. */
static void deliver(struct rpc_call *call, const uint8_t *data, size_t len)
{
	call->grpc.got_message = true;
	if (!call->method->streams_in)
		return;
	call_hold(call);
	call_message(call, data, len);
	call_unhold(call);
}

static bool too_many(struct rpc_call *call)
{
	if (call->method->streams_in || !call->grpc.got_message)
		return false;
	refuse(call, RPC_UNIMPLEMENTED,
	       "the method takes one message, and more were sent");
	return true;
}

/* ---- pieces ---- */

static bool keep(struct rpc_call *call, const uint8_t *data, size_t len)
{
	struct conn *c = call->conn;

	if (!conn_count_incomplete(c, (ssize_t)len)) {
		refuse(call, RPC_RESOURCE_EXHAUSTED,
		       "too many large messages are under way");
		return false;
	}
	if (buffer_add(&c->server->shelf, &call->grpc.in, data, len) < 0) {
		(void)conn_count_incomplete(c, -(ssize_t)len);
		refuse(call, RPC_RESOURCE_EXHAUSTED,
		       "the server is out of memory");
		return false;
	}
	return true;
}

/* What the kept piece lacks: of its prefix first. */
static size_t lacking(const struct rpc_call *call)
{
	const struct buffer *in = &call->grpc.in;

	if (buffer_len(in) < MESSAGE_PREFIX)
		return MESSAGE_PREFIX - buffer_len(in);
	return MESSAGE_PREFIX + message_len(buffer_bytes(in)) - buffer_len(in);
}

/* A message that is whole is delivered; a unary one stays in the buffer. */
static void finish_kept(struct rpc_call *call)
{
	struct buffer *in = &call->grpc.in;
	size_t len = buffer_len(in) - MESSAGE_PREFIX;

	deliver(call, buffer_bytes(in) + MESSAGE_PREFIX, len);
	if (!call->method->streams_in)
		return;
	(void)conn_count_incomplete(call->conn, -(ssize_t)buffer_len(in));
	buffer_release(&call->conn->server->shelf, in);
}

/* Goes on with a kept piece.  Returns how much of `data` it took. */
static size_t add_to_kept(struct rpc_call *call, const uint8_t *data,
			  size_t len)
{
	struct buffer *in = &call->grpc.in;
	size_t n = lacking(call);
	bool had_prefix = buffer_len(in) >= MESSAGE_PREFIX;

	if (n > len)
		n = len;
	if (!keep(call, data, n))
		return len;
	if (buffer_len(in) < MESSAGE_PREFIX)
		return n;
	if (!had_prefix && !prefix_ok(call, buffer_bytes(in)))
		return len;
	if (lacking(call) == 0)
		finish_kept(call);
	return n;
}

/* A message that lies whole in `data`.  Returns its length with the prefix, 0 when
 * it does not, `len` when it was refused. */
static size_t take_whole(struct grpc *g, struct rpc_call *call,
			 const uint8_t *data, size_t len)
{
	if (len < MESSAGE_PREFIX)
		return 0;
	if (!prefix_ok(call, data))
		return len;

	size_t n = message_len(data);

	if (len - MESSAGE_PREFIX < n)
		return 0;
	if (!call->method->streams_in) {
		grpc_message_keep_view(g);
		g->viewed = call;
		g->view = data + MESSAGE_PREFIX;
		g->view_len = n;
	}
	deliver(call, data + MESSAGE_PREFIX, n);
	return MESSAGE_PREFIX + n;
}

static bool is_kept(const struct rpc_call *call)
{
	return buffer_len(&call->grpc.in) > 0;
}

void grpc_message_data(struct grpc *g, struct rpc_call *call,
		       const uint8_t *data, size_t len)
{
	while (len > 0 && call->open && !too_many(call)) {
		size_t n = is_kept(call) ? add_to_kept(call, data, len) :
					   take_whole(g, call, data, len);

		if (n == 0) {
			(void)keep(call, data, len);
			return;
		}
		data += n;
		len -= n;
	}
}

void grpc_message_keep_view(struct grpc *g)
{
	struct rpc_call *call = g->viewed;

	g->viewed = NULL;
	if (call && call->open)
		(void)keep(call, g->view - MESSAGE_PREFIX,
			   g->view_len + MESSAGE_PREFIX);
}

/* ---- the end of the request ---- */

static void end_unary(struct grpc *g, struct rpc_call *call)
{
	struct buffer *in = &call->grpc.in;

	call_hold(call);
	if (!call->grpc.got_message)
		refuse(call, RPC_UNIMPLEMENTED,
		       "the method takes one message, and none was sent");
	else if (g->viewed == call)
		call_message(call, g->view, g->view_len);
	else
		call_message(call, buffer_bytes(in) + MESSAGE_PREFIX,
			     buffer_len(in) - MESSAGE_PREFIX);
	if (g->viewed == call)
		g->viewed = NULL;
	(void)conn_count_incomplete(call->conn, -(ssize_t)buffer_len(in));
	buffer_release(&call->conn->server->shelf, in);
	call_unhold(call);
}

void grpc_message_end(struct grpc *g, struct rpc_call *call)
{
	if (!call->open)
		return;
	if (!call->method->streams_in) {
		end_unary(g, call);
		return;
	}
	if (is_kept(call)) {
		refuse(call, RPC_INTERNAL,
		       "the request ends in the middle of a message");
		return;
	}
	call_hold(call);
	call_half_closed(call);
	call_unhold(call);
}
