/* portable_writer.c - jobs as a portable record. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"
#include "hash/file/file_hash.h"
#include "portable/portable.h"
#include "portable/portable_format.h"
#include "store/store_situation.h"

enum { FLUSH_BYTES = 256 * 1024 };

struct writer {
	struct store *store;
	int fd;
	int64_t n_lines;
	struct str out; /* not written yet */
	struct pool keep; /* what the maps need */
	struct map sessions; /* id -> struct store_session that was written */
	struct map situations; /* digest -> UID of the first job that had it */
	struct map jobs; /* id -> itself, of those that are written */
	/* Of the job at hand: */
	const struct store_job *job;
	struct pool pool;
	struct store_object *objects;
	size_t n_objects;
};

static void writer_release(struct writer *w)
{
	str_release(&w->out);
	pool_release(&w->keep);
	pool_release(&w->pool);
	map_release(&w->sessions);
	map_release(&w->situations);
	map_release(&w->jobs);
}

static int flush(struct writer *w, struct roar_error *err)
{
	int r = str_error(&w->out);

	if (r < 0)
		return error_set(err, r, "out of memory");
	r = fd_write_all(w->fd, w->out.data, w->out.len);
	if (r < 0)
		return error_set(err, r, "cannot write the record: %s",
				 strerror(-r));
	str_clear(&w->out);
	return 0;
}

static int put(struct writer *w, enum portable_kind kind, const void *row,
	       struct roar_error *err)
{
	portable_row_encode(&w->out, kind, row);
	w->n_lines++;
	return w->out.len < FLUSH_BYTES ? 0 : flush(w, err);
}

/* Rows of one kind, an array of structs. */
static int put_all(struct writer *w, enum portable_kind kind, const void *rows,
		   size_t n, size_t size, struct roar_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = put(w, kind, (const char *)rows + i * size, err);
	return r;
}

/* ---- labels ---- */

static int put_labels(struct writer *w, enum label_entity entity, int64_t id,
		      const uint8_t *blake3, struct roar_error *err)
{
	struct store_label *labels = NULL;
	size_t n = 0;
	int r = store_label_history(w->store, &w->pool, entity, id, &labels, &n,
				    err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct portable_label row = { .entity = entity,
					      .label = labels[i] };

		if (blake3)
			memcpy(row.blake3, blake3, sizeof(row.blake3));
		r = put(w, PORTABLE_LABEL, &row, err);
	}
	return r;
}

/* Did one of the written jobs use the content? */
static int is_used(struct writer *w, int64_t artifact_id, bool *ret,
		   struct roar_error *err)
{
	struct store_file *uses = NULL;
	size_t n = 0;
	int r = store_artifact_uses(w->store, &w->pool, artifact_id, &uses, &n,
				    err);

	*ret = false;
	for (size_t i = 0; r == 0 && i < n && !*ret; i++)
		*ret = map_get(&w->jobs, &uses[i].job_id,
			       sizeof(uses[i].job_id)) != NULL;
	return r;
}

/* Few artifacts have labels, so each looks for its jobs. */
static int put_artifact_labels(struct writer *w, struct roar_error *err)
{
	struct store_label *labels = NULL;
	size_t n = 0;
	int r = store_labels_current(w->store, &w->keep, LABEL_ARTIFACT,
				     &labels, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct store_artifact a;
		bool used;

		r = is_used(w, labels[i].entity_id, &used, err);
		if (r < 0 || !used)
			continue;
		r = store_artifact(w->store, &w->pool, labels[i].entity_id, &a,
				   err);
		if (r == 0)
			r = put_labels(w, LABEL_ARTIFACT, a.id,
				       a.digests.blake3, err);
		pool_release(&w->pool);
	}
	return r;
}

/* ---- sessions ---- */

