/* record.c - what a request did, as a line of the log; see proxy.h
 *
 * Content is hashed while it passes: by `hash` where all of an object comes in one piece, by
 * leaves (object_tree.h) where it is a part of an upload or a range.  A line that cannot be
 * written is reported once; requests go on, and the log does not get its end. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/clock.h"
#include "base/number.h"
#include "proxy.h"
#include "s3/s3_xml.h"

static struct proxy *proxy_of(const struct passage *p)
{
	return p->run->proxy;
}

static void check_log(struct passage *p, int r)
{
	if (r >= 0 || p->run->log_failed)
		return;
	p->run->log_failed = true;
	log_lines_add(&proxy_of(p)->lines, LOG_ERR, NULL,
		      "cannot write object log '%s': %s; requests go on, and "
		      "the record is incomplete",
		      p->run->log_path, strerror(-r));
}

/* ---- before the request is sent ---- */

static const char *endpoint_text(struct passage *p)
{
	CLEANUP(str_release) struct str origin = STR_INIT, path = STR_INIT;
	const struct s3_endpoint *e = &proxy_of(p)->endpoint;
	const char *text;

	if (e->url)
		return e->url;
	s3_endpoint_address(e, upstream_region(p), "", "", &origin, &path);
	text = pool_dup(&p->pool, str_cstr(&origin), origin.len);
	return text ? text : "";
}

/* Can it change or deliver an object? */
static bool touches_object(const struct passage *p)
{
	return (p->q.op != OBJECT_OTHER && p->q.op != OBJECT_HEAD &&
		p->q.op != OBJECT_LIST) ||
	       p->q.is_multi_delete;
}

static void start_hash(struct passage *p)
{
	digest_set want = proxy_of(p)->options->digests;

	p->hashes = want && multihash_start(&p->hash, want, 0) == 0;
}

/* Names a tree: `what` is an upload id or an ETag. */
static const char *tree_name(struct passage *p, const char *what)
{
	return pool_printf(&p->pool, "%s/%s\n%s", p->q.bucket, p->q.key, what);
}

static void start_part(struct passage *p)
{
	const char *name = tree_name(p, p->q.upload_id);

	if (name && proxy_of(p)->options->digests && p->content_length >= 0 &&
	    p->q.part > 0 && p->q.part <= OBJECT_TREE_MAX_PARTS)
		object_piece_begin_part(&p->piece, &proxy_of(p)->trees, name,
					(unsigned)p->q.part,
					(uint64_t)p->content_length);
}

void record_begin(struct passage *p)
{
	struct object_op *op = &p->op;

	op->kind = p->q.op;
	p->is_recorded = p->run->log;
	p->content_length = s3_payload_has_chunks(p->q.payload) ?
				    p->q.decoded_length :
				    p->exchange->request->length;
	if (!p->is_recorded)
		return;
	op->start_ns = clock_now_ns();
	op->endpoint = endpoint_text(p);
	op->bucket = p->q.bucket;
	op->key = p->q.key;
	op->version = p->q.version;
	op->copy_source = p->q.copy_source;
	op->upload_id = p->q.upload_id;
	op->part = p->q.op == OBJECT_UPLOAD_PART ||
				   p->q.op == OBJECT_UPLOAD_PART_COPY ?
			   p->q.part :
			   -1;
	p->keeps = p->q.op == OBJECT_COPY || p->q.op == OBJECT_CREATE_UPLOAD ||
		   p->q.op == OBJECT_UPLOAD_PART_COPY ||
		   p->q.op == OBJECT_COMPLETE_UPLOAD || p->q.is_multi_delete;
	p->keeps_sent = p->q.op == OBJECT_COMPLETE_UPLOAD ||
			p->q.is_multi_delete;
	if (p->q.op == OBJECT_PUT && p->q.key[0] && !p->q.is_append)
		start_hash(p);
	else if (p->q.op == OBJECT_UPLOAD_PART)
		start_part(p);
	if (touches_object(p)) {
		op->flags |= OBJECT_BEGUN;
		check_log(p, object_log_begin(p->run->log));
	}
}

