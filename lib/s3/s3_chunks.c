/* s3_chunks.c - see s3_chunks.h
 *
 *	SIZE ──▶ DATA ──▶ DATA_END ──▶ SIZE …
 *	  └─(0)─▶ TRAILER … ──▶ ENDED
 *
 * SIZE, DATA_END and TRAILER read lines, DATA hands on what it is fed. */
#include "s3/s3_chunks.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

enum { SIZE, DATA, DATA_END, TRAILER, ENDED };

/* ---- decoder ---- */

void s3_chunk_decoder_init(struct s3_chunk_decoder *d, enum s3_payload mode,
			   uint64_t length)
{
	*d = (struct s3_chunk_decoder){
		.max_decoded = length,
		.state = SIZE,
		.has_trailers = s3_payload_has_trailer(mode),
	};
}

/* Collects a line; 1 when it has ended.  Its CR LF is not part of it.  Some clients end a
 * trailer with LF CR LF, as AWS's documents show it: then an empty line follows it. */
static int take_line(struct s3_chunk_decoder *d, const char *bytes, size_t len,
		     ssize_t *ret_taken)
{
	const char *end = memchr(bytes, '\n', len);
	size_t n = end ? (size_t)(end - bytes) : len;

	if (d->line_len + n >= sizeof(d->line))
		return -EPROTO;
	memcpy(d->line + d->line_len, bytes, n);
	d->line_len += n;
	*ret_taken = (ssize_t)(n + (end != NULL));
	if (!end)
		return 0;
	d->ends_bare = d->line_len == 0 || d->line[d->line_len - 1] != '\r';
	if (d->ends_bare && d->state != TRAILER)
		return -EPROTO;
	n = d->line_len - !d->ends_bare;
	d->line[n] = '\0';
	d->line_len = 0;
	return memchr(d->line, '\0', n) ? -EPROTO : 1;
}

/* "400;chunk-signature=HEX" */
static int begin_chunk(struct s3_chunk_decoder *d,
		       enum s3_chunk_event *ret_event)
{
	static const char extension[] = ";chunk-signature=";
	const char *at = d->line;
	uint64_t size = 0;

	if (hex_digit(*at) < 0)
		return -EPROTO;
	for (; hex_digit(*at) >= 0; at++) {
		if (size >> 60)
			return -EPROTO;
		size = size << 4 | (uint64_t)hex_digit(*at);
	}
	d->signature[0] = '\0';
	if (strncmp(at, extension, sizeof(extension) - 1) == 0) {
		at += sizeof(extension) - 1;
		/* Another form of signature has another length, and is not checked. */
		if (strspn(at, "0123456789abcdef") == SIGV4_HEX_SIZE - 1)
			memcpy(d->signature, at, SIGV4_HEX_SIZE - 1);
		at += strspn(at, "0123456789abcdefABCDEF*");
	}
	if (*at)
		return -EPROTO;
	if (size > d->max_decoded - d->n_decoded)
		return -EMSGSIZE;
	if (size == 0 && d->n_decoded != d->max_decoded)
		return -EMSGSIZE;
	d->size = d->left = size;
	d->n_decoded += size;
	d->state = size ? DATA : TRAILER;
	*ret_event = S3_CHUNK_BEGIN;
	return 0;
}

/* "name:value", or the empty line that ends all. */
static int take_trailer(struct s3_chunk_decoder *d,
			enum s3_chunk_event *ret_event)
{
	char *colon = strchr(d->line, ':'), *value, *end;
	bool after_bare = d->after_bare;

	d->after_bare = d->ends_bare;
	if (!d->line[0] && d->ends_bare)
		return -EPROTO;
	if (!d->line[0] && after_bare)
		return 0;
	if (!d->line[0]) {
		d->state = ENDED;
		*ret_event = S3_CHUNK_END;
		return 0;
	}
	if (!d->has_trailers || !colon || colon == d->line ||
	    ++d->n_trailers > S3_CHUNK_MAX_TRAILERS)
		return -EPROTO;
	for (char *c = d->line; c < colon; c++) {
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			return -EPROTO;
		*c = (char)tolower((unsigned char)*c);
	}
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	for (end = value + strlen(value);
	     end > value && strchr(" \t\r", end[-1]);)
		*--end = '\0';
	for (const char *c = value; *c; c++)
		if (iscntrl((unsigned char)*c))
			return -EPROTO;
	d->name = d->line;
	d->value = value;
	*ret_event = S3_CHUNK_TRAILER;
	return 0;
}

