/* body.h - the bodies of messages, as they are read from the wire.
 *
 * A reader follows a message's head (head.h).  It hands on the content without its
 * framing, in the pieces that arrived; chunk sizes, extensions and trailers are
 * llhttp's work.  Trailers have to be as strict as a head. */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include <llhttp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "http/head.h"

enum {
	HTTP_MAX_TRAILER = 8 << 10
}; /* bytes of trailers, and of chunk extensions */

struct http_body_reader {
	llhttp_t llhttp; /* of a chunked body */
	int64_t left; /* bytes of one whose length is known; or HTTP_LENGTH_... */
	bool ended;
	struct http_head trailers; /* its fields, once the body has ended */
	/* The rest is the reader's own. */
	bool in_trailers; /* after the last chunk */
	size_t n_extension_bytes; /* of all chunks */
	struct str lines; /* of the trailers, as a head (body.c) */
	size_t scanned; /* of them */
	void (*data)(void *ctx, const char *bytes, size_t len);
	void *ctx;
};

void http_body_reader_init(
	struct http_body_reader *b, const struct http_head *head,
	void (*data)(void *ctx, const char *bytes, size_t len), void *ctx);
void http_body_reader_release(struct http_body_reader *b);

/* Takes bytes of the wire, up to the end of the body: returns how many.  Calls `data`
 * for the content.  `ended` is set with the last byte.  -EPROTO: the chunks are
 * malformed. */
ssize_t http_body_reader_feed(struct http_body_reader *b, const char *bytes,
			      size_t len);
/* The connection has ended: 0 when that was the end of the body, -EPROTO when bytes
 * are missing. */
int http_body_reader_close(struct http_body_reader *b);

#endif
