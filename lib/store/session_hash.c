/* session_hash.c - what a session amounts to, as one hash.
 *
 * The hash covers the latest execution of every step: superseded attempts, times,
 * places, machines and filtered files leave no trace in it.  Running the same
 * steps to the same contents elsewhere, or once more here, gives the same hash.
 *
 * It is a chain.  The state starts as BLAKE3 of the 15 bytes "roar session 1\n";
 * each record replaces it by
 *
 *	state = BLAKE3(state || record)		(32 bytes, then the record)
 *
 * and the last state is the hash.  Records, with kinds in bytewise order
 * ("build" before "run"), within a kind by ascending step:
 *
 *	"step" NUL kind NUL number NUL command NUL
 *	"input" NUL digest			for each content that was read
 *	"output" NUL digest			for each content that was made
 *
 * `number` is decimal ASCII; `command` is the command line as recorded; `digest`
 * is the 32 bytes of the content's BLAKE3, ascending and each once, inputs
 * before outputs.  Files of other roles, files a filter took and files whose
 * content is not known have no record.  No part contains a NUL, so records
 * cannot be mistaken for each other. */
#include "store/store_internal.h"

#include <errno.h>
#include <string.h>

#include "base/pool.h"
#include "base/str.h"
#include "hash/file_hash.h"
#include "lineage/fold.h"

struct chain {
	uint8_t state[BLAKE3_LEN];
	struct str buffer; /* state and record */
};

static void chain_release(struct chain *c)
{
	str_release(&c->buffer);
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

static int add_content(struct store *s, int64_t job_id, int role,
		       const char *tag, struct chain *c, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	uint8_t digest[BLAKE3_LEN];
	int r = query_open(s, SQL_SESSION_CONTENT, &q, err);

	if (r < 0)
		return r;
	query_int(&q, job_id);
	query_int(&q, role);
	while ((r = query_next(&q, err)) > 0) {
		if (!column_blob(&q, digest, sizeof(digest)))
			return store_failure(s->path, SQLITE_CORRUPT, 0,
					     "a digest has a wrong length",
					     err);
		record(c, tag);
		str_add(&c->buffer, digest, sizeof(digest));
		r = turn(c, err);
		if (r < 0)
			return r;
	}
	return r;
}

/* The step in the current row of `q`. */
static int add_step(struct query *q, struct chain *c, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	int64_t id = column_int(q);
	const char *kind = column_text(q, &pool);
	int64_t number = column_int(q);
	const char *command = column_text(q, &pool);
	int r;

	record(c, "step");
	str_add(&c->buffer, kind, strlen(kind) + 1);
	str_addf(&c->buffer, "%lld", (long long)number);
	str_addc(&c->buffer, '\0');
	str_add(&c->buffer, command, strlen(command) + 1);
	r = turn(c, err);
	if (r == 0)
		r = add_content(q->s, id, LINEAGE_INPUT, "input", c, err);
	if (r == 0)
		r = add_content(q->s, id, LINEAGE_OUTPUT, "output", c, err);
	return r;
}

static int must_exist(struct store *s, int64_t id, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = query_open(s, SQL_SESSION_BY_ID, &q, err);

	if (r < 0)
		return r;
	query_int(&q, id);
	r = query_next(&q, err);
	if (r != 0)
		return r < 0 ? r : 0;
	return error_set(err, -ENOENT,
			 "'%s' has no session %lld: 'roar log' lists them",
			 s->path, (long long)id);
}

int store_session_hash(struct store *s, int64_t session_id,
		       uint8_t ret_hash[BLAKE3_LEN], struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	CLEANUP(chain_release) struct chain c = { 0 };
	int r = must_exist(s, session_id, err);

	if (r == 0)
		r = query_open(s, SQL_SESSION_STEPS, &q, err);
	if (r < 0)
		return r;
	str_adds(&c.buffer, "roar session 1\n");
	r = turn(&c, err);

	query_int(&q, session_id);
	while (r == 0 && (r = query_next(&q, err)) > 0)
		r = add_step(&q, &c, err);
	if (r < 0)
		return r;
	memcpy(ret_hash, c.state, sizeof(c.state));
	return 0;
}
