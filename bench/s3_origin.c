/* s3_origin.c - an S3 server in memory that costs as little as can be.
 *
 * usage: s3_origin ADDRESS
 *
 * What is before it is measured, so it verifies nothing.  It prints the port.  Keys:
 *
 *	sink…		a PUT is read and dropped
 *	made-SIZE…	a GET has so many bytes
 *	others		are kept: put, get, range, head, delete, list, multipart
 *
 * Bodies with the envelope "aws-chunked" lose it.  ETags are never an MD5, as those of
 * multipart uploads are not. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/str.h"
#include "http/request_target.h"
#include "http/server.h"
#include "net/listen.h"
#include "s3/s3_chunks.h"
#include "s3/s3_request.h"
#include "s3_objects.h"

enum { PIECE = 256 << 10, MAX_PARTS = 10000, MAX_KEYS = 1000 };

/* An upload in parts, by its number. */
struct upload {
	char *key;
	struct part parts[MAX_PARTS + 1];
};

/* One exchange. */
struct call {
	struct pool pool;
	struct s3_request request;
	struct s3_chunk_decoder chunks;
	struct str body;
	bool keeps; /* the body, not only reads it */
	const struct object *object; /* of the reply; NULL: made */
	size_t part, at; /* what is sent next of it */
	uint64_t left;
};

static struct upload **uploads;
static size_t n_uploads;
static char zeros[PIECE];

/* ---- bodies ---- */

static struct part take_body(struct call *c)
{
	struct part p = { .data = c->body.data, .len = c->body.len };

	c->body = STR_INIT;
	return p;
}

/* ---- replies ---- */

static void reply_xml(struct http_exchange *x, struct str *text)
{
	check(str_error(text), "memory");
	http_reply(x, 200, "application/xml", text->data, text->len);
	str_release(text);
}

static void reply_error(struct http_exchange *x, unsigned status,
			const char *code)
{
	struct str text = STR_INIT;

	str_addf(&text, "<Error><Code>%s</Code></Error>", code);
	http_reply(x, status, "application/xml", text.data, text.len);
	str_release(&text);
}

static void send_more(struct http_exchange *x)
{
	struct call *c = x->data;
	const struct part *p = c->object ? &c->object->parts[c->part] : NULL;
	size_t n = c->left < PIECE ? (size_t)c->left : PIECE;

	if (p && n > p->len - c->at)
		n = p->len - c->at;
	(void)http_reply_write(x, p && n ? p->data + c->at : zeros, n);
	c->at += n;
	if (p && c->at == p->len) {
		c->part++;
		c->at = 0;
	}
	c->left -= n;
	if (c->left == 0)
		http_reply_end(x);
}

static void seek(struct call *c, const struct object *o, uint64_t offset)
{
	c->object = o;
	if (!o)
		return;
	for (; o->parts[c->part].len <= offset; c->part++)
		offset -= o->parts[c->part].len;
	c->at = (size_t)offset;
}

/* Of an object, or so many that are made. */
static void reply_bytes(struct http_exchange *x, const struct object *o,
			uint64_t size)
{
	struct call *c = x->data;
	const char *range = http_head_get(x->request, "range");
	uint64_t first = 0, last = size ? size - 1 : 0;
	char text[80];

	http_reply_field(x, "ETag", "\"00000000000000000000000000000000-1\"");
	http_reply_field(x, "Last-Modified", "Wed, 18 Nov 2026 00:00:00 GMT");
	http_reply_field(x, "Accept-Ranges", "bytes");
	if (range &&
	    sscanf(range, "bytes=%" SCNu64 "-%" SCNu64, &first, &last) > 0) {
		if (last >= size)
			last = size - 1;
		(void)sprintf(text, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			      first, last, size);
		http_reply_field(x, "Content-Range", text);
	}
	c->left = size ? last + 1 - first : 0;
	if (c->left)
		seek(c, o, first);
	http_reply_begin(x, range ? 206 : 200, (int64_t)c->left);
	if (strcmp(x->request->method, "HEAD") == 0)
		http_reply_end(x);
	else
		send_more(x);
}

/* ---- operations ---- */

