/* fuzz_s3_chunks.c - the envelope of uploads, as clients may send it.
 *
 * Promises: pieces do not change what comes out, no more content comes out than was
 * announced, and what ended well becomes the same content after it is encoded again. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "s3/s3_chunks.h"

enum { MAX_CONTENT = 512 };

struct outcome {
	struct str content, trailers;
	int error;
	bool ended;
};

static void decode(enum s3_payload mode, uint64_t length, const char *bytes,
		   size_t len, size_t step, struct outcome *o)
{
	struct s3_chunk_decoder d;
	enum s3_chunk_event event;
	ssize_t n;

	s3_chunk_decoder_init(&d, mode, length);
	for (size_t at = 0; at < len; at += (size_t)n) {
		n = s3_chunk_decoder_feed(&d, bytes + at,
					  len - at < step ? len - at : step,
					  &event);
		if (n < 0) {
			o->error = (int)n;
			return;
		}
		if (event == S3_CHUNK_DATA)
			str_add(&o->content, d.data, d.len);
		else if (event == S3_CHUNK_TRAILER)
			str_addf(&o->trailers, "%s:%s\n", d.name, d.value);
		o->ended |= event == S3_CHUNK_END;
	}
}

static void check(bool holds)
{
	if (!holds)
		abort();
}

static int collect(void *ctx, const void *data, size_t len)
{
	str_add(ctx, data, len);
	return 0;
}

static void encode_again(enum s3_payload mode, const struct outcome *o)
{
	struct str out = STR_INIT;
	struct outcome again = { 0 };
	struct s3_chunk_encoder e;

	check(s3_chunk_encoder_init(&e, mode, o->content.len, NULL, collect,
				    &out) == 0);
	check(s3_chunk_encoder_add(&e, str_cstr(&o->content), o->content.len) ==
	      0);
	check(s3_chunk_encoder_finish(&e, NULL, 0) == 0);
	check((int64_t)out.len ==
	      s3_chunk_encoded_length(mode, o->content.len, 0));
	decode(mode, o->content.len, out.data, out.len, 7, &again);
	check(again.ended && again.content.len == o->content.len);
	check(memcmp(str_cstr(&again.content), str_cstr(&o->content),
		     o->content.len) == 0);
	s3_chunk_encoder_release(&e);
	str_release(&again.content);
	str_release(&again.trailers);
	str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The first byte is half the length that was announced, the next one the mode. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct outcome whole = { 0 }, pieces = { 0 };
	enum s3_payload mode;
	uint64_t length;

	if (len < 2)
		return 0;
	length = data[0] * 2u;
	mode = data[1] & 1 ? S3_PAYLOAD_CHUNKS_TRAILER :
			     S3_PAYLOAD_CHUNKS_SIGNED;
	decode(mode, length, (const char *)data + 2, len - 2, len, &whole);
	decode(mode, length, (const char *)data + 2, len - 2, 3, &pieces);
	check(whole.error == pieces.error && whole.ended == pieces.ended);
	check(whole.content.len <= length && whole.content.len <= MAX_CONTENT);
	check(strcmp(str_cstr(&whole.trailers), str_cstr(&pieces.trailers)) ==
	      0);
	if (whole.ended) {
		check(whole.content.len == length);
		check(pieces.content.len == length);
		if (whole.error == 0)
			encode_again(S3_PAYLOAD_CHUNKS_TRAILER, &whole);
	}
	str_release(&whole.content);
	str_release(&whole.trailers);
	str_release(&pieces.content);
	str_release(&pieces.trailers);
	return 0;
}