static int read_sessions(struct writer *w, struct map *ret,
			 struct roar_error *err)
{
	struct store_session *list;
	size_t n;
	int r = store_sessions(w->store, &w->keep, &list, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (map_set(ret, &list[i].id, sizeof(list[i].id), &list[i]) < 0)
			r = error_set(err, -ENOMEM, "out of memory");
	return r;
}

/* The session comes before the first of its jobs. */
static int put_session(struct writer *w, const struct map *all, int64_t id,
		       const struct store_session **ret, struct roar_error *err)
{
	struct store_session *session = map_get(all, &id, sizeof(id));
	int r;

	if (!session)
		return error_set(err, -EUCLEAN,
				 "the record has no session %lld, which a job "
				 "belongs to",
				 (long long)id);
	*ret = session;
	if (map_get(&w->sessions, &id, sizeof(id)))
		return 0;
	if (map_set(&w->sessions, &session->id, sizeof(id), session) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	r = put(w, PORTABLE_SESSION, session, err);
	return r < 0 ? r : put_labels(w, LABEL_SESSION, id, NULL, err);
}

/* ---- what belongs to a job ---- */

/* A document that an earlier job had is named by that job. */
static int put_situation(struct writer *w, int kind, const char *document,
			 struct roar_error *err)
{
	struct portable_situation row = { .kind = kind, .document = document };
	struct digests d;
	const char *first;
	char *key;
	int r = digest_buffer(document, strlen(document), DIGEST_SET_BLAKE3,
			      &d);

	if (r < 0)
		return error_set(err, r, "out of memory");
	d.blake3[0] ^= (uint8_t)kind; /* one map for all kinds */
	first = map_get(&w->situations, d.blake3, BLAKE3_LEN);
	if (first) {
		row.document = "";
		memcpy(row.same_as, first, sizeof(row.same_as));
		return put(w, PORTABLE_SITUATION, &row, err);
	}
	key = pool_dup(&w->keep, d.blake3, BLAKE3_LEN);
	first = pool_strdup(&w->keep, w->job->uid);
	if (!key || !first ||
	    map_set(&w->situations, key, BLAKE3_LEN, (char *)first) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return put(w, PORTABLE_SITUATION, &row, err);
}

static int put_situations(struct writer *w, int64_t id, struct roar_error *err)
{
	int r = 0;

	for (int kind = 1; r == 0 && kind < SITUATION_END; kind++) {
		const char *document = NULL;

		r = store_situation(w->store, &w->pool, id,
				    (enum situation_kind)kind, &document, err);
		if (r == 0 && document)
			r = put_situation(w, kind, document, err);
	}
	return r;
}

#define PUT_ROWS(name, read, kind, type)                                      \
	static int name(struct writer *w, int64_t id, struct roar_error *err) \
	{                                                                     \
		struct type *rows = NULL;                                     \
		size_t n = 0;                                                 \
		int r = read(w->store, &w->pool, id, &rows, &n, err);         \
                                                                              \
		return r < 0 ? r :                                            \
			       put_all(w, kind, rows, n, sizeof(*rows), err); \
	}

PUT_ROWS(put_processes, store_processes, PORTABLE_PROCESS, store_process)
PUT_ROWS(put_ranks, store_ranks, PORTABLE_RANK, store_rank)
PUT_ROWS(put_gaps, store_gaps, PORTABLE_GAP, store_gap)
PUT_ROWS(put_left_out, store_left_out, PORTABLE_LEFT_OUT, store_left_out)
PUT_ROWS(put_edges, store_edge_rows, PORTABLE_EDGE, store_edge)
PUT_ROWS(put_shards, store_shards, PORTABLE_SHARD, store_shard)
PUT_ROWS(put_tags, store_tag_history, PORTABLE_TAG, tag_change)
PUT_ROWS(put_collections, store_job_collections, PORTABLE_COLLECTION,
	 store_collection_use)

static int put_file(void *data, const struct store_file *file,
		    struct roar_error *err)
{
	struct writer *w = data;
	const struct store_object *object = store_object_of(
		w->objects, w->n_objects, file->n);

	if (!object)
		return put(w, PORTABLE_FILE, file, err);
	return put(w, PORTABLE_OBJECT,
		   &(struct portable_object){ *file, *object }, err);
}

static int put_files(struct writer *w, int64_t id, struct roar_error *err)
{
	int r = store_objects(w->store, &w->pool, id, &w->objects,
			      &w->n_objects, err);

	return r < 0 ? r : store_files_walk(w->store, id, put_file, w, err);
}

static int put_checkpoint_shards(struct writer *w,
				 const struct store_checkpoint *c,
				 struct roar_error *err)
{
	struct store_shard *shards = NULL;
	size_t n = 0;
	int r = store_checkpoint_shard_rows(w->store, &w->pool, c, &shards, &n,
					    err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = put(w, PORTABLE_CHECKPOINT_SHARD,
			&(struct portable_checkpoint_shard){ c->n, shards[i] },
			err);
	return r;
}

static int put_checkpoints(struct writer *w, int64_t id, struct roar_error *err)
{
	struct store_checkpoint *rows = NULL;
	size_t n = 0;
	int r = store_checkpoints(w->store, &w->pool, id, &rows, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = put(w, PORTABLE_CHECKPOINT, &rows[i], err);
		if (r == 0)
			r = put_checkpoint_shards(w, &rows[i], err);
	}
	return r;
}

static int put_group(struct writer *w, int64_t id, struct roar_error *err)
{
	struct store_group group;
	int r = store_group(w->store, &w->pool, id, &group, err);

	return r < 0 || !group.id[0] ? r : put(w, PORTABLE_GROUP, &group, err);
}

static int put_job(struct writer *w, const struct map *all, int64_t id,
		   struct roar_error *err);

static int find_job(struct writer *w, struct pool *pool, int64_t id,
		    struct store_job **ret, struct roar_error *err)
{
	struct store_job_query query = { .job_id = id };
	size_t n;
	int r = store_jobs(w->store, pool, &query, ret, &n, err);

	if (r == 0 && n != 1)
		return error_set(err, -ENOENT, "the record has no job %lld",
				 (long long)id);
	return r;
}

static int put_parts(struct writer *w, int64_t id, struct roar_error *err)
{
	struct store_job *part;
	int64_t *parts = NULL;
	size_t n = 0;
	int r = store_parts(w->store, &w->pool, id, &parts, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct portable_part row = { "" };

		r = find_job(w, &w->pool, parts[i], &part, err);
		if (r < 0)
			break;
		memcpy(row.job, part->uid, sizeof(row.job));
		r = put(w, PORTABLE_PART, &row, err);
	}
	return r;
}

static int put_job_labels(struct writer *w, int64_t id, struct roar_error *err)
{
	return put_labels(w, LABEL_JOB, id, NULL, err);
}

/* A joined job has one level of parts: parts are not joined themselves. */
static int put_parts_before(struct writer *w, const struct map *all, int64_t id,
			    struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	int64_t *parts = NULL;
	size_t n = 0;
	int r = store_parts(w->store, &pool, id, &parts, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_job(w, all, parts[i], err);
	return r;
}

static int put_job(struct writer *w, const struct map *all, int64_t id,
		   struct roar_error *err)
{
	static int (*const rows[])(struct writer * w, int64_t id,
				   struct roar_error * err) = {
		put_group,     put_parts,      put_situations,
		put_processes, put_ranks,      put_gaps,
		put_left_out,  put_files,      put_collections,
		put_edges,     put_shards,     put_checkpoints,
		put_tags,      put_job_labels,
	};
	const struct store_session *session = NULL;
	struct portable_job line = { 0 };
	struct store_job *job;
	int64_t *key;
	int r;

	if (map_get(&w->jobs, &id, sizeof(id)))
		return 0;
	key = pool_alloc(&w->keep, sizeof(*key));
	if (!key)
		return error_set(err, -ENOMEM, "out of memory");
	*key = id;
	if (map_set(&w->jobs, key, sizeof(*key), key) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	r = put_parts_before(w, all, id, err);
	if (r == 0)
		r = find_job(w, &w->pool, id, &job, err);
	if (r == 0)
		r = put_session(w, all, job->session_id, &session, err);
	if (r < 0)
		return r;
	w->job = job;
	line.job = *job;
	memcpy(line.session, session->uid, sizeof(line.session));
	r = put(w, PORTABLE_JOB, &line, err);
	for (size_t i = 0; r == 0 && i < sizeof(rows) / sizeof(*rows); i++)
		r = rows[i](w, id, err);
	pool_release(&w->pool);
	return r;
}

int portable_write(struct store *s, const int64_t *jobs, size_t n,
		   const char *program, int fd, struct roar_error *err)
{
	CLEANUP(writer_release) struct writer w = { .store = s, .fd = fd };
	CLEANUP(map_release) struct map sessions = MAP_INIT;
	const struct portable_header header = {
		.version = PORTABLE_VERSION,
		.written_ns = clock_now_ns(),
		.program = program,
	};
	int r = put(&w, PORTABLE_HEADER, &header, err);

	if (r == 0)
		r = read_sessions(&w, &sessions, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_job(&w, &sessions, jobs[i], err);
	if (r == 0)
		r = put_artifact_labels(&w, err);
	if (r == 0)
		r = put(&w, PORTABLE_END,
			&(struct portable_end){ .n_lines = w.n_lines }, err);
	return r < 0 ? r : flush(&w, err);
}
