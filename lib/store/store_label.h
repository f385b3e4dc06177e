/* store_label.h - labels: what the user says of a session, a job or an artifact.
 *
 * The labels of one of these are a JSON object (lineage/label.h).  A change adds a
 * version with the whole object; earlier versions stay.  To change labels, read the
 * current version and add the next one in the same transaction: then no change of
 * another process is lost. */
#ifndef ROAR_STORE_STORE_LABEL_H
#define ROAR_STORE_STORE_LABEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct pool;
struct store;

enum label_entity {
	LABEL_SESSION,
	LABEL_JOB,
	LABEL_ARTIFACT,
	LABEL_ENTITY_END
};

/* The numbers are stored: never reuse one. */
enum label_origin {
	LABEL_USER = 0,
	LABEL_SYSTEM = 1, /* set by roar */
};

struct store_label {
	int64_t entity_id; /* of its session, job or artifact */
	int64_t version; /* 1, 2, ...; 0: it has no labels yet */
	int64_t created_ns;
	int origin; /* enum label_origin */
	const char *document;
};

/* Adds the next version, inside a transaction.  When `label->created_ns` is 0, it is
 * now.  Returns the version's number in *ret_version. */
int store_label_add(struct store *s, enum label_entity entity,
		    const struct store_label *label, int64_t *ret_version,
		    struct roar_error *err);

/* The current version; version 0 and the document "{}" when there is none. */
int store_label(struct store *s, struct pool *pool, enum label_entity entity,
		int64_t entity_id, struct store_label *ret,
		struct roar_error *err);

/* All versions, oldest first. */
int store_label_history(struct store *s, struct pool *pool,
			enum label_entity entity, int64_t entity_id,
			struct store_label **ret, size_t *ret_n,
			struct roar_error *err);

/* The current versions of all sessions, all jobs or all artifacts that have labels. */
int store_labels_current(struct store *s, struct pool *pool,
			 enum label_entity entity, struct store_label **ret,
			 size_t *ret_n, struct roar_error *err);

#endif
