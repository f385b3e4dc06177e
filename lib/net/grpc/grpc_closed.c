/* grpc_closed.c - frames on streams that are over.
 *
 * nghttp2 ignores frames on a stream that it has forgotten.  That is right where we have
 * reset the stream, because the client may not have known.  After the client itself ended
 * the stream they are an error of the connection (RFC 9113, 5.1), and so is a request whose
 * number is below that of an earlier one (5.1.1).  One number is enough to tell these cases
 * apart: no stream above `last_reset` was reset by us.
 *
 * nghttp2 tells of the HEADERS that it ignores, but not of the DATA, so we read the headers
 * of frames ourselves, before nghttp2 gets the bytes.  Streams are looked up as they are
 * before that: one that is over then was over before the client's bytes were read. */
#include <string.h>

#include "net/grpc/grpc_internal.h"

static bool is_over(const struct grpc *g, int32_t stream)
{
	nghttp2_session *session = g->session;

	return (stream & 1) && stream > g->last_reset && !g->goaway &&
	       stream <= nghttp2_session_get_last_proc_stream_id(session) &&
	       !nghttp2_session_find_stream(session, stream);
}

static void end_connection(struct grpc *g, uint32_t error)
{
	(void)nghttp2_session_terminate_session(g->session, error);
	conn_doom(g->conn);
	g->conn->server->counts.protocol_errors++;
}

void grpc_closed_headers(struct grpc *g, int32_t stream)
{
	int32_t last = nghttp2_session_get_last_proc_stream_id(g->session);
	bool skipped = (uint32_t)last > 2 * g->n_requests; /* some numbers */

	if (is_over(g, stream))
		end_connection(g, skipped ? NGHTTP2_PROTOCOL_ERROR :
					    NGHTTP2_STREAM_CLOSED);
}

void grpc_closed_by_us(struct grpc *g, int32_t stream)
{
	if (stream > g->last_reset)
		g->last_reset = stream;
}

/* ---- DATA ---- */

static uint32_t number(const uint8_t *bytes, size_t len)
{
	uint32_t n = 0;

	while (len--)
		n = n << 8 | *bytes++;
	return n;
}

/* After the client's own reset DATA is late, whoever ended the stream first. */
static bool is_late_data(struct grpc *g, const uint8_t *head)
{
	int32_t stream = (int32_t)(number(head + 5, 4) & INT32_MAX);

	if (head[3] == NGHTTP2_RST_STREAM)
		g->scan.reset = stream;
	return head[3] == NGHTTP2_DATA &&
	       (stream == g->scan.reset || is_over(g, stream));
}

static size_t at_most(size_t n, size_t len)
{
	return n < len ? n : len;
}

void grpc_closed_scan(struct grpc *g, const uint8_t *data, size_t len)
{
	struct grpc_scan *s = &g->scan;

	for (size_t at = at_most(s->ahead, len), n; at < len; at += n) {
		n = at_most(s->left, len - at);
		s->left -= (uint32_t)n;
		if (n)
			continue;
		n = at_most(sizeof(s->head) - s->n_head, len - at);
		memcpy(s->head + s->n_head, data + at, n);
		s->n_head += (uint8_t)n;
		if (s->n_head < sizeof(s->head))
			continue;
		s->n_head = 0;
		s->left = number(s->head, 3);
		if (is_late_data(g, s->head)) {
			end_connection(g, NGHTTP2_STREAM_CLOSED);
			return;
		}
	}
}
