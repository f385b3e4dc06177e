/* portable_reader.c - a portable record into the record of a project.
 *
 * Lines come in an order in which each belongs to what is above it: a session to the
 * file, a job to a session that it names, the rest to the last job.  One transaction
 * holds the file.  The lines of a job that the record has are checked and left out. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "lineage/label.h"
#include "lineage/tag.h"
#include "portable/portable.h"
#include "portable/portable_format.h"
#include "store/store_situation.h"

enum { CHUNK_BYTES = 256 * 1024 };

struct reader {
	struct store *store;
	const struct portable_input *in;
	struct str buffer; /* read and not used yet, from `at` */
	size_t at;
	bool head_used;
	int64_t n_lines; /* read before the one at hand */
	bool began, ended; /* header and end were read */
	struct pool pool; /* of one line */
	struct portable_result result;
	/* What the lines belong to. */
	struct store_session session; /* the last one; id 0: none yet */
	bool session_is_new;
	int64_t job; /* 0: none yet, or one that the record has */
	bool has_job;
	int64_t n_processes, n_files; /* of the job, as edges count them */
	int64_t n_edges;
	uint8_t labelled[BLAKE3_LEN]; /* artifact whose labels are added */
	struct pool keep;
	struct map changed; /* id -> struct store_session with new jobs */
};

/* ---- lines ---- */