static void do_get(struct http_exchange *x)
{
	struct call *c = x->data;
	const char *key = c->request.key;
	struct object *o;

	if (strncmp(key, "made-", 5) == 0) {
		reply_bytes(x, NULL, strtoull(key + 5, NULL, 10));
		return;
	}
	o = objects_find(key);
	if (!o)
		reply_error(x, 404, "NoSuchKey");
	else
		reply_bytes(x, o, o->size);
}

static void reply_stored(struct http_exchange *x)
{
	http_reply_field(x, "ETag", "\"00000000000000000000000000000000-1\"");
	http_reply(x, 200, NULL, NULL, 0);
}

static void do_put(struct http_exchange *x)
{
	struct call *c = x->data;
	struct part whole = take_body(c);

	if (c->keeps)
		objects_keep(c->request.key, &whole, 1);
	reply_stored(x);
}

static void do_delete(struct http_exchange *x)
{
	struct call *c = x->data;

	objects_drop(c->request.key);
	http_reply(x, 204, NULL, NULL, 0);
}

static void do_create_upload(struct http_exchange *x)
{
	struct call *c = x->data;
	struct str text = STR_INIT;

	uploads = need(realloc(uploads, (n_uploads + 1) * sizeof(*uploads)));
	uploads[n_uploads] = need(calloc(1, sizeof(**uploads)));
	uploads[n_uploads]->key = need(strdup(c->request.key));
	str_addf(&text,
		 "<InitiateMultipartUploadResult><Bucket>%s</Bucket>"
		 "<Key>%s</Key><UploadId>%zu</UploadId>"
		 "</InitiateMultipartUploadResult>",
		 c->request.bucket, c->request.key, n_uploads);
	n_uploads++;
	reply_xml(x, &text);
}

static struct upload *find_upload(const struct call *c)
{
	size_t i = strtoull(c->request.upload_id, NULL, 10);

	return i < n_uploads ? uploads[i] : NULL;
}

static void do_upload_part(struct http_exchange *x)
{
	struct call *c = x->data;
	struct upload *u = find_upload(c);

	if (!u || c->request.part < 1 || c->request.part > MAX_PARTS) {
		reply_error(x, 404, "NoSuchUpload");
		return;
	}
	if (c->keeps) {
		free(u->parts[c->request.part].data);
		u->parts[c->request.part] = take_body(c);
	}
	reply_stored(x);
}

static void do_complete_upload(struct http_exchange *x)
{
	struct call *c = x->data;
	struct upload *u = find_upload(c);
	struct str text = STR_INIT;
	size_t n = 0;

	if (!u) {
		reply_error(x, 404, "NoSuchUpload");
		return;
	}
	for (size_t i = 1; i <= MAX_PARTS; i++)
		if (u->parts[i].len)
			u->parts[n++] = u->parts[i];
	if (n)
		objects_keep(u->key, u->parts, n);
	memset(u->parts, 0, sizeof(u->parts));
	str_addf(&text,
		 "<CompleteMultipartUploadResult><Bucket>%s</Bucket>"
		 "<Key>%s</Key><ETag>\"00000000000000000000000000000000-1\""
		 "</ETag></CompleteMultipartUploadResult>",
		 c->request.bucket, c->request.key);
	reply_xml(x, &text);
}

/* The pages of ListObjectsV2, for keys without anything to escape. */
static void do_list(struct http_exchange *x)
{
	struct call *c = x->data;
	const char *target = x->request->target;
	const char *prefix = http_target_query(&c->pool, target, "prefix");
	const char *after = http_target_query(&c->pool, target,
					      "continuation-token");
	struct str text = STR_INIT, items = STR_INIT;
	const struct object *o;
	const char *last = "";
	size_t n = 0, i;

	prefix = prefix ? prefix : "";
	for (i = 0; (o = objects_at(i)) && n < MAX_KEYS; i++) {
		if (strncmp(o->key, prefix, strlen(prefix)) != 0 ||
		    (after && strcmp(o->key, after) <= 0))
			continue;
		str_addf(&items,
			 "<Contents><Key>%s</Key><Size>%zu</Size><ETag>\"0-1\""
			 "</ETag><LastModified>2026-11-18T00:00:00.000Z"
			 "</LastModified></Contents>",
			 o->key, (size_t)o->size);
		last = o->key;
		n++;
	}
	str_addf(&text,
		 "<ListBucketResult><Name>%s</Name><Prefix>%s</Prefix>"
		 "<KeyCount>%zu</KeyCount><MaxKeys>%d</MaxKeys>"
		 "<IsTruncated>%s</IsTruncated>",
		 c->request.bucket, prefix, n, MAX_KEYS,
		 n == MAX_KEYS ? "true" : "false");
	if (n == MAX_KEYS)
		str_addf(&text,
			 "<NextContinuationToken>%s</NextContinuationToken>",
			 last);
	str_add(&text, items.data, items.len);
	str_adds(&text, "</ListBucketResult>");
	str_release(&items);
	reply_xml(x, &text);
}

