/* object_fold.c - see object_fold.h */
#include "lineage/object_fold.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/vec.h"
#include "lineage/fold.h"

#define VERSION_QUERY "?versionId="

struct place {
	const char *path;
	const char *endpoint;
	struct object_fact *readings; /* one per version and ETag */
	struct object_fact *writing; /* what the run stored last; NULL: nothing */
	const char *head_version; /* what the last HEAD told */
	const char *head_etag;
};

/* A multipart upload that has not ended. */
struct upload {
	const char *id;
	const char *copy_source; /* of its first copied part */
	int64_t n_parts;
	int64_t n_requests;
	int64_t n_bytes; /* of parts that were sent, not copied */
	bool has_copies;
};

struct object_fold {
	struct pool pool;
	struct map places; /* "endpoint\ns3://bucket/key" -> struct place */
	struct map uploads; /* id -> struct upload */
	struct object_fact **facts;
	size_t n_facts, cap_facts;
};

/* ---- life cycle ---- */

int object_fold_new(struct object_fold **ret_fold)
{
	struct object_fold *fold = calloc(1, sizeof(*fold));

	if (!fold)
		return -ENOMEM;
	*ret_fold = fold;
	return 0;
}

void object_fold_free(struct object_fold *fold)
{
	if (!fold)
		return;
	for (size_t i = 0; i < fold->n_facts; i++)
		interval_set_release(&fold->facts[i]->ranges);
	free(fold->facts);
	map_release(&fold->places);
	map_release(&fold->uploads);
	pool_release(&fold->pool);
	free(fold);
}

struct object_fact *const *object_fold_facts(const struct object_fold *fold,
					     size_t *ret_n)
{
	*ret_n = fold->n_facts;
	return fold->facts;
}

/* ---- places and facts ---- */

void object_path(struct str *out, const char *bucket, const char *key)
{
	str_addf(out, "s3://%s/%s", bucket, key);
}

static struct place *find_place(struct object_fold *fold, const char *endpoint,
				const char *bucket, const char *key)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	struct place *place;
	char *copy;

	str_addf(&name, "%s\n", endpoint);
	object_path(&name, bucket, key);
	if (str_error(&name) < 0)
		return NULL;
	place = map_get(&fold->places, name.data, name.len);
	if (place)
		return place;
	copy = pool_dup(&fold->pool, name.data, name.len);
	place = pool_zalloc(&fold->pool, sizeof(*place));
	if (!copy || !place ||
	    map_set(&fold->places, copy, name.len, place) < 0)
		return NULL;
	place->path = copy + strlen(endpoint) + 1;
	place->head_version = "";
	place->head_etag = "";
	place->endpoint = pool_dup(&fold->pool, endpoint, strlen(endpoint));
	return place->endpoint ? place : NULL;
}

static struct object_fact *add_fact(struct object_fold *fold,
				    const struct place *place, uint8_t role)
{
	struct object_fact *fact = pool_zalloc(&fold->pool, sizeof(*fact));
	struct object_fact **slot = VEC_PUSH(fold->facts, fold->n_facts,
					     fold->cap_facts);

	if (slot && !fact)
		fold->n_facts--;
	if (!slot || !fact)
		return NULL;
	*slot = fact;
	fact->path = place->path;
	fact->endpoint = place->endpoint;
	fact->version = "";
	fact->etag = "";
	fact->copy_source = "";
	fact->role = role;
	fact->size = -1;
	return fact;
}

/* `text`, kept in *field. */
static int keep(struct object_fold *fold, const char **field, const char *text)
{
	const char *copy = "";

	if (strcmp(*field, text) == 0)
		return 0;
	if (text[0])
		copy = pool_strdup(&fold->pool, text);
	if (!copy)
		return -ENOMEM;
	*field = copy;
	return 0;
}

/* What every request to the object adds. */
static void count_request(struct object_fact *fact, const struct object_op *op)
{
	fact->n_requests++;
	if (!fact->pid)
		fact->pid = op->pid;
	if (op->end_ns > fact->end_ns)
		fact->end_ns = op->end_ns;
}