/* 1 when more was read, 0 at the end of the file. */
static int fill(struct reader *r, struct roar_error *err)
{
	struct str *b = &r->buffer;
	size_t rest = b->len - r->at;
	ssize_t n;

	if (!r->head_used) {
		r->head_used = true;
		str_add(b, r->in->head, r->in->head_len);
		return str_error(b) < 0 ?
			       error_set(err, -ENOMEM, "out of memory") :
			       1;
	}
	if (r->at) {
		memmove(b->data, b->data + r->at, rest);
		b->len = rest;
		r->at = 0;
	}
	if (b->len > PORTABLE_LINE_MAX)
		return error_set(err, -EINVAL, "it is longer than %d MiB",
				 PORTABLE_LINE_MAX >> 20);
	if (str_reserve(b, CHUNK_BYTES) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	do
		n = read(r->in->fd, b->data + b->len, CHUNK_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_set(err, -errno, "it cannot be read: %s",
				 strerror(errno));
	b->len += (size_t)n;
	return n > 0;
}

/* 1 and the next line, which ends in a newline that is not part of it; 0 at the end. */
static int next_line(struct reader *r, const char **ret, size_t *ret_len,
		     struct roar_error *err)
{
	size_t scanned = 0;

	for (;;) {
		const char *start = str_cstr(&r->buffer) + r->at;
		size_t len = r->buffer.len - r->at;
		const char *end = len > scanned ? memchr(start + scanned, '\n',
							 len - scanned) :
						  NULL;
		int more;

		if (end) {
			*ret = start;
			*ret_len = (size_t)(end - start);
			r->at += *ret_len + 1;
			return 1;
		}
		scanned = len;
		more = fill(r, err);
		if (more < 0)
			return more;
		if (!more && len)
			return error_set(err, -EINVAL,
					 "it is cut off, and so is the record");
		if (!more)
			return 0;
	}
}

/* ---- sessions and jobs ---- */

static int add_session(struct reader *r, union portable_row *row,
		       struct roar_error *err)
{
	struct store_session session = row->session;
	int e;

	if (!session.uid[0])
		return error_set(err, -EINVAL, "a session has no UID");
	r->has_job = false;
	r->job = 0;
	e = store_session_by_uid(r->store, session.uid, &r->session, err);
	r->session_is_new = e == 0;
	if (e != 0)
		return e < 0 ? e : 0;
	e = store_session_import(r->store, &session, err);
	r->session = session;
	return e;
}

/* 1 when the record has that very job, 0 when it does not know the UID. */
static int is_known(struct reader *r, const struct store_job *job,
		    struct roar_error *err)
{
	struct store_job_query query = { .uid_prefix = job->uid };
	struct store_job *found;
	size_t n;
	int e = store_jobs(r->store, &r->pool, &query, &found, &n, err);

	if (e < 0 || !n)
		return e;
	if (found->session_id == r->session.id &&
	    found->started_ns == job->started_ns &&
	    memcmp(found->command_id, job->command_id,
		   sizeof(job->command_id)) == 0)
		return 1;
	return error_set(err, -EINVAL,
			 "job %s is another job than the one with that UID in "
			 "this record",
			 job->uid);
}

/* The session that the job names becomes the one at hand. */
static int find_session(struct reader *r, const char *uid,
			struct roar_error *err)
{
	struct store_session session;
	int e;

	if (strcmp(r->session.uid, uid) == 0 && r->session.id)
		return 0;
	e = store_session_by_uid(r->store, uid, &session, err);
	if (e == 0)
		return error_set(err, -EINVAL,
				 "a job names the session '%s', which does not "
				 "come before it",
				 uid);
	if (e < 0)
		return e;
	r->session = session;
	r->session_is_new = false; /* its labels were above */
	return 0;
}

static int note_changed(struct reader *r, struct roar_error *err)
{
	struct store_session *copy;

	if (map_get(&r->changed, &r->session.id, sizeof(r->session.id)))
		return 0;
	copy = pool_alloc(&r->keep, sizeof(*copy));
	if (!copy)
		return error_set(err, -ENOMEM, "out of memory");
	*copy = r->session;
	if (map_set(&r->changed, &copy->id, sizeof(copy->id), copy) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int add_new_job(struct reader *r, struct store_job *job,
		       struct roar_error *err)
{
	int e;

	if (!r->session.imported_ns)
		return error_set(err, -EINVAL,
				 "job %s would be added to session %s, which "
				 "was recorded in this project",
				 job->uid, r->session.uid);
	job->session_id = r->session.id;
	job->id = 0;
	e = store_job_import(r->store, job, err);
	if (e == -EEXIST)
		return -EINVAL; /* with the message */
	if (e < 0)
		return e;
	r->job = job->id;
	r->result.n_jobs++;
	return note_changed(r, err);
}

static int add_job(struct reader *r, union portable_row *row,
		   struct roar_error *err)
{
	struct store_job *job = &row->job.job;
	int e;

	if (!job->uid[0])
		return error_set(err, -EINVAL, "a job has no UID");
	e = find_session(r, row->job.session, err);
	if (e == 0)
		e = is_known(r, job, err);
	if (e < 0)
		return e;
	r->has_job = true;
	r->job = 0;
	r->n_processes = r->n_files = r->n_edges = 0;
	if (e == 0)
		return add_new_job(r, job, err);
	r->result.n_known++;
	return 0;
}

/* ---- what belongs to a job ---- */

static int find_job(struct reader *r, const char *uid, int64_t *ret,
		    struct roar_error *err)
{
	struct store_job_query query = { .uid_prefix = uid };
	struct store_job *found;
	size_t n = 0;
	int e = uid[0] ? store_jobs(r->store, &r->pool, &query, &found, &n,
				    err) :
			 0;

	if (e < 0)
		return e;
	if (n != 1)
		return error_set(err, -EINVAL,
				 "it names the job '%s', which does not come "
				 "before it",
				 uid);
	*ret = found->id;
	return 0;
}

/* It is shown as part of other JSON. */
static int check_document(const char *document, struct roar_error *err)
{
	json_t *value = json_loads(document, JSON_REJECT_DUPLICATES, NULL);
	bool valid = json_is_object(value);

	json_decref(value);
	return valid ? 0 :
		       error_set(err, -EINVAL,
				 "a situation is not a JSON object");
}

static int add_situation(struct reader *r, union portable_row *row,
			 struct roar_error *err)
{
	const struct portable_situation *s = &row->situation;
	const char *document = s->document;
	int64_t job = 0;
	int e = 0;

	if (s->same_as[0]) {
		e = find_job(r, s->same_as, &job, err);
		if (e == 0)
			e = store_situation(r->store, &r->pool, job,
					    (enum situation_kind)s->kind,
					    &document, err);
		if (e == 0 && !document)
			return 0; /* the record left it out for that job */
	}
	if (e < 0)
		return e;
	e = check_document(document, err);
	if (e < 0)
		return e;
	return store_situation_add(r->store, r->job,
				   (enum situation_kind)s->kind, document, err);
}

static int add_process(struct reader *r, union portable_row *row,
		       struct roar_error *err)
{
	r->n_processes++;
	return store_process_add(r->store, r->job, &row->process, err);
}

static int add_rank(struct reader *r, union portable_row *row,
		    struct roar_error *err)
{
	const struct store_rank *rank = &row->rank;

	if (rank->process < 1 || rank->process > r->n_processes ||
	    (rank->world_size >= 0 && rank->rank >= rank->world_size))
		return error_set(err, -EINVAL,
				 "a rank belongs to no process, or to no world");
	return store_rank_add(r->store, r->job, rank, err);
}

static int add_gap(struct reader *r, union portable_row *row,
		   struct roar_error *err)
{
	return store_gap_add(r->store, r->job, &row->gap, err);
}

static int add_left_out(struct reader *r, union portable_row *row,
			struct roar_error *err)
{
	return store_left_out_add(r->store, r->job, &row->left_out, err);
}

/* One role; a path; and of content that the record knows no further digests, because
 * nothing says that they are true. */
static int check_file(struct reader *r, struct store_file *file,
		      struct roar_error *err)
{
	bool known = false;
	int e;

	if (!file->path[0] || (file->role & (file->role - 1)) ||
	    file->role == LINEAGE_INTERMEDIATE)
		return error_set(err, -EINVAL,
				 "a file has no path, or several roles");
	file->job_id = r->job;
	if (!(file->digests.have & ~(digest_set)DIGEST_SET_BLAKE3))
		return 0;
	e = store_artifact_known(r->store, file->digests.blake3, &known, err);
	if (known)
		file->digests.have = DIGEST_SET_BLAKE3;
	return e;
}

static int add_file(struct reader *r, union portable_row *row,
		    struct roar_error *err)
{
	int e = check_file(r, &row->file, err);

	r->n_files++;
	if (e == 0 && row->file.ftype == EVENT_FTYPE_OBJECT)
		return error_set(err, -EINVAL, "an object is called a file");
	return e < 0 ? e : store_file_add(r->store, &row->file, err);
}

static int add_object(struct reader *r, union portable_row *row,
		      struct roar_error *err)
{
	int e = check_file(r, &row->object.file, err);

	r->n_files++;
	return e < 0 ? e :
		       store_object_add(r->store, &row->object.file,
					&row->object.object, err);
}

static int add_edge(struct reader *r, union portable_row *row,
		    struct roar_error *err)
{
	const struct store_edge *edge = &row->edge;

	if (edge->process < 1 || edge->process > r->n_processes ||
	    edge->file < 1 || edge->file > r->n_files ||
	    edge->kind >= LINEAGE_EDGE_END)
		return error_set(err, -EINVAL,
				 "an edge has no process, no file or an "
				 "unknown kind");
	return store_edges_add(r->store, r->job, ++r->n_edges, edge, 1, err);
}

static int add_shard(struct reader *r, union portable_row *row,
		     struct roar_error *err)
{
	return store_shard_add(r->store, r->job, &row->shard, err);
}

static int add_checkpoint(struct reader *r, union portable_row *row,
			  struct roar_error *err)
{
	return store_checkpoint_add(r->store, r->job, &row->checkpoint, err);
}

static int add_checkpoint_shard(struct reader *r, union portable_row *row,
				struct roar_error *err)
{
	return store_checkpoint_shard_add(r->store, r->job,
					  row->checkpoint_shard.checkpoint,
					  &row->checkpoint_shard.shard, err);
}

static int add_collection(struct reader *r, union portable_row *row,
			  struct roar_error *err)
{
	struct store_collection_use *use = &row->collection;
	int e = store_collection_add(r->store, &use->collection,
				     &use->collection.id, err);

	use->job_id = r->job;
	if (e == 0)
		e = store_collection_use_check(r->store, use, err);
	if (e == -EBADMSG)
		return -EINVAL; /* it would give other files to that hash */
	return e < 0 ? e : store_collection_use_add(r->store, use, err);
}

/* A tag of another record is one that the user could have given here. */
static int add_tag(struct reader *r, union portable_row *row,
		   struct roar_error *err)
{
	struct tag_change *change = &row->tag;
	struct tag *tag = &change->tag.tag;
	struct tag parsed;
	const char *text = pool_printf(&r->pool, "%s%s%s", tag->kind,
				       tag->value[0] ? "=" : "", tag->value);
	int e = text ? tag_parse(&r->pool, tag->action, text, &parsed, err) :
		       error_set(err, -ENOMEM, "out of memory");

	change->tag.job_id = r->job;
	if (e == 0)
		e = store_tag_change(r->store, change, err);
	return e < 0 ? e : 0;
}

static int add_group(struct reader *r, union portable_row *row,
		     struct roar_error *err)
{
	const struct store_group *group = &row->group;

	if (!group->id[0] || strlen(group->id) > STORE_GROUP_MAX ||
	    (group->n_nodes >= 0 && group->node >= group->n_nodes))
		return error_set(err, -EINVAL, "a group has no id, or no node");
	return store_group_add(r->store, r->job, group, err);
}

static int add_part(struct reader *r, union portable_row *row,
		    struct roar_error *err)
{
	int64_t part = 0;
	int64_t *parts;
	size_t n = 0;
	int e = find_job(r, row->part.job, &part, err);

	if (e == 0)
		e = store_parts(r->store, &r->pool, part, &parts, &n, err);
	if (e == 0 && (part == r->job || n))
		return error_set(err, -EINVAL,
				 "a part is the job itself, or has parts");
	return e < 0 ? e : store_part_add(r->store, r->job, part, err);
}

/* ---- labels ---- */

/* Labels of content that the record knows are added if it has none there. */
static int find_artifact(struct reader *r, const struct portable_label *row,
			 int64_t *ret, struct roar_error *err)
{
	char hex[2 * BLAKE3_LEN + 1];
	struct store_artifact *found;
	struct store_label label;
	size_t n;
	int e;

	digest_hex(hex, row->blake3, BLAKE3_LEN);
	e = store_artifacts_by_prefix(r->store, &r->pool, hex, 1, &found, &n,
				      err);
	*ret = 0;
	if (e < 0 || !n)
		return e;
	e = store_label(r->store, &r->pool, LABEL_ARTIFACT, found->id, &label,
			err);
	if (e < 0)
		return e;
	if (label.version && memcmp(r->labelled, row->blake3, BLAKE3_LEN) != 0)
		return 0;
	memcpy(r->labelled, row->blake3, BLAKE3_LEN);
	*ret = found->id;
	return 0;
}

static int add_label(struct reader *r, union portable_row *row,
		     struct roar_error *err)
{
	struct portable_label *label = &row->label;
	enum label_entity entity = (enum label_entity)label->entity;
	int64_t version;
	int64_t id = 0;
	int e = label_check(label->label.document, err);

	if (e == 0 && entity == LABEL_ARTIFACT)
		e = find_artifact(r, label, &id, err);
	else if (entity == LABEL_SESSION && r->session_is_new)
		id = r->session.id;
	else if (entity == LABEL_JOB)
		id = r->job;
	if (e < 0 || !id)
		return e;
	label->label.entity_id = id;
	return store_label_add(r->store, entity, &label->label, &version, err);
}

/* ---- the file ---- */

static int add_header(struct reader *r, union portable_row *row,
		      struct roar_error *err)
{
	if (r->began)
		return error_set(err, -EINVAL, "it is a second header");
	if (row->header.version != PORTABLE_VERSION)
		return error_set(err, -EINVAL,
				 "it is version %lld of the format, and this "
				 "roar reads version %d: upgrade roar",
				 (long long)row->header.version,
				 PORTABLE_VERSION);
	r->began = true;
	return 0;
}

static int add_end(struct reader *r, union portable_row *row,
		   struct roar_error *err)
{
	if (row->end.n_lines != r->n_lines)
		return error_set(err, -EINVAL,
				 "%lld lines were written and %lld are there",
				 (long long)row->end.n_lines,
				 (long long)r->n_lines);
	r->ended = true;
	return 0;
}

static const struct {
	int (*add)(struct reader *r, union portable_row *row,
		   struct roar_error *err);
	bool of_job; /* it follows a job, and goes with it */
} actions[PORTABLE_KIND_END] = {
	[PORTABLE_HEADER] = { add_header, false },
	[PORTABLE_SESSION] = { add_session, false },
	[PORTABLE_JOB] = { add_job, false },
	[PORTABLE_SITUATION] = { add_situation, true },
	[PORTABLE_PROCESS] = { add_process, true },
	[PORTABLE_RANK] = { add_rank, true },
	[PORTABLE_GAP] = { add_gap, true },
	[PORTABLE_LEFT_OUT] = { add_left_out, true },
	[PORTABLE_FILE] = { add_file, true },
	[PORTABLE_OBJECT] = { add_object, true },
	[PORTABLE_EDGE] = { add_edge, true },
	[PORTABLE_SHARD] = { add_shard, true },
	[PORTABLE_CHECKPOINT] = { add_checkpoint, true },
	[PORTABLE_CHECKPOINT_SHARD] = { add_checkpoint_shard, true },
	[PORTABLE_COLLECTION] = { add_collection, true },
	[PORTABLE_TAG] = { add_tag, true },
	[PORTABLE_GROUP] = { add_group, true },
	[PORTABLE_PART] = { add_part, true },
	[PORTABLE_LABEL] = { add_label, false },
	[PORTABLE_END] = { add_end, false },
};

static int find_kind(const char *name, struct roar_error *err)
{
	for (int kind = 0; kind < PORTABLE_KIND_END; kind++)
		if (strcmp(portable_tables[kind].name, name) == 0)
			return kind;
	return error_set(err, -EINVAL, "its kind '%.40s' is not known", name);
}

static int add_row(struct reader *r, int kind, const json_t *value,
		   struct roar_error *err)
{
	union portable_row row;
	int e;

	if (!r->began && kind != PORTABLE_HEADER)
		return error_set(err, -EINVAL,
				 "it is not the header of a portable record");
	if (r->ended)
		return error_set(err, -EINVAL, "it comes after the end");
	if (actions[kind].of_job && !r->has_job)
		return error_set(err, -EINVAL, "it belongs to no job");
	e = portable_row_decode(value, (enum portable_kind)kind, &r->pool, &row,
				err);
	if (e < 0 || (actions[kind].of_job && !r->job))
		return e;
	return actions[kind].add(r, &row, err);
}

static int add_line(struct reader *r, const char *line, size_t len,
		    struct roar_error *err)
{
	CLEANUP(json_decrefp) json_t *object = NULL;
	json_error_t error = { 0 };
	void *member;
	int kind;

	object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	/* jansson has no words for most failures of an allocation. */
	if (!object && (!error.text[0] ||
			json_error_code(&error) == json_error_out_of_memory))
		return error_set(err, -ENOMEM, "out of memory");
	if (!json_is_object(object) || json_object_size(object) != 1)
		return error_set(err, -EINVAL,
				 "it is not a JSON object with one key");
	member = json_object_iter(object);
	kind = find_kind(json_object_iter_key(member), err);
	return kind < 0 ? kind :
			  add_row(r, kind, json_object_iter_value(member), err);
}

/* Failures of the store keep their sentence, those of a line get its number. */
static int read_lines(struct reader *r, struct roar_error *err)
{
	struct roar_error why = { 0 };
	const char *line = NULL;
	size_t len = 0;
	int e;

	while ((e = next_line(r, &line, &len, &why)) > 0) {
		e = add_line(r, line, len, &why);
		pool_release(&r->pool);
		if (e < 0)
			break;
		r->n_lines++;
	}
	if (e == 0 && !r->ended) {
		e = -EINVAL;
		(void)error_set(&why, e, "the record is cut off here");
	}
	if (e == -EINVAL)
		return error_set(err, e,
				 "cannot import '%.200s': line %lld: %s",
				 r->in->name, (long long)r->n_lines + 1,
				 why.text);
	if (e < 0)
		return error_set(err, e, "cannot import '%.200s': %s",
				 r->in->name, why.text);
	return 0;
}

/* ---- all of it ---- */

bool portable_matches(const char *head, size_t len)
{
	static const char start[] = "{\"roar_record\":";
	size_t n = sizeof(start) - 1;

	return len >= n && memcmp(head, start, n) == 0;
}

/* The hashes of sessions are computed here, whatever the file says. */
static int seal_sessions(struct reader *r, struct roar_error *err)
{
	const struct store_session *session;
	size_t pos = 0;
	int e = 0;

	while (e == 0 && (session = map_next(&r->changed, &pos)))
		e = store_session_seal(r->store, session, err);
	return e;
}

int portable_read(struct store *s, const struct portable_input *in,
		  struct portable_result *ret, struct roar_error *err)
{
	struct reader r = { .store = s, .in = in };
	int e = store_begin(s, err);

	if (e < 0)
		return e;
	e = read_lines(&r, err);
	if (e == 0)
		e = seal_sessions(&r, err);
	if (e == 0)
		e = store_commit(s, err);
	if (e < 0)
		store_rollback(s);
	else
		*ret = r.result;
	str_release(&r.buffer);
	pool_release(&r.pool);
	pool_release(&r.keep);
	map_release(&r.changed);
	return e;
}
