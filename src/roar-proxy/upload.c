/* upload.c - the body of a request: payload modes and checksums; see proxy.h
 *
 * A body without chunks passes as it is: its SHA-256, its checksum and its length are in
 * fields that the upstream checks.  One with chunks is decoded, checked, and encoded again
 * with signatures of ours.  The end of the envelope is sent after all checks, so that the
 * upstream never stores content that failed one. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "proxy.h"

static int refuse(struct passage *p, unsigned status, const char *code,
		  const char *message)
{
	passage_refuse(p, status, code, message);
	return -ECANCELED;
}

static int write_call(void *ctx, const void *data, size_t len)
{
	struct passage *p = ctx;

	return http_call_write(p->call, data, len);
}

/* ---- before the first byte ---- */

/* Bytes that the announced trailers take; -1: not known, since one is not a checksum.  The
 * first checksum is taken while the content passes. */
static int64_t prepare_trailers(struct passage *p)
{
	static const unsigned char lengths[S3_CHECKSUM_END] = {
		[S3_CHECKSUM_CRC32] = 8,      [S3_CHECKSUM_CRC32C] = 8,
		[S3_CHECKSUM_CRC64NVME] = 12, [S3_CHECKSUM_SHA1] = 28,
		[S3_CHECKSUM_SHA256] = 44,    [S3_CHECKSUM_MD5] = 24,
	};
	int64_t total = 0;

	for (const char *at = p->q.trailers; *at;) {
		size_t len = strcspn(at, ", ");
		char name[64];
		int kind;

		if (len >= sizeof(name))
			return -1;
		memcpy(name, at, len);
		name[len] = '\0';
		at += len + strspn(at + len, ", ");
		kind = len ? s3_checksum_of_field(name) : -EINVAL;
		if (kind < 0)
			return -1;
		if (!p->has_sum && s3_checksum_init(&p->sum, kind) == 0)
			p->has_sum = true;
		total += (int64_t)len + lengths[kind] + 3;
	}
	return total;
}

/* Chunks that our own keys signed can be checked. */
static void prepare_check(struct passage *p,
			  const struct sigv4_credentials *keys)
{
	const struct sigv4_claim *claim = &p->q.claim;
	const char *time = http_head_get(p->exchange->request, "x-amz-date");

	p->checks_chunks = time && strcmp(keys->key_id, claim->key_id) == 0 &&
			   claim->signature[0] &&
			   sigv4_chain_init(p->run->proxy->signer, keys, time,
					    claim->region, claim->service,
					    claim->signature, &p->claimed) == 0;
}

static int begin_chunks(struct passage *p, const struct sigv4_credentials *keys)
{
	int r;

	if (s3_payload_signs_chunks(p->q.payload) && !keys)
		return refuse(p, 403, "AccessDenied",
			      "Signed chunks need a signed request.");
	p->decoder = pool_alloc(&p->pool, sizeof(*p->decoder));
	if (!p->decoder)
		return -ENOMEM;
	s3_chunk_decoder_init(p->decoder, p->q.payload,
			      (uint64_t)p->q.decoded_length);
	r = s3_chunk_encoder_init(&p->encoder, p->q.payload,
				  (uint64_t)p->q.decoded_length,
				  p->run->proxy->signer, write_call, p);
	if (r == 0 && s3_payload_signs_chunks(p->q.payload))
		prepare_check(p, keys);
	return r;
}

int upload_begin(struct passage *p, const struct sigv4_credentials *keys,
		 int64_t *ret_length)
{
	int64_t trailers;
	int r;

	*ret_length = p->exchange->request->length;
	if (!s3_payload_has_chunks(p->q.payload))
		return 0;
	/* A second attempt has sent nothing of it. */
	if (!p->decoder) {
		r = begin_chunks(p, keys);
		if (r < 0)
			return r;
	}
	trailers = prepare_trailers(p);
	*ret_length = trailers < 0 ? HTTP_LENGTH_CHUNKED :
				     s3_chunk_encoded_length(
					     p->q.payload,
					     (uint64_t)p->q.decoded_length,
					     (uint64_t)trailers);
	return 0;
}

void upload_release(struct passage *p)
{
	s3_chunk_encoder_release(&p->encoder);
	s3_checksum_release(&p->sum);
	s3_checksum_release(&p->claimed_sum);
	explicit_bzero(&p->claimed, sizeof(p->claimed));
}

/* ---- the client's signatures ---- */

static int refuse_signature(struct passage *p)
{
	return refuse(p, 403, "SignatureDoesNotMatch",
		      "The signature of a chunk does not match its content.");
}

static int begin_claimed(struct passage *p)
{
	if (!p->checks_chunks)
		return 0;
	memcpy(p->claimed_signature, p->decoder->signature, SIGV4_HEX_SIZE);
	s3_checksum_release(&p->claimed_sum);
	return s3_checksum_init(&p->claimed_sum, S3_CHECKSUM_SHA256);
}

static int end_claimed(struct passage *p)
{
	uint8_t digest[32];
	int r;

	if (!p->checks_chunks)
		return 0;
	r = s3_checksum_digest(&p->claimed_sum, digest);
	if (r == 0)
		r = sigv4_chain_chunk(p->run->proxy->signer, &p->claimed,
				      digest);
	if (r < 0)
		return r;
	return strcmp(p->claimed.last, p->claimed_signature) == 0 ?
		       0 :
		       refuse_signature(p);
}

/* ---- chunks ---- */