/* A piece of a large body goes to the lane; false: it cannot, and is to be hashed here. */
static bool hash_aside(struct passage *p, const char *data, size_t len)
{
	struct hash_lane *lane = &proxy_of(p)->lane;
	char *other, *buffer;

	if (len < HASH_LANE_MIN || p->content_length < HASH_LANE_MIN_BODY ||
	    p->decoder)
		return false;
	other = hash_lane_buffer(lane);
	if (!other)
		return false;
	buffer = p->op.kind == OBJECT_GET ?
			 http_call_take_input(p->call, data, other) :
			 http_exchange_take_input(p->exchange, data, other);
	if (!buffer)
		return false;
	hash_lane_add(lane, &p->hash, buffer, data, len);
	p->is_aside = true;
	return true;
}

void record_settle(struct passage *p)
{
	if (p->is_aside)
		hash_lane_finish(&proxy_of(p)->lane);
	p->is_aside = false;
}

static void add_content(struct passage *p, const void *data, size_t len)
{
	p->n_content += len;
	if (!p->hashes) {
		object_piece_add(&p->piece, data, len);
	} else if (!hash_aside(p, data, len)) {
		record_settle(p);
		multihash_update(&p->hash, data, len);
	}
}

void record_sent(struct passage *p, const void *data, size_t len)
{
	if (p->is_recorded &&
	    (p->q.op == OBJECT_PUT || p->q.op == OBJECT_UPLOAD_PART))
		add_content(p, data, len);
	if (!p->keeps_sent)
		return;
	if (p->sent.len + len <= PASSAGE_MAX_KEPT)
		str_add(&p->sent, data, len);
	else
		p->keeps_sent = false;
}

/* ---- the reply ---- */

/* A field, without quotes; `fallback` when it is not there. */
static const char *take_field(struct passage *p, const struct http_head *reply,
			      const char *name, const char *fallback)
{
	const char *value = http_head_get(reply, name), *copy;
	size_t len;

	if (!value)
		return fallback;
	len = strlen(value);
	if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
		value++;
		len -= 2;
	}
	copy = pool_dup(&p->pool, value, len);
	return copy ? copy : fallback;
}

static int64_t field_number(const struct http_head *reply, const char *name)
{
	const char *text = http_head_get(reply, name);
	int64_t n = -1;

	if (text)
		(void)number_parse(text, 0, INT64_MAX, &n);
	return n;
}

/* "bytes 0-9/100", or all of it: where the content belongs in the object. */
static bool find_place(struct passage *p, const struct http_head *reply)
{
	const char *range = http_head_get(reply, "Content-Range");
	int64_t first, last, size;

	if (reply->status == 200) {
		p->op.size = p->content_length = reply->length;
		return true;
	}
	if (reply->status != 206 || !range ||
	    sscanf(range, "bytes %" SCNd64 "-%" SCNd64 "/%" SCNd64, &first,
		   &last, &size) != 3 ||
	    first < 0 || last < first || size <= last)
		return false;
	p->first = first;
	p->content_length = last - first + 1;
	p->op.size = size;
	return true;
}

static void start_download(struct passage *p, const struct http_head *reply)
{
	const char *name;

	p->content_length = -1;
	if (!find_place(p, reply))
		return;
	if (p->op.size < 0 ||
	    (p->first == 0 && p->content_length == p->op.size)) {
		start_hash(p);
		return;
	}
	name = tree_name(p, p->op.etag);
	if (name && p->op.etag[0] && proxy_of(p)->options->digests)
		object_piece_begin_range(&p->piece, &proxy_of(p)->trees, name,
					 (uint64_t)p->op.size,
					 (uint64_t)p->first);
}

