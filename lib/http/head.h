/* head.h - the head of an HTTP/1.1 message: start line and header fields.
 *
 * A head is parsed as a whole, from one piece of memory, once its last line has
 * arrived.  It keeps its own copy of the bytes; every string below points into
 * that copy and ends with NUL.  Names keep their case and order, as a proxy needs
 * them; look-ups ignore case.
 *
 * The parser is llhttp.  What lets two parties disagree about where a message ends is
 * refused here, whatever llhttp thinks of it: a line that does not end with CR LF, a
 * folded line, a control character, two Content-Length or Host fields, Content-Length
 * beside Transfer-Encoding, a transfer coding other than "chunked". */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/pool.h"

enum {
	/* Bytes of one read(): large bodies wake their readers less often. */
	HTTP_READ_LEN = 512 << 10,
	HTTP_MAX_FIELDS = 128,
	HTTP_LENGTH_CHUNKED = -1, /* the body says itself where it ends */
	HTTP_LENGTH_CLOSE = -2, /* the end of the connection ends the body */
};

struct http_field {
	const char *name, *value;
};

struct http_head {
	struct pool pool; /* owns everything below */
	unsigned minor; /* of the version: HTTP/1.0 or HTTP/1.1 */
	const char *method; /* of a request, else NULL */
	const char *target; /* likewise; as it was sent, not decoded */
	unsigned status; /* of a reply, else 0 */
	const char *reason; /* likewise; may be empty */
	const struct http_field *fields;
	size_t n_fields;
	int64_t length; /* bytes of the body, or HTTP_LENGTH_... */
	bool keeps_alive; /* the sender lets the connection go on */
	bool expects_continue; /* it waits for "100 Continue" */
};

/* What a reply answers: that decides whether it has a body. */
enum http_head_kind {
	HTTP_HEAD_REQUEST,
	HTTP_HEAD_REPLY,
	HTTP_HEAD_REPLY_TO_HEAD,
	HTTP_HEAD_REPLY_TO_CONNECT,
};

/* The length of the head that `data` starts with, its empty line included; 0 when it has
 * not ended yet, -EPROTO when a line is malformed.  `*scanned` is the caller's, 0 for
 * a new head: what was looked at before is not looked at again.  Empty lines
 * before a head are part of it. */
ssize_t http_head_find(const char *data, size_t len, size_t *scanned);

/* Parses a whole head.  Returns 0, -ENOMEM, or -EPROTO with one sentence in *err and, for
 * a request, the status to refuse it with in *ret_status. */
int http_head_parse(struct http_head *h, enum http_head_kind kind,
		    const char *data, size_t len, unsigned *ret_status,
		    struct roar_error *err);
void http_head_release(struct http_head *h);

/* The first field of that name, or NULL. */
const char *http_head_get(const struct http_head *h, const char *name);
/* Whether a field that is a list (Connection, Vary) has this item. */
bool http_head_lists(const struct http_head *h, const char *name,
		     const char *item);

#endif