static void take_digests(struct object_fact *fact, bool has_blake3,
			 const uint8_t *blake3, bool has_sha256,
			 const uint8_t *sha256)
{
	fact->has_blake3 = has_blake3;
	fact->has_sha256 = has_sha256;
	memcpy(fact->blake3, blake3, sizeof(fact->blake3));
	memcpy(fact->sha256, sha256, sizeof(fact->sha256));
}

/* ---- reading ---- */

/* Versions are compared where both are known, else ETags. */
static bool is_same_content(const struct object_fact *fact, const char *version,
			    const char *etag)
{
	if (fact->version[0] && version[0])
		return strcmp(fact->version, version) == 0;
	return !fact->etag[0] || !etag[0] || strcmp(fact->etag, etag) == 0;
}

static bool is_own(const struct place *place, const char *version,
		   const char *etag)
{
	return place->writing && place->writing->role == LINEAGE_OUTPUT &&
	       is_same_content(place->writing, version, etag);
}

static struct object_fact *find_reading(struct object_fold *fold,
					struct place *place,
					const char *version, const char *etag)
{
	struct object_fact *fact = place->readings;

	while (fact && (strcmp(fact->version, version) != 0 ||
			strcmp(fact->etag, etag) != 0))
		fact = fact->next;
	if (fact)
		return fact;
	fact = add_fact(fold, place, LINEAGE_INPUT);
	if (!fact || keep(fold, &fact->version, version) < 0 ||
	    keep(fold, &fact->etag, etag) < 0)
		return NULL;
	fact->next = place->readings;
	place->readings = fact;
	return fact;
}

static int add_range(struct object_fact *fact, int64_t first, int64_t last)
{
	int r = last == INT64_MAX ?
			-EINVAL :
			interval_set_add(&fact->ranges, (uint64_t)first,
					 (uint64_t)last + 1, NULL);

	if (r == -ENOMEM)
		return r;
	fact->ranges_cut |= r < 0;
	if (fact->size > 0 && fact->ranges.count >= (uint64_t)fact->size)
		fact->whole = true;
	return 0;
}

static int64_t delivered(const struct object_op *op)
{
	if (op->whole)
		return op->size > 0 ? op->size : 0;
	return op->last < 0 ? 0 : op->last - op->first + 1;
}

/* The content of what was read is known when it was seen as a whole, then or
 * earlier. */
static int add_reading(struct object_fold *fold, struct place *place,
		       const struct object_op *op)
{
	bool own = is_own(place, op->version, op->etag);
	struct object_fact *fact = own ? place->writing :
					 find_reading(fold, place, op->version,
						      op->etag);

	if (!fact)
		return -ENOMEM;
	if (op->size >= 0)
		fact->size = op->size;
	if (op->has_blake3)
		take_digests(fact, true, op->blake3, op->has_sha256,
			     op->sha256);
	if (own) {
		fact->intermediate = true;
		fact->n_requests++;
		return 0;
	}
	if (!fact->n_requests)
		fact->op = op->kind;
	count_request(fact, op);
	fact->n_bytes += delivered(op);
	fact->whole |= op->whole;
	return op->whole ? 0 : add_range(fact, op->first, op->last);
}

/* ---- copies: the store reads the source ---- */

/* "bucket/key" or "bucket/key?versionId=V". */
static int find_source(struct object_fold *fold, const struct object_op *op,
		       struct place **ret, const char **ret_version)
{
	char *bucket = pool_strdup(&fold->pool, op->copy_source);
	char *version;
	char *key;

	*ret = NULL;
	*ret_version = "";
	if (!bucket)
		return -ENOMEM;
	bucket += bucket[0] == '/';
	version = strstr(bucket, VERSION_QUERY);
	if (version) {
		*version = '\0';
		*ret_version = version + strlen(VERSION_QUERY);
	}
	key = strchr(bucket, '/');
	if (!key || !key[1])
		return 0;
	*key = '\0';
	*ret = find_place(fold, op->endpoint, bucket, key + 1);
	return *ret ? 0 : -ENOMEM;
}