static void (*const operations[])(struct http_exchange *x) = {
	[OBJECT_GET] = do_get,
	[OBJECT_HEAD] = do_get,
	[OBJECT_PUT] = do_put,
	[OBJECT_DELETE] = do_delete,
	[OBJECT_CREATE_UPLOAD] = do_create_upload,
	[OBJECT_UPLOAD_PART] = do_upload_part,
	[OBJECT_COMPLETE_UPLOAD] = do_complete_upload,
	[OBJECT_LIST] = do_list,
};

/* ---- the exchange ---- */

static void begin(struct http_exchange *x)
{
	struct call *c = need(calloc(1, sizeof(*c)));
	const struct s3_refusal *refusal = NULL;

	x->data = c;
	http_exchange_set_max_body(x, UINT64_MAX);
	if (s3_request_parse(&c->request, &c->pool, x->request, NULL,
			     &refusal) < 0) {
		reply_error(x, refusal ? refusal->status : 500,
			    refusal ? refusal->code : "InternalError");
		return;
	}
	c->keeps = strncmp(c->request.key, "sink", 4) != 0;
	if (s3_payload_has_chunks(c->request.payload))
		s3_chunk_decoder_init(&c->chunks, c->request.payload,
				      (uint64_t)c->request.decoded_length);
	/* A buffer that grows would be copied again and again. */
	else if (c->keeps && x->request->length > 0)
		check(str_reserve(&c->body, (size_t)x->request->length + 1),
		      "memory");
}

static void body(struct http_exchange *x, const char *data, size_t len)
{
	struct call *c = x->data;

	if (!c->keeps)
		return;
	if (!s3_payload_has_chunks(c->request.payload)) {
		str_add(&c->body, data, len);
		return;
	}
	while (len > 0) {
		enum s3_chunk_event event;
		ssize_t n = s3_chunk_decoder_feed(&c->chunks, data, len,
						  &event);

		check((int)n, "chunks");
		if (event == S3_CHUNK_DATA)
			str_add(&c->body, c->chunks.data, c->chunks.len);
		data += n;
		len -= (size_t)n;
	}
}

static void end(struct http_exchange *x)
{
	struct call *c = x->data;
	size_t op = (size_t)c->request.op;

	if (http_reply_has_begun(x))
		return;
	if (op < sizeof(operations) / sizeof(operations[0]) && operations[op])
		operations[op](x);
	else
		reply_error(x, 501, "NotImplemented");
}

static void closed(struct http_exchange *x)
{
	struct call *c = x->data;

	if (!c)
		return;
	str_release(&c->body);
	pool_release(&c->pool);
	free(c);
	x->data = NULL;
}

static const struct http_handler HANDLER = { .begin = begin,
					     .body = body,
					     .end = end,
					     .drained = send_more,
					     .closed = closed };

int main(int argc, char **argv)
{
	struct http_limits limits = HTTP_LIMITS;
	struct listen_socket socket;
	struct http_server *server;
	struct roar_error err;
	struct loop *loop;

	if (argc != 2) {
		(void)fputs("usage: s3_origin ADDRESS\n", stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	/* What objects had is used again: the pages of new memory cost more than the bytes
	 * that are written to them. */
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
	(void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
	limits.max_connections = 4096;
	limits.max_unsent = (size_t)1 << 30;
	check(listen_open(argv[1], 10000, &socket, &err), "listen");
	check(loop_new(&loop), "loop");
	check(http_server_new(loop, &HANDLER, NULL, &limits, &server),
	      "server");
	check(http_server_listen(server, socket.fd, NULL), "listen");
	(void)printf("%u\n", socket.port);
	(void)fflush(stdout);
	check(loop_run(loop), "loop");
	return 0;
}