static int take_whole_line(struct s3_chunk_decoder *d,
			   enum s3_chunk_event *ret_event)
{
	switch (d->state) {
	case SIZE:
		return begin_chunk(d, ret_event);
	case TRAILER:
		return take_trailer(d, ret_event);
	default:
		d->state = SIZE;
		return d->line[0] ? -EPROTO : 0;
	}
}

static ssize_t take_data(struct s3_chunk_decoder *d, const char *bytes,
			 size_t len, enum s3_chunk_event *ret_event)
{
	d->data = bytes;
	d->len = len < d->left ? len : (size_t)d->left;
	d->left -= d->len;
	if (d->left == 0)
		d->state = DATA_END;
	*ret_event = S3_CHUNK_DATA;
	return (ssize_t)d->len;
}

ssize_t s3_chunk_decoder_feed(struct s3_chunk_decoder *d, const char *bytes,
			      size_t len, enum s3_chunk_event *ret_event)
{
	size_t at = 0;

	*ret_event = S3_CHUNK_NOTHING;
	while (at < len && *ret_event == S3_CHUNK_NOTHING) {
		ssize_t n = 0;
		int r;

		if (d->state == ENDED)
			return -EPROTO;
		if (d->state == DATA) {
			n = take_data(d, bytes + at, len - at, ret_event);
		} else {
			r = take_line(d, bytes + at, len - at, &n);
			if (r > 0)
				r = take_whole_line(d, ret_event);
			if (r < 0)
				return r;
		}
		at += (size_t)n;
	}
	return (ssize_t)at;
}

/* ---- encoder ---- */

static size_t chunk_size(enum s3_payload mode)
{
	return s3_payload_signs_chunks(mode) ? S3_CHUNK_SIGNED :
					       S3_CHUNK_UNSIGNED;
}

int s3_chunk_encoder_init(struct s3_chunk_encoder *e, enum s3_payload mode,
			  uint64_t length, struct sigv4 *signer,
			  s3_chunk_write_fn *write, void *ctx)
{
	assert(s3_payload_has_chunks(mode));
	*e = (struct s3_chunk_encoder){ .mode = mode,
					.left = length,
					.signer = signer,
					.write = write,
					.ctx = ctx };
	if (!s3_payload_signs_chunks(mode))
		return 0;
	e->chunk = malloc(length < S3_CHUNK_SIGNED ? length + 1 :
						     S3_CHUNK_SIGNED);
	return e->chunk ? 0 : -ENOMEM;
}

void s3_chunk_encoder_release(struct s3_chunk_encoder *e)
{
	explicit_bzero(&e->chain, sizeof(e->chain));
	free(e->chunk);
	e->chunk = NULL;
}

static int write_text(struct s3_chunk_encoder *e, const char *text)
{
	return e->write(e->ctx, text, strlen(text));
}

/* The line before a chunk of `len` bytes; those of `chunk` are signed. */
static int write_size(struct s3_chunk_encoder *e, size_t len)
{
	char line[128];
	uint8_t digest[32];
	int r = 0;

	(void)snprintf(line, sizeof(line), "%zx\r\n", len);
	if (s3_payload_signs_chunks(e->mode)) {
		r = sigv4_sha256(e->signer, e->chunk, len, digest);
		if (r == 0)
			r = sigv4_chain_chunk(e->signer, &e->chain, digest);
		(void)snprintf(line, sizeof(line), "%zx;chunk-signature=%s\r\n",
			       len, e->chain.last);
	}
	return r < 0 ? r : write_text(e, line);
}

static int write_chunk(struct s3_chunk_encoder *e)
{
	int r = write_size(e, e->chunk_len);

	if (r == 0)
		r = e->write(e->ctx, e->chunk, e->chunk_len);
	if (r == 0)
		r = write_text(e, "\r\n");
	e->chunk_len = 0;
	return r;
}

