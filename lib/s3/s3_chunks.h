/* s3_chunks.h - the envelope "aws-chunked" of uploads, taken off and put on while bytes pass.
 *
 *	400;chunk-signature=HEX CRLF	size in hex; the signature where chunks are signed
 *	1024 bytes CRLF
 *	…
 *	0;chunk-signature=HEX CRLF	the last chunk is empty
 *	x-amz-checksum-crc32c:sOO8/Q== CRLF	in modes with trailers
 *	x-amz-trailer-signature:HEX CRLF	where they are signed
 *	CRLF
 *
 * The decoder takes any sizes of chunks; it hands on what it is fed, without a copy.  The
 * encoder writes chunks of one size, so that the length of all is known before.  It keeps up
 * to one chunk where chunks are signed, for the signature goes first; else nothing. */
#ifndef S3_CHUNKS_H
#define S3_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/head.h"
#include "s3/s3_payload.h"
#include "s3/sigv4.h"

enum {
	S3_CHUNK_SIGNED = 64 << 10, /* bytes of our chunks */
	S3_CHUNK_UNSIGNED = 1 << 20,
	S3_CHUNK_MAX_LINE = 1024, /* bytes of a line, of a chunk or a trailer */
	S3_CHUNK_MAX_TRAILERS = 8,
};

/* ---- decoder ---- */

enum s3_chunk_event {
	S3_CHUNK_NOTHING, /* all was taken, and more is needed */
	S3_CHUNK_BEGIN, /* of `size` bytes, with `signature` */
	S3_CHUNK_DATA, /* `data`, `len` */
	S3_CHUNK_TRAILER, /* `name`, in lower case, and `value` */
	S3_CHUNK_END, /* of all */
};

struct s3_chunk_decoder {
	/* Of the last event: */
	uint64_t size;
	char signature[SIGV4_HEX_SIZE]; /* of a chunk; "": it has none */
	const char *data;
	size_t len;
	const char *name, *value;

	/* The rest is the decoder's own. */
	uint64_t left; /* bytes of the chunk */
	uint64_t n_decoded, max_decoded;
	int state;
	unsigned n_trailers;
	bool has_trailers; /* may have */
	bool ends_bare,
		after_bare; /* the line, or the one before, ends with LF */
	char line[S3_CHUNK_MAX_LINE];
	size_t line_len;
};

/* Expects `length` bytes in all, and trailers where the mode has them. */
void s3_chunk_decoder_init(struct s3_chunk_decoder *d, enum s3_payload mode,
			   uint64_t length);

/* Takes bytes up to the next event: returns how many, and which in *ret_event.  -EPROTO: the
 * envelope is malformed; -EMSGSIZE: it has more or fewer bytes than were announced. */
ssize_t s3_chunk_decoder_feed(struct s3_chunk_decoder *d, const char *bytes,
			      size_t len, enum s3_chunk_event *ret_event);

/* ---- encoder ---- */

/* Takes bytes of the envelope.  0 or a negative errno, which ends the encoding. */
typedef int s3_chunk_write_fn(void *ctx, const void *data, size_t len);

struct s3_chunk_encoder {
	enum s3_payload mode;
	uint64_t left; /* decoded bytes that are to come */
	size_t chunk_left; /* of the chunk that was begun, where none is signed */
	char *chunk; /* that is collected, where they are */
	size_t chunk_len;
	struct sigv4 *signer;
	struct sigv4_chain chain; /* begins with the request's signature */
	s3_chunk_write_fn *write;
	void *ctx;
};

/* `signer` is for modes with signatures; the caller fills `chain` before the first byte.
 * 0 or -ENOMEM. */
int s3_chunk_encoder_init(struct s3_chunk_encoder *e, enum s3_payload mode,
			  uint64_t length, struct sigv4 *signer,
			  s3_chunk_write_fn *write, void *ctx);
void s3_chunk_encoder_release(struct s3_chunk_encoder *e);

/* No more than was announced.  Fails as `write` does; -EIO when libcrypto does. */
int s3_chunk_encoder_add(struct s3_chunk_encoder *e, const void *data,
			 size_t len);
/* After all bytes: the last chunk, the trailers (names in lower case) and the end. */
int s3_chunk_encoder_finish(struct s3_chunk_encoder *e,
			    const struct http_field *trailers,
			    size_t n_trailers);

/* Bytes of the envelope for `length` bytes of content and trailers that take
 * `trailers_length`: for each, its name, its value and 3. */
int64_t s3_chunk_encoded_length(enum s3_payload mode, uint64_t length,
				uint64_t trailers_length);

#endif
