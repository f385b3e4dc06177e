/* store_member.c - the members of collections, as a stream.
 *
 * They are rows of their own, or files of a job below the directory that it used.  Both
 * are read by the same columns: path, artifact, size, digest, members of a nested
 * collection. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "hash/dir/dir_hash.h"
#include "store/store_collection.h"
#include "store/store_internal.h"

#define MEMBER_COLUMNS                                         \
	"SELECT p.path, a.id, a.size, a.blake3, "              \
	"coalesce((SELECT n_members FROM collections x WHERE " \
	"x.id = a.id), 0) "

static const char stored_members[] = MEMBER_COLUMNS
	"FROM collection_members m "
	"CROSS JOIN paths p ON p.id = m.path_id "
	"CROSS JOIN artifacts a ON a.id = m.artifact_id "
	"WHERE m.collection_id = ?1 ORDER BY m.n";

/* All paths below a directory are between DIR/ and DIR0.  The content of a member was
 * identified, or there would be no collection. */
#define USED_MEMBERS                                               \
	MEMBER_COLUMNS "FROM job_files f "                         \
		       "CROSS JOIN paths p ON p.id = f.path_id "   \
		       "CROSS JOIN artifacts a ON a.id = "         \
		       "f.artifact_id WHERE f.job_id = ?1 AND "    \
		       "f.role = ?2 AND f.filter = 0 AND f.ftype " \
		       "<> 2 AND p.path > ?3 || '/' AND p.path < " \
		       "?3 || '0'"

struct store_members {
	struct statement q;
	struct str dir; /* bound to the statement */
	struct str path; /* of the current one */
	size_t prefix;
};

int store_members_begin(struct store *s, int64_t id, size_t prefix,
			struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_MEMBERS_BEGIN, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, id);
	statement_int(&q, (int64_t)prefix);
	r = statement_run(&q, err);
	return r < 0 ? r : sqlite3_changes(s->db) > 0;
}

int store_member_add(struct store *s, int64_t id, int64_t n, const char *path,
		     int64_t size, const uint8_t blake3[BLAKE3_LEN],
		     struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t artifact_id = 0;
	int64_t path_id = 0;
	int r = store_path_intern(s, path, &path_id, err);

	if (r == 0)
		r = store_content_intern(s, blake3, size, &artifact_id, err);
	if (r == 0)
		r = statement_open(s, SQL_MEMBER_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, id);
	statement_int(&q, n);
	statement_int(&q, path_id);
	statement_int(&q, artifact_id);
	return statement_run(&q, err);
}

/* ---- reading ---- */

static int find_prefix(struct store *s, int64_t id, int64_t *ret,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_MEMBERS_PREFIX, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, id);
	return statement_one(&q, -1, ret, err);
}

static int open_stored(struct store *s, int64_t id, struct store_members *m,
		       struct roar_error *err)
{
	int r = statement_prepare(s, stored_members, &m->q, err);

	if (r == 0)
		statement_int(&m->q, id);
	return r;
}

/* The files of one job below the directory in m->dir. */
static int open_files(struct store *s, int64_t job_id, int64_t role,
		      unsigned flags, struct store_members *m,
		      struct roar_error *err)
{
	int r;

	if (str_error(&m->dir) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	m->prefix = m->dir.len + 1;
	r = statement_prepare(s,
			      flags & STORE_MEMBERS_ANY_ORDER ? USED_MEMBERS :
								USED_MEMBERS
				      " ORDER BY p.path",
			      &m->q, err);
	if (r < 0)
		return r;
	statement_int(&m->q, job_id);
	statement_int(&m->q, role);
	statement_text(&m->q, str_cstr(&m->dir));
	return 0;
}

/* Those of the newest job that used it. */
static int open_used(struct store *s, int64_t id, unsigned flags,
		     struct store_members *m, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement use = { 0 };
	int64_t job_id;
	int64_t role;
	int r = statement_open(s, SQL_MEMBERS_SOURCE, &use, err);

	if (r < 0)
		return r;
	statement_int(&use, id);
	r = statement_next(&use, err);
	if (r <= 0)
		return r; /* there are no members */
	job_id = column_int(&use);
	role = column_int(&use);
	column_str(&use, &m->dir);
	return open_files(s, job_id, role, flags, m, err);
}

int store_members_open(struct store *s, int64_t id, unsigned flags,
		       struct store_members **ret, struct roar_error *err)
{
	CLEANUP(store_members_closep) struct store_members *m = NULL;
	int64_t prefix;
	int r;

	m = calloc(1, sizeof(*m));
	if (!m)
		return error_set(err, -ENOMEM, "out of memory");
	r = find_prefix(s, id, &prefix, err);
	if (r < 0)
		return r;
	m->prefix = prefix < 0 ? 0 : (size_t)prefix;
	r = prefix < 0 ? open_used(s, id, flags, m, err) :
			 open_stored(s, id, m, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m);
	return 0;
}

int store_members_next(struct store_members *m, struct store_member *ret,
		       struct roar_error *err)
{
	int r = m->q.stmt ? statement_next(&m->q, err) : 0;

	if (r <= 0)
		return r;
	str_clear(&m->path);
	column_str(&m->q, &m->path);
	if (str_error(&m->path) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	*ret = (struct store_member){
		.name = str_cstr(&m->path) +
			(m->prefix < m->path.len ? m->prefix : 0),
		.artifact_id = column_int(&m->q),
		.size = column_int(&m->q),
	};
	(void)column_blob(&m->q, ret->blake3, sizeof(ret->blake3));
	ret->n_members = column_int(&m->q);
	return 1;
}

void store_members_close(struct store_members *m)
{
	if (!m)
		return;
	statement_close(&m->q);
	str_release(&m->dir);
	str_release(&m->path);
	free(m);
}

/* ---- checking ---- */

struct check {
	struct store_members members;
	struct store_member now;
	struct roar_error *err;
};

static int next_leaf(void *ctx, size_t i, const char **ret_path,
		     size_t *ret_len, uint8_t ret_blake3[BLAKE3_LEN])
{
	struct check *c = ctx;
	int r = store_members_next(&c->members, &c->now, c->err);

	(void)i;
	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	*ret_path = c->now.name;
	*ret_len = strlen(c->now.name);
	memcpy(ret_blake3, c->now.blake3, BLAKE3_LEN);
	return 0;
}

int store_collection_use_check(struct store *s,
			       const struct store_collection_use *use,
			       struct roar_error *err)
{
	struct check c = { .err = err };
	uint8_t tree[BLAKE3_LEN];
	int r;

	str_adds(&c.members.dir, use->path);
	r = open_files(s, use->job_id, use->role, 0, &c.members, err);
	if (r == 0)
		r = dir_hash_of_leaves((size_t)use->collection.n_members,
				       next_leaf, &c, tree);
	if (r == 0)
		r = store_members_next(&c.members, &c.now, err);
	if (r == 0)
		r = memcmp(tree, use->collection.blake3, BLAKE3_LEN) != 0;
	statement_close(&c.members.q);
	str_release(&c.members.dir);
	str_release(&c.members.path);
	if (r > 0 || r == -EBADMSG || r == -EINVAL || r == -EILSEQ)
		return error_set(err, -EBADMSG,
				 "a collection does not have the files of its "
				 "job below its path");
	return r;
}
