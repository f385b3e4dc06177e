/* h2_client.c - see h2_client.h */
#include "h2_client.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct h2_stream *h2_stream(struct h2 *h, int32_t id)
{
	assert_true(id > 0 && (id - 1) / 2 < H2_STREAMS);
	return &h->streams[(id - 1) / 2];
}

/* ---- what comes ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *f,
		     const uint8_t *name, size_t name_len, const uint8_t *value,
		     size_t value_len, uint8_t flags, void *data)
{
	struct h2_stream *s = h2_stream(data, f->hd.stream_id);
	struct str *out = s->n_heads == 0 ? &s->head : &s->trailers;

	(void)session;
	(void)flags;
	str_addf(out, "%.*s: %.*s\n", (int)name_len, (const char *)name,
		 (int)value_len, (const char *)value);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
		   const uint8_t *bytes, size_t len, void *data)
{
	(void)session;
	(void)flags;
	str_add(&h2_stream(data, id)->data, bytes, len);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f,
		    void *data)
{
	struct h2 *h = data;

	(void)session;
	switch (f->hd.type) {
	case NGHTTP2_HEADERS:
		h2_stream(h, f->hd.stream_id)->n_heads++;
		break;
	case NGHTTP2_GOAWAY:
		h->n_goaways++;
		h->goaway = f->goaway.error_code;
		h->goaway_last = f->goaway.last_stream_id;
		break;
	case NGHTTP2_PING:
		if (f->hd.flags & NGHTTP2_FLAG_ACK)
			h->n_acks++;
		else
			h->n_pings++;
		break;
	default:
		break;
	}
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error,
		    void *data)
{
	struct h2_stream *s = h2_stream(data, id);

	(void)session;
	s->closed = true;
	s->error = error;
	return 0;
}

/* ---- life ---- */

struct h2 *h2_open(struct scene *s, const nghttp2_settings_entry *settings,
		   size_t n_settings)
{
	struct h2 *h = calloc(1, sizeof(*h));
	nghttp2_session_callbacks *c = NULL;
	nghttp2_option *option = NULL;

	assert_non_null(h);
	assert_int_equal(nghttp2_session_callbacks_new(&c), 0);
	nghttp2_session_callbacks_set_on_header_callback(c, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
	assert_int_equal(nghttp2_option_new(&option), 0);
	nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
	assert_int_equal(nghttp2_session_client_new2(&h->session, c, h, option),
			 0);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(c);
	h->scene = s;
	h->fd = scene_connect(s);
	assert_int_equal(nghttp2_submit_settings(h->session, 0, settings,
						 n_settings),
			 0);
	return h;
}

void h2_close(struct h2 *h)
{
	for (int i = 0; i < H2_STREAMS; i++) {
		str_release(&h->streams[i].head);
		str_release(&h->streams[i].data);
		str_release(&h->streams[i].trailers);
	}
	nghttp2_session_del(h->session);
	close(h->fd);
	free(h);
}

/* ---- turns ---- */

static bool send_out(struct h2 *h)
{
	const uint8_t *data = NULL;
	bool some = false;
	ssize_t n;

	while (!h->gone &&
	       (n = nghttp2_session_mem_send(h->session, &data)) > 0) {
		scene_write(h->scene, h->fd, data, (size_t)n);
		some = true;
	}
	return some;
}

static bool take_in(struct h2 *h)
{
	uint8_t bytes[16384];
	ssize_t n = recv(h->fd, bytes, sizeof(bytes), 0);

	if (n == 0 || (n < 0 && errno == ECONNRESET))
		h->gone = true;
	if (n <= 0)
		return false;
	assert_int_equal(nghttp2_session_mem_recv(h->session, bytes, (size_t)n),
			 n);
	return true;
}

void h2_run(struct h2 *h)
{
	for (int quiet = 0; quiet < 2;) {
		bool sent = send_out(h);

		scene_turn(h->scene);
		quiet = take_in(h) || sent ? 0 : quiet + 1;
	}
}

/* ---- requests ---- */

int32_t h2_headers(struct h2 *h, const struct h2_field *fields, bool end)
{
	nghttp2_nv nv[64];
	size_t n = 0;

	for (; fields[n].name; n++)
		nv[n] = (nghttp2_nv){ .name = (uint8_t *)fields[n].name,
				      .namelen = strlen(fields[n].name),
				      .value = (uint8_t *)fields[n].value,
				      .valuelen = strlen(fields[n].value) };

	int32_t id = nghttp2_submit_headers(h->session,
					    end ? NGHTTP2_FLAG_END_STREAM : 0,
					    -1, NULL, nv, n, NULL);

	assert_true(id > 0);
	(void)send_out(h); /* DATA needs a stream that is there */
	return id;
}

int32_t h2_begin(struct h2 *h, const char *method, const char *name,
		 const char *value)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	str_addf(&path, "/echo.Echo/%s", method);

	const struct h2_field fields[] = {
		{ ":method", "POST" },
		{ ":scheme", "http" },
		{ ":path", str_cstr(&path) },
		{ ":authority", "here" },
		{ "te", "trailers" },
		{ "content-type", "application/grpc" },
		{ name, value },
		{ NULL, NULL },
	};

	return h2_headers(h, fields, false);
}

struct source {
	const uint8_t *data;
	size_t left;
	bool end;
};

static ssize_t read_source(nghttp2_session *session, int32_t stream,
			   uint8_t *out, size_t len, uint32_t *flags,
			   nghttp2_data_source *source, void *user_data)
{
	struct source *s = source->ptr;
	size_t n = s->left < len ? s->left : len;

	(void)session;
	(void)stream;
	(void)user_data;
	if (n) {
		memcpy(out, s->data, n);
		s->data += n;
		s->left -= n;
	}
	if (s->left == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

void h2_data(struct h2 *h, int32_t stream, const void *data, size_t len,
	     bool end)
{
	struct source source = { .data = data, .left = len };
	const nghttp2_data_provider p = { .source.ptr = &source,
					  .read_callback = read_source };

	assert_int_equal(nghttp2_submit_data(h->session,
					     end ? NGHTTP2_FLAG_END_STREAM : 0,
					     stream, &p),
			 0);
	h2_run(h); /* `source` is read here */
}

void h2_message(struct h2 *h, int32_t stream, const void *data, size_t len,
		bool end)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	uint32_t be_len = htobe32((uint32_t)len);

	str_addc(&s, 0);
	str_add(&s, &be_len, sizeof(be_len));
	str_add(&s, data, len);
	h2_data(h, stream, s.data, s.len, end);
}

int32_t h2_call(struct h2 *h, const char *method, const char *text)
{
	int32_t stream = h2_begin(h, method, NULL, NULL);

	h2_message(h, stream, text, strlen(text), true);
	return stream;
}
