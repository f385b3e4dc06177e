/* store_situation.c - documents about the situation of a job, shared by content. */
#include "store/store_situation.h"

#include <string.h>

#include "hash/file/file_hash.h"
#include "store/store_internal.h"

/* The row of that document, added when it is new. */
static int intern(struct store *s, enum situation_kind kind, const char *json,
		  size_t len, int64_t *ret_id, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement find = { 0 };
	CLEANUP(statement_close) struct statement add = { 0 };
	struct digests d;
	int r;

	r = digest_buffer(json, len, DIGEST_SET_BLAKE3, &d);
	if (r < 0)
		return error_set(err, r, "out of memory");
	r = statement_open(s, SQL_SITUATION_FIND, &find, err);
	if (r < 0)
		return r;
	statement_int(&find, kind);
	statement_blob(&find, d.blake3, sizeof(d.blake3));
	r = statement_one(&find, 0, ret_id, err);
	if (r < 0 || *ret_id)
		return r;
	r = statement_open(s, SQL_SITUATION_ADD, &add, err);
	if (r < 0)
		return r;
	statement_int(&add, kind);
	statement_blob(&add, d.blake3, sizeof(d.blake3));
	statement_text(&add, json);
	r = statement_run(&add, err);
	if (r == 0)
		*ret_id = sqlite3_last_insert_rowid(s->db);
	return r;
}

int store_situation_add(struct store *s, int64_t job_id,
			enum situation_kind kind, const char *json,
			struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t id = 0;
	int r = store_must_write(s, err);

	if (r == 0)
		r = intern(s, kind, json, strlen(json), &id, err);
	if (r == 0)
		r = statement_open(s, SQL_JOB_SITUATION_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, kind);
	statement_int(&q, id);
	return statement_run(&q, err);
}

int store_situation(struct store *s, struct pool *pool, int64_t job_id,
		    enum situation_kind kind, const char **ret_json,
		    struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_JOB_SITUATION, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, kind);
	r = statement_next(&q, err);
	if (r < 0)
		return r;
	*ret_json = r ? column_text(&q, pool) : NULL;
	return 0;
}
