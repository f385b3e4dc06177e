/* grpc_text.h - values of gRPC's headers: timeouts and messages. */
#ifndef NET_GRPC_TEXT_H
#define NET_GRPC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/buffer.h"

/* "grpc-timeout": one to eight digits and a unit (H M S m u n).  Milliseconds, rounded up.
 * 0 or -EINVAL. */
int grpc_timeout_parse(const char *text, size_t len, int64_t *ret_ms);

/* Is it "application/grpc", maybe with "+proto" or parameters? */
bool grpc_content_type_ok(const char *text, size_t len);

/* Appends `text` to `out`, percent-encoded ("%XX") for '%' and bytes that a header must not
 * contain.  At most `max` bytes, cut between UTF-8 characters.  0 or -ENOMEM. */
int grpc_encode(struct shelf *shelf, struct buffer *out, const char *text,
		size_t max);
/* Decodes such a value, at most `max` bytes.  A '%' that does not start "%XX" is kept. */
void grpc_decode(struct str *out, const char *text, size_t len, size_t max);

#endif