void record_head(struct passage *p, const struct http_head *reply)
{
	struct object_op *op = &p->op;
	const char *source_version;

	op->status = (int)reply->status;
	if (!p->is_recorded || reply->status >= 300)
		return;
	op->etag = take_field(p, reply, "ETag", op->etag);
	/* That of a deletion may be its marker's, which nothing else has. */
	if (op->kind != OBJECT_DELETE)
		op->version = take_field(p, reply, "x-amz-version-id",
					 op->version);
	source_version = take_field(p, reply, "x-amz-copy-source-version-id",
				    NULL);
	if (source_version && !strchr(op->copy_source, '?')) {
		const char *text = pool_printf(&p->pool, "%s?versionId=%s",
					       op->copy_source, source_version);

		op->copy_source = text ? text : op->copy_source;
	}
	if (op->kind == OBJECT_GET)
		start_download(p, reply);
	else if (op->kind == OBJECT_HEAD)
		op->size = field_number(reply, "Content-Length");
}

void record_received(struct passage *p, const void *data, size_t len)
{
	if (p->op.kind == OBJECT_GET && p->op.status < 300 && p->is_recorded)
		add_content(p, data, len);
}

/* ---- the line ---- */

static bool is_good(const struct passage *p, int error)
{
	return error == 0 && p->op.status >= 200 && p->op.status < 300;
}

static void set_digests(struct passage *p)
{
	struct digests d;

	if (!p->hashes || multihash_final(&p->hash, &d) < 0)
		return;
	p->op.has_blake3 = d.have & DIGEST_SET_BLAKE3;
	p->op.has_sha256 = d.have & 1 << DIGEST_SHA256;
	memcpy(p->op.blake3, d.blake3, sizeof(d.blake3));
	memcpy(p->op.sha256, d.sha256, sizeof(d.sha256));
}

static void set_range(struct passage *p)
{
	p->op.first = p->first;
	p->op.last = p->first + (int64_t)p->n_content - 1;
	if (p->n_content == 0)
		p->op.last = -1;
}

static void end_get(struct passage *p, bool is_good)
{
	struct object_op *op = &p->op;

	if (op->status >= 300 || op->status == 0)
		return;
	set_range(p);
	if (is_good && op->size < 0)
		op->size = (int64_t)p->n_content;
	op->whole = is_good && p->first == 0 &&
		    (int64_t)p->n_content == op->size;
	if (op->whole)
		set_digests(p);
	op->has_blake3 |= object_piece_end(&p->piece, is_good, NULL,
					   op->blake3);
}

static void end_put(struct passage *p, bool is_good)
{
	p->op.whole = is_good && !p->q.is_append;
	if (!p->op.whole)
		return;
	p->op.size = (int64_t)p->n_content;
	set_digests(p);
}

static void end_part(struct passage *p, bool is_good)
{
	set_range(p);
	(void)object_piece_end(&p->piece, is_good, p->op.etag, NULL);
}

/* Of copies and uploads: what the reply's document says.  A reply of status 200 may still be
 * an error. */
static void end_document(struct passage *p, bool is_good)
{
	struct s3_stored stored;
	struct s3_error error;
	int r;

	if (!is_good || !p->keeps)
		return;
	r = s3_xml_stored(str_cstr(&p->kept), p->kept.len, &p->pool, &stored,
			  &error);
	if (r == -EREMOTEIO)
		p->op.status = 500;
	if (r < 0)
		return;
	if (*stored.etag)
		p->op.etag = stored.etag;
	if (*stored.upload_id)
		p->op.upload_id = stored.upload_id;
	p->op.whole = p->op.kind == OBJECT_COPY ||
		      p->op.kind == OBJECT_COMPLETE_UPLOAD;
}

