/* store_collection.h - directories and sets of files that are one artifact.
 *
 * The artifact of a collection has the hash of its tree (hash/dir/dir_hash.h), so equal
 * content is one collection, wherever it is.  A job that read or wrote a directory as a
 * whole uses a collection, and a user can name one.
 *
 * The members of a used collection are the rows of the job's files below the directory:
 * they cost nothing more.  Those of a named one have rows of their own.  Either way they
 * are read as a stream in the order of their names, so that a million do not need
 * memory.
 *
 * Removing a job removes its uses, and collections without use and name. */
#ifndef ROAR_STORE_STORE_COLLECTION_H
#define ROAR_STORE_STORE_COLLECTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "hash/digest/digest.h"

struct pool;
struct store;

/* The numbers are stored: never reuse one. */
enum collection_kind {
	COLLECTION_PLAIN = 1, /* a directory */
	COLLECTION_FILES = 2, /* files and directories that the user put together */
	COLLECTION_CHECKPOINT = 3,
	COLLECTION_WEBDATASET = 4,
	COLLECTION_PARQUET = 5,
	COLLECTION_ZARR = 6,
	COLLECTION_LANCE = 7,
	COLLECTION_LEROBOT = 8,
	COLLECTION_KIND_END,
};

/* "webdataset"; "directory" for a plain one. */
const char *collection_kind_name(int kind);

struct store_collection {
	int64_t id; /* that of its artifact; 0: none */
	int kind; /* enum collection_kind */
	int64_t n_members;
	int64_t size; /* bytes of all members */
	int64_t first_seen_ns;
	uint8_t blake3[BLAKE3_LEN]; /* of the tree */
	const char *names; /* that mean it now, separated by blanks; "" */
	const char *path; /* where it was last; "" */
};

/* Adds a collection, inside a transaction, by its hash, kind and counts; *ret_id is that
 * of the one that exists if there is one. */
int store_collection_add(struct store *s, const struct store_collection *c,
			 int64_t *ret_id, struct roar_error *err);

/* A collection that a job read or wrote as a whole. */
struct store_collection_use {
	struct store_collection collection;
	int64_t job_id;
	unsigned role; /* LINEAGE_INPUT or LINEAGE_OUTPUT */
	const char *path; /* the directory */
};

/* Adds the use of a collection; of `collection` only the id is used. */
int store_collection_use_add(struct store *s,
			     const struct store_collection_use *use,
			     struct roar_error *err);

/* Are the files of the job below the path those that the hash stands for?  For a use that
 * is not our own.  -EBADMSG: they are not. */
int store_collection_use_check(struct store *s,
			       const struct store_collection_use *use,
			       struct roar_error *err);

/* Gives the collection a name.  1, or 0 if the name means that collection already. */
int store_collection_name_add(struct store *s, int64_t id, const char *name,
			      const char *path, struct roar_error *err);

/* Adds the members of a named collection: none if it has them (0), else call
 * store_member_add() for each (1), in the order of their names.  The names are the
 * paths without their first `prefix` bytes. */
int store_members_begin(struct store *s, int64_t id, size_t prefix,
			struct roar_error *err);
int store_member_add(struct store *s, int64_t id, int64_t n, const char *path,
		     int64_t size, const uint8_t blake3[BLAKE3_LEN],
		     struct roar_error *err);

/* Each returns 1 and a collection, or 0.  At a path: what a job last used there, else
 * what was named there. */
int store_collection(struct store *s, struct pool *pool, int64_t id,
		     struct store_collection *ret, struct roar_error *err);
int store_collection_named(struct store *s, struct pool *pool, const char *name,
			   struct store_collection *ret,
			   struct roar_error *err);
int store_collection_at(struct store *s, struct pool *pool, const char *path,
			struct store_collection *ret, struct roar_error *err);

/* All of them, in the order in which they were first seen. */
int store_collections(struct store *s, struct pool *pool,
		      struct store_collection **ret, size_t *ret_n,
		      struct roar_error *err);

/* The uses of one collection, newest first, and those of a job. */
int store_collection_uses(struct store *s, struct pool *pool, int64_t id,
			  struct store_collection_use **ret, size_t *ret_n,
			  struct roar_error *err);
int store_job_collections(struct store *s, struct pool *pool, int64_t job_id,
			  struct store_collection_use **ret, size_t *ret_n,
			  struct roar_error *err);

struct store_member {
	const char *name; /* until the next call */
	int64_t artifact_id;
	int64_t size;
	int64_t n_members; /* it is a collection itself; 0: a file */
	uint8_t blake3[BLAKE3_LEN];
};

struct store_members;

/* Reads the members, by name; with STORE_MEMBERS_ANY_ORDER the first ones come at once,
 * also from a large collection. */
enum store_members_flags { STORE_MEMBERS_ANY_ORDER = 1 << 0 };
int store_members_open(struct store *s, int64_t id, unsigned flags,
		       struct store_members **ret, struct roar_error *err);
/* 1 and a member, or 0 at the end. */
int store_members_next(struct store_members *m, struct store_member *ret,
		       struct roar_error *err);
void store_members_close(struct store_members *m);
DEFINE_CLEANUP(struct store_members *, store_members_close)

#endif