/* *ret is what was copied; NULL: the log does not say. */
static int read_source(struct object_fold *fold, const struct object_op *op,
		       struct object_fact **ret)
{
	const char *version;
	const char *etag = "";
	struct place *place;
	int r = find_source(fold, op, &place, &version);

	*ret = NULL;
	if (r < 0 || !place)
		return r;
	if (!version[0] || strcmp(version, place->head_version) == 0) {
		version = place->head_version;
		etag = place->head_etag;
	}
	if (is_own(place, version, etag)) {
		*ret = place->writing;
		(*ret)->intermediate = true;
		return 0;
	}
	/* An ETag that the run saw there is most likely that of the source. */
	*ret = place->readings &&
			       is_same_content(place->readings, version, etag) ?
		       place->readings :
		       find_reading(fold, place, version, etag);
	if (!*ret)
		return -ENOMEM;
	if (!(*ret)->n_requests)
		(*ret)->op = op->kind;
	count_request(*ret, op);
	if (op->kind == OBJECT_COPY)
		(*ret)->whole = true;
	else if (op->last >= 0)
		return add_range(*ret, op->first, op->last);
	return 0;
}

/* ---- storing ---- */

/* The upload of that id, which is removed when it ends; NULL without memory. */
static struct upload *find_upload(struct object_fold *fold, const char *id)
{
	struct upload *upload = map_get(&fold->uploads, id, strlen(id));

	if (upload)
		return upload;
	upload = pool_zalloc(&fold->pool, sizeof(*upload));
	if (!upload)
		return NULL;
	upload->id = pool_dup(&fold->pool, id, strlen(id));
	upload->copy_source = "";
	if (!upload->id ||
	    map_set(&fold->uploads, upload->id, strlen(id), upload) < 0)
		return NULL;
	return upload;
}

static int add_part(struct object_fold *fold, const struct object_op *op)
{
	struct upload *upload = find_upload(fold, op->upload_id);
	struct object_fact *source;

	if (!upload)
		return -ENOMEM;
	upload->n_requests++;
	if (op->kind == OBJECT_CREATE_UPLOAD)
		return 0;
	upload->n_parts++;
	if (op->kind != OBJECT_UPLOAD_PART_COPY) {
		upload->n_bytes += delivered(op);
		return 0;
	}
	upload->has_copies = true;
	if (!upload->copy_source[0] &&
	    keep(fold, &upload->copy_source, op->copy_source) < 0)
		return -ENOMEM;
	return read_source(fold, op, &source);
}

static int end_upload(struct object_fold *fold, const struct object_op *op,
		      struct object_fact *fact)
{
	struct upload *upload = find_upload(fold, op->upload_id);

	if (!upload)
		return -ENOMEM;
	fact->n_requests += upload->n_requests;
	fact->n_bytes += op->size < 0 ? upload->n_bytes : 0;
	/* Unless a part was sent twice, or before the run, or copied. */
	if (fact->size < 0 && !upload->has_copies && upload->n_parts == op->part)
		fact->size = upload->n_bytes;
	fact->n_parts = op->part > 0 ? op->part : upload->n_parts;
	fact->copy_source = upload->copy_source;
	(void)map_remove(&fold->uploads, upload->id, strlen(upload->id));
	return 0;
}

/* A copy onto itself, to change its headers, leaves the content as it was. */
static void take_content(struct object_fact *fact, const struct object_op *op,
			 const struct object_fact *source)
{
	if (op->size >= 0 || !source)
		fact->size = op->size;
	else
		fact->size = source->size;
	if (op->has_blake3 || !source)
		take_digests(fact, op->has_blake3, op->blake3, op->has_sha256,
			     op->sha256);
	else if (source != fact)
		take_digests(fact, source->has_blake3, source->blake3,
			     source->has_sha256, source->sha256);
}

