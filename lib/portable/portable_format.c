/* portable_format.c - the fields of each kind of line. */
#include "portable/portable_format.h"

#include "event/event.h"
#include "lineage/filter.h"
#include "lineage/fold.h"
#include "store/store_situation.h"

enum {
	STEP_MAX = 1000000000,
	NUMBER_MAX = INT32_MAX,
};

/* So that sums of a million of them, or of a time and a duration, do not overflow. */
#define COUNT_MAX ((int64_t)1 << 40)
#define TIME_MAX ((int64_t)1 << 61)

#define FIELD(type, of, member, size, min, max)                                \
	{                                                                      \
#member, offsetof(of, member), PORTABLE_##type, size, min, max \
	}
#define NUMBER(of, member, max) FIELD(INT64, of, member, 0, 0, max)
#define SIGNED(of, member) FIELD(INT64, of, member, 0, INT64_MIN, INT64_MAX)
#define COUNT(of, member) FIELD(COUNT, of, member, 0, 0, COUNT_MAX)
#define INT(of, member, min, max) FIELD(INT, of, member, 0, min, max)
#define TEXT(of, member) FIELD(TEXT, of, member, 0, 0, 0)
#define BOOL(of, member) FIELD(BOOL, of, member, 0, 0, 0)
/* The same with the name of the line's format. */
#define NAMED(name, type, of, member, size, min, max)                       \
	{                                                                   \
		name, offsetof(of, member), PORTABLE_##type, size, min, max \
	}

/* clang-format off */
static const struct portable_field header_fields[] = {
	NUMBER(struct portable_header, version, NUMBER_MAX),
	NUMBER(struct portable_header, written_ns, TIME_MAX),
	TEXT(struct portable_header, program),
	{ 0 },
};

static const struct portable_field session_fields[] = {
	FIELD(UID, struct store_session, uid, 16, 0, 0),
	NUMBER(struct store_session, created_ns, TIME_MAX),
	NUMBER(struct store_session, closed_ns, TIME_MAX),
	FIELD(BYTES, struct store_session, hash, BLAKE3_LEN, 0, 0),
	{ 0 },
};

