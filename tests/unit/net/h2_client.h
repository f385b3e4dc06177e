/* h2_client.h - a client of HTTP/2 that can also do what stock clients never do. */
#ifndef TESTS_NET_H2_CLIENT_H
#define TESTS_NET_H2_CLIENT_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "base/str.h"
#include "scene.h"

struct h2_stream {
	struct str head; /* "name: value\n"... of the first HEADERS */
	struct str data;
	struct str trailers; /* of the last HEADERS, if that is another */
	int n_heads;
	bool closed;
	uint32_t error; /* with which it was closed */
};

enum { H2_STREAMS = 2048 };

struct h2 {
	struct scene *scene;
	nghttp2_session *session;
	int fd;
	bool gone; /* the server has closed the connection */
	int n_goaways;
	uint32_t goaway; /* the error of the last one */
	int32_t goaway_last; /* its last stream */
	int n_pings, n_acks;
	struct h2_stream streams[H2_STREAMS]; /* by (id - 1) / 2 */
};

/* NULL `settings`: none. */
struct h2 *h2_open(struct scene *s, const nghttp2_settings_entry *settings,
		   size_t n_settings);
void h2_close(struct h2 *h);

/* Both sides act until nothing more happens. */
void h2_run(struct h2 *h);

struct h2_stream *h2_stream(struct h2 *h, int32_t id);

/* A header; the table of a request ends with a NULL name. */
struct h2_field {
	const char *name, *value;
};

/* A request with these headers and no DATA yet; returns its stream. */
int32_t h2_headers(struct h2 *h, const struct h2_field *fields, bool end);
/* The usual headers of a call of /echo.Echo/`method`, and up to one more. */
int32_t h2_begin(struct h2 *h, const char *method, const char *name,
		 const char *value);
/* DATA as it is. */
void h2_data(struct h2 *h, int32_t stream, const void *data, size_t len,
	     bool end);
/* One message with its prefix. */
void h2_message(struct h2 *h, int32_t stream, const void *data, size_t len,
		bool end);
/* A whole unary call. */
int32_t h2_call(struct h2 *h, const char *method, const char *text);

/* Lines of head or trailers. */
#define assert_has(str, line) \
	assert_non_null(strstr(str_cstr(&(str)), line "\n"))

#endif
