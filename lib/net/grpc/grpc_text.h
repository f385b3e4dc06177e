/* grpc_text.h - values of gRPC's headers: timeouts and sentences. */
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

/* "application/grpc", with "+proto" or parameters behind it. */
bool grpc_content_type_ok(const char *text, size_t len);

/* Adds `text` to `out`, with bytes that may not stand in a header, and '%', as "%XX"; at
 * most `max` bytes, cut where a character of UTF-8 begins.  0 or -ENOMEM. */
int grpc_encode(struct shelf *shelf, struct buffer *out, const char *text,
		size_t max);
/* The other way round.  At most `max` bytes; a '%' that begins no "%XX" stays. */
void grpc_decode(struct str *out, const char *text, size_t len, size_t max);

#endif
