/* object_fold.h - from requests to an object store to facts about its objects.
 *
 * What fold.h does for files.  It reads the operations of an object log in order and
 * keeps, per place (endpoint, bucket, key), what the run read there and what it left
 * there.  No I/O.
 *
 *	get			bytes of content from before the run -> input;
 *				of what the run itself stored -> intermediate
 *	put, copy,		output; the last one counts
 *	complete-upload
 *	copy, upload-part-copy	the source is read, by the store itself -> input
 *	delete			of an output -> temporary
 *	head			nothing, but names the content of a later copy
 *	list, other		nothing: no content was delivered
 *
 * Only requests count that the store answered with success.  Contents of one place are
 * told apart by version and ETag: two versions that were read are two inputs.  A content
 * is identified where the log has its digest; a copy has the content of its source.
 *
 * A fold belongs to one thread; what it returns lives until object_fold_free(). */
#ifndef ROAR_LINEAGE_OBJECT_FOLD_H
#define ROAR_LINEAGE_OBJECT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "event/object_log.h"
#include "shard/order/interval_set.h"

struct object_fold;
struct str;

/* One role of one content at one place.  Strings are never NULL. */
struct object_fact {
	const char *path; /* s3://BUCKET/KEY */
	const char *endpoint;
	const char *version;
	const char *etag;
	const char *copy_source;
	uint8_t role; /* LINEAGE_INPUT, LINEAGE_OUTPUT or LINEAGE_TEMPORARY */
	bool intermediate; /* the run read what it had stored */
	bool whole; /* input: all of it was read */
	bool has_blake3, has_sha256;
	uint8_t blake3[OBJECT_DIGEST_LEN];
	uint8_t sha256[OBJECT_DIGEST_LEN];
	enum object_op_kind op; /* the first that read, the last that stored */
	struct interval_set ranges; /* input: bytes that were read */
	bool ranges_cut; /* there are more than the set can hold */
	int64_t size; /* -1: not known */
	int64_t n_bytes; /* delivered or stored, by all requests */
	int64_t n_parts; /* of the upload; 0: in one piece */
	int64_t n_requests;
	int64_t end_ns; /* of the last request */
	int32_t pid; /* of the first request; 0: not known */
	struct object_fact *next; /* of the same place; internal */
};

int object_fold_new(struct object_fold **ret_fold);
void object_fold_free(struct object_fold *fold);
DEFINE_CLEANUP(struct object_fold *, object_fold_free)

/* 0; 1 when the operation stores or removes an object and did not finish, so that its
 * effect is not known; or -ENOMEM. */
int object_fold_add(struct object_fold *fold, const struct object_op *op);

/* In the order of first sight. */
struct object_fact *const *object_fold_facts(const struct object_fold *fold,
					     size_t *ret_n);

/* Appends s3://BUCKET/KEY. */
void object_path(struct str *out, const char *bucket, const char *key);

/* Appends the ranges that were read: "whole", or "0-99,200-299", with ",..." where
 * there are more than `max`; nothing for what was not read. */
void object_ranges(struct str *out, const struct object_fact *fact, size_t max);

#endif
