/* store_session_hash.c - the content of a session as one hash.
 *
 * The hash covers the latest execution of every step.  It does not depend on superseded
 * attempts, times, directories, machines and filtered files.  Running the same steps to
 * the same contents elsewhere, or again here, gives the same hash.
 *
 * It is a chain.  The state starts as BLAKE3 of the 15 bytes "roar session 1\n"; each
 * record replaces it by
 *
 *	state = BLAKE3(state || record)		(32 bytes, then the record)
 *
 * and the last state is the hash.  Records, with kinds in bytewise order ("build"
 * before "run"), within a kind by ascending step:
 *
 *	"step" NUL kind NUL number NUL command NUL
 *	"input" NUL digest			for each content that was read
 *	"output" NUL digest			for each content that was made
 *
 * `number` is decimal ASCII; `command` is the command line as recorded; `digest` is the
 * 32 bytes of the content's BLAKE3, ascending and each once, inputs before outputs.
 * Files of other roles, filtered files and files of unknown content have no record.  No
 * part contains a NUL, so records are unambiguous. */
#include "store/store_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "hash/file/file_hash.h"
#include "lineage/fold.h"

/* Of a file; sorts as bytes. */
struct content {
	uint8_t role; /* LINEAGE_INPUT is less than LINEAGE_OUTPUT */
	uint8_t digest[BLAKE3_LEN];
};

struct chain {
	uint8_t state[BLAKE3_LEN];
	struct str buffer; /* state and record */
	struct content *content; /* of the job at hand */
	size_t n_content, cap_content;
};

struct step {
	char kind[8]; /* "build" or "run" */
	int64_t number;
};

static void chain_release(struct chain *c)
{
	str_release(&c->buffer);
	free(c->content);
}

/* Replaces the state by the hash of the buffer. */
static int turn(struct chain *c, struct roar_error *err)
{
	struct digests d = { 0 };
	int r = str_error(&c->buffer);

	if (r == 0)
		r = digest_buffer(c->buffer.data, c->buffer.len,
				  DIGEST_SET_BLAKE3, &d);
	if (r < 0)
		return error_set(err, r, "cannot hash a session: %s",
				 strerror(-r));
	memcpy(c->state, d.blake3, sizeof(c->state));
	return 0;
}

/* Begins a record: the state and the first field. */
static void record(struct chain *c, const char *tag)
{
	str_clear(&c->buffer);
	str_add(&c->buffer, c->state, sizeof(c->state));
	str_add(&c->buffer, tag, strlen(tag) + 1);
}

static int by_role_and_digest(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct content));
}

static int read_content(struct statement *q, struct chain *c,
			struct roar_error *err)
{
	int r;

	c->n_content = 0;
	while ((r = statement_next(q, err)) > 0) {
		struct content *content = VEC_PUSH(c->content, c->n_content,
						   c->cap_content);

		if (!content)
			return error_set(err, -ENOMEM, "out of memory");
		content->role = (uint8_t)column_int(q);
		if (!column_blob(q, content->digest, BLAKE3_LEN))
			return store_failure(q->s->path, SQLITE_CORRUPT, 0,
					     "a digest has a wrong length",
					     err);
	}
	return r;
}

/* What a job read, then what it made.  Sorted here: most jobs have a handful of
 * files, for which a sorter of SQLite costs more than the reading. */
static int add_content(struct store *s, int64_t job_id, struct chain *c,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_SESSION_CONTENT, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, LINEAGE_INPUT);
	statement_int(&q, LINEAGE_OUTPUT);
	r = read_content(&q, c, err);
	if (r == 0 && c->n_content > 1)
		qsort(c->content, c->n_content, sizeof(*c->content),
		      by_role_and_digest);
	for (size_t i = 0; r == 0 && i < c->n_content; i++) {
		const struct content *content = &c->content[i];

		if (i && !by_role_and_digest(content, content - 1))
			continue;
		record(c, content->role == LINEAGE_INPUT ? "input" : "output");
		str_add(&c->buffer, content->digest, BLAKE3_LEN);
		r = turn(c, err);
	}
	return r;
}

/* A step whose latest execution is `id`. */
static int add_step(struct store *s, int64_t id, const struct step *step,
		    struct chain *c, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t n_files;
	int r = statement_open(s, SQL_SESSION_STEP, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, id);
	r = statement_next(&q, err);
	if (r <= 0)
		return r;
	n_files = column_int(&q);

	record(c, "step");
	str_add(&c->buffer, step->kind, strlen(step->kind) + 1);
	str_addf(&c->buffer, "%lld", (long long)step->number);
	str_addc(&c->buffer, '\0');
	column_str(&q, &c->buffer);
	str_addc(&c->buffer, '\0');
	r = turn(c, err);
	if (r == 0 && n_files)
		r = add_content(s, id, c, err);
	return r;
}

/* The index has the latest execution of a step first; the others are passed
 * without reading them. */
static int add_steps(struct statement *q, struct chain *c,
		     struct roar_error *err)
{
	struct step last = { 0 };
	int r;

	while ((r = statement_next(q, err)) > 0) {
		struct step step = { 0 };
		int64_t id = column_int(q);

		column_chars(q, step.kind, sizeof(step.kind));
		step.number = column_int(q);
		if (step.number == last.number && !strcmp(step.kind, last.kind))
			continue;
		r = add_step(q->s, id, &step, c, err);
		if (r < 0)
			return r;
		last = step;
	}
	return r;
}

static int must_exist(struct store *s, int64_t id, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_SESSION_BY_ID, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, id);
	r = statement_next(&q, err);
	if (r != 0)
		return r < 0 ? r : 0;
	return error_set(err, -ENOENT,
			 "'%s' has no session %lld: 'roar log' lists them",
			 s->path, (long long)id);
}

int store_session_hash(struct store *s, int64_t session_id,
		       uint8_t ret_hash[BLAKE3_LEN], struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	CLEANUP(chain_release) struct chain c = { 0 };
	int r = must_exist(s, session_id, err);

	if (r == 0)
		r = statement_open(s, SQL_SESSION_STEPS, &q, err);
	if (r < 0)
		return r;
	str_adds(&c.buffer, "roar session 1\n");
	r = turn(&c, err);

	statement_int(&q, session_id);
	if (r == 0)
		r = add_steps(&q, &c, err);
	if (r < 0)
		return r;
	memcpy(ret_hash, c.state, sizeof(c.state));
	return 0;
}