static void join_parts(struct passage *p, const struct s3_parts *list)
{
	struct object_part *parts = pool_alloc(&p->pool,
					       (list->n + 1) * sizeof(*parts));
	const char *name = tree_name(p, p->q.upload_id);
	uint64_t size = 0;

	if (!parts || !name)
		return;
	for (size_t i = 0; i < list->n; i++)
		parts[i] = (struct object_part){ list->parts[i].number,
						 list->parts[i].etag };
	p->op.has_blake3 = object_trees_complete(
		&proxy_of(p)->trees, name, parts, list->n, p->op.blake3, &size);
	if (p->op.has_blake3)
		p->op.size = (int64_t)size;
}

static void end_complete(struct passage *p, bool is_good)
{
	struct s3_parts list;

	end_document(p, is_good);
	if (!p->op.whole || !p->keeps_sent)
		return;
	if (s3_xml_complete(str_cstr(&p->sent), p->sent.len, &p->pool, &list) ==
	    0) {
		p->op.part = (int64_t)list.n;
		join_parts(p, &list);
	}
	s3_parts_release(&list);
}

static void end_abort(struct passage *p, bool is_good)
{
	const char *name = tree_name(p, p->q.upload_id);

	if (is_good && name)
		object_trees_drop(&proxy_of(p)->trees, name);
}

static bool is_among(const struct s3_object *object, const struct s3_list *list)
{
	for (size_t i = 0; i < list->n_objects; i++)
		if (strcmp(list->objects[i].key, object->key) == 0 &&
		    strcmp(list->objects[i].version, object->version) == 0)
			return true;
	return false;
}

/* A line for each key that was deleted. */
static void add_deletes(struct passage *p)
{
	struct s3_list asked, failed;
	struct object_op op = p->op;

	op.kind = OBJECT_DELETE;
	op.flags &= ~(unsigned)OBJECT_BEGUN;
	(void)s3_xml_keys(str_cstr(&p->kept), p->kept.len, &p->pool, &failed);
	if (s3_xml_keys(str_cstr(&p->sent), p->sent.len, &p->pool, &asked) == 0)
		for (size_t i = 0; i < asked.n_objects; i++) {
			op.key = asked.objects[i].key;
			op.version = asked.objects[i].version;
			if (!is_among(&asked.objects[i], &failed))
				check_log(p, object_log_add(p->run->log, &op));
		}
	s3_list_release(&asked);
	s3_list_release(&failed);
}

static void (*const ENDS[OBJECT_OP_KIND_END])(struct passage *p,
					      bool is_good) = {
	[OBJECT_GET] = end_get,
	[OBJECT_PUT] = end_put,
	[OBJECT_COPY] = end_document,
	[OBJECT_CREATE_UPLOAD] = end_document,
	[OBJECT_UPLOAD_PART] = end_part,
	[OBJECT_UPLOAD_PART_COPY] = end_document,
	[OBJECT_COMPLETE_UPLOAD] = end_complete,
	[OBJECT_ABORT_UPLOAD] = end_abort,
};

/* A success before the upstream had all of the body: nobody knows what it has stored. */
static bool is_premature(const struct passage *p)
{
	if (!is_good(p, 0) ||
	    (p->q.op != OBJECT_PUT && p->q.op != OBJECT_UPLOAD_PART))
		return false;
	return p->content_length < 0 ?
		       !p->body_ended :
		       p->n_content != (uint64_t)p->content_length;
}

void record_end(struct passage *p, int error)
{
	struct object_op *op = &p->op;

	if (!p->is_recorded)
		return;
	p->is_recorded = false;
	record_settle(p);
	if (error == 0 && is_premature(p))
		error = -EPROTO;
	op->end_ns = clock_now_ns();
	if (error)
		op->flags |= p->is_refused ? OBJECT_ABORTED : OBJECT_UNFINISHED;
	if (ENDS[op->kind])
		ENDS[op->kind](p, is_good(p, error));
	check_log(p, object_log_add(p->run->log, op));
	if (p->q.is_multi_delete && is_good(p, error) && p->keeps_sent &&
	    p->keeps)
		add_deletes(p);
}