#define JOB(type, member, size, min, max) \
	NAMED(#member, type, struct portable_job, job.member, size, min, max)
#define JOB_COUNT(member) JOB(INT64, member, 0, 0, COUNT_MAX)
#define JOB_TEXT(member) JOB(TEXT, member, 0, 0, 0)
static const struct portable_field job_fields[] = {
	JOB(UID, uid, 8, 0, 0),
	FIELD(UID, struct portable_job, session, 16, 0, 0),
	JOB_TEXT(kind),
	JOB(INT64, step, 0, 1, STEP_MAX),
	JOB(INT64, attempt, 0, 1, STEP_MAX),
	JOB_TEXT(name),
	JOB_TEXT(command),
	JOB_TEXT(argv),
	JOB_TEXT(script),
	JOB_TEXT(cwd),
	JOB(INT64, started_ns, 0, 0, TIME_MAX),
	JOB(INT64, duration_ns, 0, 0, TIME_MAX),
	JOB(INT, status, 0, STORE_DONE, STORE_INTERRUPTED),
	JOB(INT, exit_code, 0, 0, 255),
	JOB(BOOL, complete, 0, 0, 0),
	JOB_TEXT(tracer),
	JOB_TEXT(filters),
	JOB(INT64, attach_ns, 0, 0, TIME_MAX),
	JOB_COUNT(n_escaped),
	JOB_COUNT(n_lost),
	JOB_COUNT(n_rings),
	JOB_COUNT(n_sums_lost),
	JOB_COUNT(n_namespaces),
	JOB_COUNT(n_edges_left_out),
	JOB_TEXT(environment),
	JOB_TEXT(version),
	JOB_TEXT(host),
	JOB_TEXT(user),
	JOB_TEXT(git_root),
	JOB_TEXT(git_commit),
	JOB_TEXT(git_branch),
	JOB_TEXT(git_remote),
	JOB_TEXT(git_snapshot),
	JOB_TEXT(git_note),
	JOB(TRI, git_dirty, 0, 0, 0),
	JOB_COUNT(git_n_left_out),
	JOB_COUNT(n_inputs),
	JOB_COUNT(n_outputs),
	JOB_COUNT(n_filtered),
	JOB_COUNT(n_processes),
	JOB(INT64, cpu_user_ns, 0, 0, TIME_MAX),
	JOB(INT64, cpu_system_ns, 0, 0, TIME_MAX),
	JOB_COUNT(max_rss_kib),
	JOB(BYTES, command_id, 16, 0, 0),
	JOB(BYTES, output_id, 16, 0, 0),
	{ 0 },
};

static const struct portable_field situation_fields[] = {
	INT(struct portable_situation, kind, 1, SITUATION_END - 1),
	TEXT(struct portable_situation, document),
	FIELD(UID, struct portable_situation, same_as, 8, 0, 0),
	{ 0 },
};

static const struct portable_field process_fields[] = {
	INT(struct store_process, pid, 0, INT32_MAX),
	INT(struct store_process, parent, 0, INT32_MAX),
	TEXT(struct store_process, command),
	NUMBER(struct store_process, start_ns, TIME_MAX),
	NUMBER(struct store_process, end_ns, TIME_MAX),
	INT(struct store_process, status, -1, INT32_MAX),
	COUNT(struct store_process, n_execs),
	{ 0 },
};

static const struct portable_field rank_fields[] = {
	NUMBER(struct store_rank, process, COUNT_MAX),
	COUNT(struct store_rank, rank),
	COUNT(struct store_rank, local_rank),
	COUNT(struct store_rank, world_size),
	TEXT(struct store_rank, launcher),
	TEXT(struct store_rank, group),
	{ 0 },
};

static const struct portable_field gap_fields[] = {
	INT(struct store_gap, code, 1, 255),
	TEXT(struct store_gap, detail),
	NUMBER(struct store_gap, count, COUNT_MAX),
	{ 0 },
};

static const struct portable_field left_out_fields[] = {
	TEXT(struct store_left_out, path),
	TEXT(struct store_left_out, reason),
	{ 0 },
};

#define FILE_FIELD(type, name, member, size, min, max) \
	NAMED(name, type, struct portable_object, file.member, size, min, max)
#define FILE_FIELDS                                                        \
	FILE_FIELD(TEXT, "path", path, 0, 0, 0),                           \
	FILE_FIELD(UINT8, "role", role, 0, LINEAGE_INPUT, LINEAGE_TOUCHED), \
	FILE_FIELD(BOOL, "intermediate", intermediate, 0, 0, 0),           \
	FILE_FIELD(UINT8, "filter", filter, 0, 0, FILTER_END - 1),         \
	FILE_FIELD(UINT8, "ftype", ftype, 0, 0, EVENT_FTYPE_OBJECT),       \
	FILE_FIELD(UINT32, "seen", seen, 0, 0, UINT32_MAX),                \
	FILE_FIELD(DIGESTS, "digests", digests, 0, 0, 0),                  \
	FILE_FIELD(INT64, "dev", stamp.dev, 0, INT64_MIN, INT64_MAX),      \
	FILE_FIELD(INT64, "ino", stamp.ino, 0, INT64_MIN, INT64_MAX),      \
	FILE_FIELD(INT64, "size", stamp.size, 0, 0, TIME_MAX),             \
	FILE_FIELD(INT64, "mtime_ns", stamp.mtime_ns, 0, INT64_MIN,        \
		   INT64_MAX),                                             \
	FILE_FIELD(INT64, "ctime_ns", stamp.ctime_ns, 0, INT64_MIN,        \
		   INT64_MAX),                                             \
	FILE_FIELD(INT64, "read_order", read_order, 0, 0, TIME_MAX),       \
	FILE_FIELD(INT64, "write_order", write_order, 0, 0, TIME_MAX),     \
	FILE_FIELD(INT, "reader", reader, 0, 0, INT32_MAX),                \
	FILE_FIELD(INT, "writer", writer, 0, 0, INT32_MAX),                \
	FILE_FIELD(COUNT, "bytes_read", bytes_read, 0, 0, TIME_MAX),       \
	FILE_FIELD(COUNT, "bytes_written", bytes_written, 0, 0, TIME_MAX), \
	FILE_FIELD(TEXT, "origin", origin, 0, 0, 0)

_Static_assert(offsetof(struct portable_object, file) == 0, "shared offsets");

static const struct portable_field file_fields[] = {
	FILE_FIELDS,
	{ 0 },
};

#define OBJECT(type, member, min, max) \
	NAMED(#member, type, struct portable_object, object.member, 0, min, max)
static const struct portable_field object_fields[] = {
	FILE_FIELDS,
	OBJECT(TEXT, op, 0, 0),
	OBJECT(TEXT, endpoint, 0, 0),
	OBJECT(TEXT, version, 0, 0),
	OBJECT(TEXT, etag, 0, 0),
	OBJECT(TEXT, ranges, 0, 0),
	OBJECT(TEXT, copy_source, 0, 0),
	OBJECT(INT64, n_parts, 0, COUNT_MAX),
	OBJECT(INT64, n_requests, 0, COUNT_MAX),
	OBJECT(INT, pid, 0, INT32_MAX),
	{ 0 },
};

static const struct portable_field edge_fields[] = {
	NUMBER(struct store_edge, process, COUNT_MAX),
	NUMBER(struct store_edge, file, COUNT_MAX),
	FIELD(UINT8, struct store_edge, kind, 0, LINEAGE_EDGE_READ, 255),
	NUMBER(struct store_edge, event, TIME_MAX),
	{ 0 },
};

#define SHARD(type, of, member, name, min, max) \
	NAMED(name, type, of, member, 0, min, max)
#define SHARD_FIELDS(of, prefix)                                     \
	SHARD(INT, of, prefix pid, "pid", 0, INT32_MAX),             \
	SHARD(COUNT, of, prefix rank, "rank", 0, COUNT_MAX),         \
	SHARD(INT64, of, prefix epoch, "epoch", 0, TIME_MAX),        \
	SHARD(INT64, of, prefix n_samples, "n_samples", 0, TIME_MAX), \
	SHARD(TEXT, of, prefix dataset, "dataset", 0, 0),            \
	SHARD(TEXT, of, prefix path, "path", 0, 0)
static const struct portable_field shard_fields[] = {
	SHARD_FIELDS(struct store_shard, ),
	{ 0 },
};

static const struct portable_field checkpoint_fields[] = {
	NUMBER(struct store_checkpoint, n, COUNT_MAX),
	INT(struct store_checkpoint, pid, 0, INT32_MAX),
	SIGNED(struct store_checkpoint, step),
	SIGNED(struct store_checkpoint, world_size),
	NUMBER(struct store_checkpoint, committed_ns, TIME_MAX),
	NUMBER(struct store_checkpoint, n_shards, TIME_MAX),
	NUMBER(struct store_checkpoint, n_samples, TIME_MAX),
	FIELD(BYTES, struct store_checkpoint, manifest, BLAKE3_LEN, 0, 0),
	TEXT(struct store_checkpoint, parent),
	TEXT(struct store_checkpoint, path),
	{ 0 },
};

static const struct portable_field checkpoint_shard_fields[] = {
	NUMBER(struct portable_checkpoint_shard, checkpoint, COUNT_MAX),
	SHARD_FIELDS(struct portable_checkpoint_shard, shard.),
	{ 0 },
};

#define COLLECTION(type, member, name, size, min, max) \
	NAMED(name, type, struct store_collection_use, member, size, min, max)
static const struct portable_field collection_fields[] = {
	COLLECTION(INT, collection.kind, "kind", 0, 1, COLLECTION_KIND_END - 1),
	COLLECTION(INT64, collection.n_members, "n_members", 0, 0, COUNT_MAX),
	COLLECTION(INT64, collection.size, "size", 0, 0, TIME_MAX),
	COLLECTION(BYTES, collection.blake3, "blake3", BLAKE3_LEN, 0, 0),
	COLLECTION(UINT32, role, "role", 0, LINEAGE_INPUT, LINEAGE_OUTPUT),
	COLLECTION(TEXT, path, "path", 0, 0, 0),
	{ 0 },
};

#define TAG(type, member, max) \
	NAMED(#member, type, struct tag_change, tag.tag.member, 0, 0, max)
static const struct portable_field tag_fields[] = {
	NUMBER(struct tag_change, created_ns, TIME_MAX),
	BOOL(struct tag_change, removed),
	TAG(UINT8, action, TAG_BLOCK),
	TAG(TEXT, kind, 0),
	TAG(TEXT, value, 0),
	TAG(UINT8, origin, TAG_SYSTEM),
	{ 0 },
};

static const struct portable_field group_fields[] = {
	TEXT(struct store_group, id),
	COUNT(struct store_group, node),
	COUNT(struct store_group, n_nodes),
	{ 0 },
};

static const struct portable_field part_fields[] = {
	FIELD(UID, struct portable_part, job, 8, 0, 0),
	{ 0 },
};

#define LABEL(type, member, max) \
	NAMED(#member, type, struct portable_label, label.member, 0, 0, max)
static const struct portable_field label_fields[] = {
	INT(struct portable_label, entity, 0, LABEL_ENTITY_END - 1),
	FIELD(BYTES, struct portable_label, blake3, BLAKE3_LEN, 0, 0),
	LABEL(INT64, version, COUNT_MAX),
	LABEL(INT64, created_ns, TIME_MAX),
	LABEL(INT, origin, LABEL_SYSTEM),
	LABEL(TEXT, document, 0),
	{ 0 },
};

static const struct portable_field end_fields[] = {
	NUMBER(struct portable_end, n_lines, COUNT_MAX),
	{ 0 },
};
/* clang-format on */

const struct portable_table portable_tables[PORTABLE_KIND_END] = {
	[PORTABLE_HEADER] = { "roar_record", header_fields },
	[PORTABLE_SESSION] = { "session", session_fields },
	[PORTABLE_JOB] = { "job", job_fields },
	[PORTABLE_SITUATION] = { "situation", situation_fields },
	[PORTABLE_PROCESS] = { "process", process_fields },
	[PORTABLE_RANK] = { "rank", rank_fields },
	[PORTABLE_GAP] = { "gap", gap_fields },
	[PORTABLE_LEFT_OUT] = { "left_out", left_out_fields },
	[PORTABLE_FILE] = { "file", file_fields },
	[PORTABLE_OBJECT] = { "object", object_fields },
	[PORTABLE_EDGE] = { "edge", edge_fields },
	[PORTABLE_SHARD] = { "shard", shard_fields },
	[PORTABLE_CHECKPOINT] = { "checkpoint", checkpoint_fields },
	[PORTABLE_CHECKPOINT_SHARD] = { "checkpoint_shard",
					checkpoint_shard_fields },
	[PORTABLE_COLLECTION] = { "collection", collection_fields },
	[PORTABLE_TAG] = { "tag", tag_fields },
	[PORTABLE_GROUP] = { "group", group_fields },
	[PORTABLE_PART] = { "part", part_fields },
	[PORTABLE_LABEL] = { "label", label_fields },
	[PORTABLE_END] = { "end", end_fields },
};