static int add_content(struct passage *p, const char *data, size_t len)
{
	int r = 0;

	if (p->checks_chunks)
		s3_checksum_update(&p->claimed_sum, data, len);
	if (p->has_sum)
		s3_checksum_update(&p->sum, data, len);
	if (p->checks_chunks && p->decoder->left == 0)
		r = end_claimed(p);
	if (r == 0)
		r = s3_chunk_encoder_add(&p->encoder, data, len);
	record_sent(p, data, len); /* while the upstream reads */
	return r;
}

static int add_trailer(struct passage *p)
{
	struct http_field *t = &p->trailers[p->n_trailers];

	t->name = pool_strdup(&p->pool, p->decoder->name);
	t->value = pool_strdup(&p->pool, p->decoder->value);
	if (!t->name || !t->value)
		return -ENOMEM;
	p->n_trailers++; /* the decoder has the limit */
	return 0;
}

static int on_event(struct passage *p, enum s3_chunk_event event)
{
	int r;

	switch (event) {
	case S3_CHUNK_BEGIN:
		r = begin_claimed(p);
		return r == 0 && p->decoder->size == 0 ? end_claimed(p) : r;
	case S3_CHUNK_DATA:
		return add_content(p, p->decoder->data, p->decoder->len);
	case S3_CHUNK_TRAILER:
		return add_trailer(p);
	case S3_CHUNK_END:
		p->chunks_ended = true;
		return 0;
	default:
		return 0;
	}
}

static int add_chunks(struct passage *p, const char *data, size_t len)
{
	while (len) {
		enum s3_chunk_event event;
		ssize_t n = s3_chunk_decoder_feed(p->decoder, data, len,
						  &event);
		int r;

		if (n == -EMSGSIZE)
			return refuse(p, 400, "IncompleteBody",
				      "The request body does not have the "
				      "length of x-amz-decoded-content-length.");
		if (n < 0)
			return refuse(p, 400, "InvalidChunkSizeError",
				      "A chunk of the request body is "
				      "malformed.");
		r = on_event(p, event);
		if (r < 0)
			return r;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int upload_add(struct passage *p, const char *data, size_t len)
{
	int r;

	p->has_sent = true;
	if (p->decoder) {
		r = add_chunks(p, data, len);
	} else {
		r = http_call_write(p->call, data, len);
		record_sent(p, data, len); /* while the upstream reads */
	}
	/* The upstream takes no more: its reply, or the end of the call, follows. */
	if (r == -EPIPE)
		return 0;
	if (r < 0 && r != -ECANCELED)
		return refuse(p, 500, "InternalError", strerror(-r));
	return r;
}

/* ---- the end ---- */

static const char *find_trailer(const struct passage *p, const char *name)
{
	for (size_t i = 0; i < p->n_trailers; i++)
		if (strcasecmp(p->trailers[i].name, name) == 0)
			return p->trailers[i].value;
	return NULL;
}

static int check_sum(struct passage *p)
{
	char sum[S3_CHECKSUM_SIZE];
	const char *claimed;
	int r;

	if (!p->has_sum)
		return 0;
	claimed = find_trailer(p, s3_checksum_field(p->sum.kind));
	if (!claimed)
		return refuse(p, 400, "MalformedTrailerError",
			      "The request contained trailing data that was "
			      "not well-formed or did not conform to our "
			      "published schema.");
	r = s3_checksum_final(&p->sum, sum);
	if (r < 0 || strcmp(sum, claimed) == 0)
		return r;
	return refuse(p, 400, "BadDigest",
		      "The checksum you specified did not match the "
		      "calculated checksum.");
}

/* Takes the client's signature of the trailers away, and checks it. */
static int check_trailer_signature(struct passage *p)
{
	static const char name[] = "x-amz-trailer-signature";
	CLEANUP(str_release) struct str lines = STR_INIT;
	const char *signature = find_trailer(p, name);
	size_t n = 0;
	int r;

	for (size_t i = 0; i < p->n_trailers; i++) {
		if (strcmp(p->trailers[i].name, name) == 0)
			continue;
		str_addf(&lines, "%s:%s\n", p->trailers[i].name,
			 p->trailers[i].value);
		p->trailers[n++] = p->trailers[i];
	}
	p->n_trailers = n;
	if (!p->checks_chunks || !s3_payload_has_trailer(p->q.payload))
		return 0;
	r = str_error(&lines);
	if (r == 0)
		r = sigv4_chain_trailer(p->run->proxy->signer, &p->claimed,
					str_cstr(&lines), lines.len);
	if (r < 0)
		return r;
	return signature && strcmp(signature, p->claimed.last) == 0 ?
		       0 :
		       refuse_signature(p);
}

static int end_chunks(struct passage *p)
{
	int r;

	if (!p->chunks_ended)
		return refuse(p, 400, "IncompleteBody",
			      "You did not provide the number of bytes "
			      "specified by the Content-Length HTTP header.");
	r = check_sum(p);
	if (r == 0)
		r = check_trailer_signature(p);
	if (r == 0)
		r = s3_chunk_encoder_finish(&p->encoder, p->trailers,
					    p->n_trailers);
	return r;
}

void upload_end(struct passage *p)
{
	int r = 0;

	if (p->decoder)
		r = end_chunks(p);
	if (r == -EPIPE || r == -ECANCELED)
		return;
	if (r < 0) {
		(void)refuse(p, 500, "InternalError", strerror(-r));
		return;
	}
	p->body_ended = true;
	if (p->may_write && p->exchange->request->length != 0)
		http_call_finish(p->call);
}