static int add_signed(struct s3_chunk_encoder *e, const char *data, size_t len)
{
	int r = 0;

	while (len && r == 0) {
		size_t room = S3_CHUNK_SIGNED - e->chunk_len;
		size_t n = len < room ? len : room;

		memcpy(e->chunk + e->chunk_len, data, n);
		e->chunk_len += n;
		e->left -= n;
		data += n;
		len -= n;
		if (e->chunk_len == S3_CHUNK_SIGNED || e->left == 0)
			r = write_chunk(e);
	}
	return r;
}

static int add_unsigned(struct s3_chunk_encoder *e, const char *data,
			size_t len)
{
	int r = 0;

	while (len && r == 0) {
		size_t n;

		if (e->chunk_left == 0) {
			e->chunk_left = e->left < S3_CHUNK_UNSIGNED ?
						(size_t)e->left :
						S3_CHUNK_UNSIGNED;
			r = write_size(e, e->chunk_left);
			if (r < 0)
				return r;
		}
		n = len < e->chunk_left ? len : e->chunk_left;
		r = e->write(e->ctx, data, n);
		e->chunk_left -= n;
		e->left -= n;
		data += n;
		len -= n;
		if (r == 0 && e->chunk_left == 0)
			r = write_text(e, "\r\n");
	}
	return r;
}

int s3_chunk_encoder_add(struct s3_chunk_encoder *e, const void *data,
			 size_t len)
{
	assert(len <= e->left);
	return s3_payload_signs_chunks(e->mode) ? add_signed(e, data, len) :
						  add_unsigned(e, data, len);
}

/* The signature covers the lines with LF; they are sent with CR LF. */
static int write_trailers(struct s3_chunk_encoder *e,
			  const struct http_field *trailers, size_t n)
{
	CLEANUP(str_release) struct str lines = STR_INIT, sent = STR_INIT;
	int r;

	for (size_t i = 0; i < n; i++) {
		str_addf(&lines, "%s:%s\n", trailers[i].name,
			 trailers[i].value);
		str_addf(&sent, "%s:%s\r\n", trailers[i].name,
			 trailers[i].value);
	}
	r = str_error(&lines);
	if (r == 0 && s3_payload_signs_chunks(e->mode)) {
		r = sigv4_chain_trailer(e->signer, &e->chain, str_cstr(&lines),
					lines.len);
		str_addf(&sent, "x-amz-trailer-signature:%s\r\n",
			 e->chain.last);
	}
	if (r == 0)
		r = str_error(&sent);
	return r < 0 ? r : e->write(e->ctx, str_cstr(&sent), sent.len);
}

int s3_chunk_encoder_finish(struct s3_chunk_encoder *e,
			    const struct http_field *trailers,
			    size_t n_trailers)
{
	int r;

	assert(e->left == 0 && e->chunk_len == 0 && e->chunk_left == 0);
	r = write_size(e, 0);
	if (r == 0 && s3_payload_has_trailer(e->mode))
		r = write_trailers(e, trailers, n_trailers);
	return r < 0 ? r : write_text(e, "\r\n");
}

/* Of the line before a chunk, and the CR LF after it. */
static uint64_t overhead(enum s3_payload mode, uint64_t len)
{
	uint64_t digits = 1;

	for (; len >> 4; len >>= 4)
		digits++;
	return digits + 4 +
	       (s3_payload_signs_chunks(mode) ?
			strlen(";chunk-signature=") + SIGV4_HEX_SIZE - 1 :
			0);
}

int64_t s3_chunk_encoded_length(enum s3_payload mode, uint64_t length,
				uint64_t trailers_length)
{
	size_t size = chunk_size(mode);
	uint64_t n = length + length / size * overhead(mode, size) +
		     (length % size ? overhead(mode, length % size) : 0) +
		     overhead(mode, 0);

	if (s3_payload_has_trailer(mode))
		n += trailers_length;
	if (s3_payload_has_trailer(mode) && s3_payload_signs_chunks(mode))
		n += strlen("x-amz-trailer-signature:\r\n") + SIGV4_HEX_SIZE -
		     1;
	return (int64_t)n;
}
