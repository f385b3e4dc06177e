/* store_session.c - sessions: everything since the last reset. */
#include "store/store_internal.h"

#include <errno.h>
#include <sys/random.h>

#include "base/clock.h"

static void read_session(struct statement *q, struct store_session *ret)
{
	ret->id = column_int(q);
	column_chars(q, ret->uid, sizeof(ret->uid));
	ret->created_ns = column_int(q);
	ret->closed_ns = column_int(q);
	ret->n_jobs = column_int(q);
	ret->n_steps = column_int(q);
	ret->n_build_steps = column_int(q);
	ret->n_files = column_int(q);
	ret->has_hash = column_blob(q, ret->hash, BLAKE3_LEN);
	ret->imported_ns = column_int(q);
}

/* 1 and the active session, or 0. */
static int find_active(struct store *s, struct store_session *ret,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_SESSION_ACTIVE, &q, err);

	if (r == 0)
		r = statement_next(&q, err);
	if (r > 0)
		read_session(&q, ret);
	return r;
}

static int random_uid(char uid[17], struct roar_error *err)
{
	uint8_t bytes[8];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return error_set(err, -EIO, "the system gave no random bytes");
	digest_hex(uid, bytes, sizeof(bytes));
	return 0;
}

static int add_session(struct store *s, struct store_session *ret,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct store_session new = { .created_ns = clock_now_ns() };
	int r = store_must_write(s, err);

	if (r == 0)
		r = random_uid(new.uid, err);
	if (r == 0)
		r = statement_open(s, SQL_SESSION_ADD, &q, err);
	if (r < 0)
		return r;
	statement_text(&q, new.uid);
	statement_int(&q, new.created_ns);
	r = statement_run(&q, err);
	if (r < 0)
		return r;
	new.id = sqlite3_last_insert_rowid(s->db);
	*ret = new;
	return 0;
}

int store_session_active(struct store *s, bool create,
			 struct store_session *ret, struct roar_error *err)
{
	int r = find_active(s, ret, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (create)
		return add_session(s, ret, err);
	return error_set(err, -ENOENT,
			 "'%s' has no active session: 'roar run' starts one",
			 s->path);
}

int store_session_seal(struct store *s, const struct store_session *session,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	uint8_t hash[BLAKE3_LEN];
	int r = store_session_hash(s, session->id, hash, err);

	if (r == 0)
		r = statement_open(s, SQL_SESSION_CLOSE, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, session->id);
	statement_int(&q, session->closed_ns);
	statement_blob(&q, hash, BLAKE3_LEN);
	return statement_run(&q, err);
}

int store_session_by_uid(struct store *s, const char *uid,
			 struct store_session *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_SESSION_BY_UID, &q, err);

	if (r < 0)
		return r;
	statement_text(&q, uid);
	r = statement_next(&q, err);
	if (r > 0)
		read_session(&q, ret);
	return r;
}

int store_session_import(struct store *s, struct store_session *session,
			 struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_SESSION_IMPORT, &q, err);
	if (r < 0)
		return r;
	session->imported_ns = clock_now_ns();
	if (!session->closed_ns)
		session->closed_ns = session->imported_ns;
	statement_text(&q, session->uid);
	statement_int(&q, session->created_ns);
	statement_int(&q, session->closed_ns);
	statement_int(&q, session->imported_ns);
	r = statement_run(&q, err);
	if (r == 0)
		session->id = sqlite3_last_insert_rowid(s->db);
	return r;
}

int store_session_reset(struct store *s, struct store_session *ret_old,
			struct store_session *ret_new, struct roar_error *err)
{
	struct store_session old = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = find_active(s, &old, err);
	if (r > 0) {
		old.closed_ns = clock_now_ns();
		r = store_session_seal(s, &old, err);
	}
	if (r == 0)
		r = add_session(s, ret_new, err);
	if (r == 0)
		*ret_old = old;
	return r;
}

int store_sessions(struct store *s, struct pool *pool,
		   struct store_session **ret, size_t *ret_n,
		   struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_SESSIONS, &q, err);

	while (r >= 0 && (r = statement_next(&q, err)) > 0) {
		struct store_session *session = rows_push(&rows);

		if (!session)
			return error_set(err, -ENOMEM, "out of memory");
		read_session(&q, session);
	}
	if (r < 0)
		return r;
	*ret = (struct store_session *)rows.data;
	*ret_n = rows.n;
	return 0;
}
