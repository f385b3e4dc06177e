/* portable_format.h - the lines of a portable record, as tables.
 *
 * A portable record is JSON lines; docs/portable-record.md describes it.  Each line is an
 * object with one key, its kind, whose value has the fields of one struct.  The writer
 * and the reader use the same tables, so neither can know a field that the other does
 * not.  A field that is absent is 0, false, "" or not known. */
#ifndef ROAR_PORTABLE_FORMAT_H
#define ROAR_PORTABLE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lineage/tag.h"
#include "store/store.h"
#include "store/store_collection.h"
#include "store/store_edge.h"
#include "store/store_group.h"
#include "store/store_label.h"
#include "store/store_tag.h"

struct json;
struct json_t;
struct pool;
struct str;

enum { PORTABLE_VERSION = 1 };

enum portable_type {
	PORTABLE_INT64, /* also of uint64_t: no value is larger than 2^63 - 1 */
	PORTABLE_COUNT, /* int64_t; -1, not known: absent */
	PORTABLE_INT, /* int and int32_t */
	PORTABLE_UINT32,
	PORTABLE_UINT8,
	PORTABLE_BOOL,
	PORTABLE_TRI, /* enum tri; not known: absent */
	PORTABLE_TEXT, /* bytes without NUL */
	PORTABLE_UID, /* `size` hex digits, in a char array with a NUL */
	PORTABLE_BYTES, /* `size` bytes as hex digits; zero: absent */
	PORTABLE_DIGESTS, /* {"blake3": "...", ...} */
};

struct portable_field {
	const char *name;
	uint16_t offset; /* in the struct */
	uint8_t type; /* enum portable_type */
	uint8_t size; /* digits or bytes */
	int64_t min, max; /* of a number */
};

/* ---- the structs of lines that no header of the store has ---- */

struct portable_header {
	int64_t version;
	int64_t written_ns;
	const char *program; /* "roar 0.1.0" */
};

struct portable_job {
	char session[17]; /* its UID */
	struct store_job job;
};

struct portable_situation {
	int kind; /* enum situation_kind */
	const char *document; /* "" if it is that of another job: */
	char same_as[9]; /* a job earlier in the file; "" none */
};

struct portable_checkpoint_shard {
	int64_t checkpoint;
	struct store_shard shard;
};

struct portable_object {
	struct store_file file;
	struct store_object object;
};

struct portable_label {
	int entity; /* enum label_entity: the session or job above, or an artifact */
	uint8_t blake3[BLAKE3_LEN]; /* of the artifact */
	struct store_label label;
};

struct portable_part {
	char job[9]; /* UID; earlier in the file */
};

struct portable_end {
	int64_t n_lines; /* before this one */
};

/* Room for any of them. */
union portable_row {
	struct portable_header header;
	struct store_session session;
	struct portable_job job;
	struct portable_situation situation;
	struct store_process process;
	struct store_rank rank;
	struct store_gap gap;
	struct store_left_out left_out;
	struct store_file file;
	struct portable_object object;
	struct store_edge edge;
	struct store_shard shard;
	struct store_checkpoint checkpoint;
	struct portable_checkpoint_shard checkpoint_shard;
	struct store_collection_use collection;
	struct tag_change tag;
	struct store_group group;
	struct portable_part part;
	struct portable_label label;
	struct portable_end end;
};

enum portable_kind {
	PORTABLE_HEADER, /* the first line */
	PORTABLE_SESSION,
	PORTABLE_JOB, /* of the session it names; what follows belongs to it */
	PORTABLE_SITUATION,
	PORTABLE_PROCESS,
	PORTABLE_RANK,
	PORTABLE_GAP,
	PORTABLE_LEFT_OUT,
	PORTABLE_FILE,
	PORTABLE_OBJECT,
	PORTABLE_EDGE,
	PORTABLE_SHARD,
	PORTABLE_CHECKPOINT,
	PORTABLE_CHECKPOINT_SHARD,
	PORTABLE_COLLECTION,
	PORTABLE_TAG, /* one change of the tags */
	PORTABLE_GROUP,
	PORTABLE_PART, /* of a joined job */
	PORTABLE_LABEL,
	PORTABLE_END, /* the last line */
	PORTABLE_KIND_END,
};

struct portable_table {
	const char *name; /* key of the line */
	const struct portable_field *fields; /* ended by name == NULL */
};

extern const struct portable_table portable_tables[PORTABLE_KIND_END];

/* Appends the line of a row, with its newline. */
void portable_row_encode(struct str *out, enum portable_kind kind,
			 const void *row);

/* Reads the value of a line into a row.  Texts are in the pool.  -EINVAL and what is
 * wrong, as "field 'pid' is not a number from 0 to 9". */
int portable_row_decode(const struct json_t *value, enum portable_kind kind,
			struct pool *pool, union portable_row *ret,
			struct roar_error *err);

#endif