static int add_writing(struct object_fold *fold, struct place *place,
		       const struct object_op *op)
{
	struct object_fact *fact = place->writing;
	struct object_fact *source = NULL;

	if (op->kind == OBJECT_COPY && read_source(fold, op, &source) < 0)
		return -ENOMEM;
	if (!fact)
		fact = add_fact(fold, place, LINEAGE_OUTPUT);
	if (!fact || keep(fold, &fact->version, op->version) < 0 ||
	    keep(fold, &fact->etag, op->etag) < 0 ||
	    keep(fold, &fact->copy_source, op->copy_source) < 0)
		return -ENOMEM;
	place->writing = fact;
	fact->role = LINEAGE_OUTPUT;
	fact->op = op->kind;
	fact->n_parts = 0;
	fact->n_bytes += op->size > 0 && op->kind != OBJECT_COPY ? op->size : 0;
	count_request(fact, op);
	take_content(fact, op, source);
	return op->kind == OBJECT_COMPLETE_UPLOAD ? end_upload(fold, op, fact) :
						    0;
}

/* ---- all of it ---- */

/* Does it store or remove an object, if it succeeds? */
static bool is_change(enum object_op_kind kind)
{
	return kind == OBJECT_PUT || kind == OBJECT_COPY ||
	       kind == OBJECT_COMPLETE_UPLOAD || kind == OBJECT_DELETE;
}

/* Does a deletion remove this content?  One of another version leaves it; "null" is the version
 * of what was stored without versions. */
static bool is_deleted(const struct object_fact *fact, const char *version)
{
	return !version[0] ||
	       strcmp(version, fact->version[0] ? fact->version : "null") == 0;
}

static int dispatch(struct object_fold *fold, const struct object_op *op)
{
	struct place *place = find_place(fold, op->endpoint, op->bucket,
					 op->key);

	if (!place)
		return -ENOMEM;
	switch (op->kind) {
	case OBJECT_GET:
		if (!op->whole && op->last < 0)
			return 0;
		return add_reading(fold, place, op);
	case OBJECT_HEAD:
		if (keep(fold, &place->head_version, op->version) < 0)
			return -ENOMEM;
		return keep(fold, &place->head_etag, op->etag);
	case OBJECT_PUT:
	case OBJECT_COPY:
	case OBJECT_COMPLETE_UPLOAD:
		return add_writing(fold, place, op);
	case OBJECT_CREATE_UPLOAD:
	case OBJECT_UPLOAD_PART:
	case OBJECT_UPLOAD_PART_COPY:
		return add_part(fold, op);
	case OBJECT_ABORT_UPLOAD:
		(void)map_remove(&fold->uploads, op->upload_id,
				 strlen(op->upload_id));
		return 0;
	case OBJECT_DELETE:
		if (place->writing && is_deleted(place->writing, op->version))
			place->writing->role = LINEAGE_TEMPORARY;
		return 0;
	default:
		return 0;
	}
}

int object_fold_add(struct object_fold *fold, const struct object_op *op)
{
	bool cut = op->flags & OBJECT_UNFINISHED || !op->status;

	/* What the proxy itself ended was not stored. */
	if (is_change(op->kind) && op->flags & OBJECT_ABORTED)
		return 0;
	if (is_change(op->kind) && cut)
		return 1;
	/* A form, whose key is in its body: something was stored, nobody knows where. */
	if (op->kind == OBJECT_PUT && !op->key[0] && op->status >= 200 &&
	    op->status <= 299)
		return 1;
	if (op->status < 200 || op->status > 299 || !op->bucket[0] ||
	    !op->key[0])
		return 0;
	return dispatch(fold, op);
}

void object_ranges(struct str *out, const struct object_fact *fact, size_t max)
{
	const struct interval_set *set = &fact->ranges;

	if (fact->whole) {
		str_adds(out, "whole");
		return;
	}
	for (size_t i = 0; i < set->n && i < max; i++)
		str_addf(out, "%s%llu-%llu", i ? "," : "",
			 (unsigned long long)set->items[i].first,
			 (unsigned long long)set->items[i].end - 1);
	if (set->n > max || fact->ranges_cut)
		str_adds(out, set->n ? ",..." : "...");
}
