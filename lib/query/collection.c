/* collection.c - see collection.h */
#include "query/collection.h"

#include <string.h>

#include "lineage/fold.h"
#include "query/query.h"

/* One of the two streams. */
struct side {
	struct store_members *members;
	struct store_member now;
	int more; /* 1: `now` is valid; 0: at the end */
};

static int open_side(struct query *q, int64_t id, struct side *s,
		     struct roar_error *err)
{
	int r = store_members_open(q->store, id, 0, &s->members, err);

	if (r == 0)
		s->more = r = store_members_next(s->members, &s->now, err);
	return r < 0 ? r : 0;
}

static int advance(struct side *s, struct roar_error *err)
{
	s->more = store_members_next(s->members, &s->now, err);
	return s->more < 0 ? s->more : 0;
}

struct merge {
	struct side before, after;
	member_change_fn fn;
	void *ctx;
	struct member_diff *counts;
};

static int report(struct merge *m, enum member_change change)
{
	if (!m->fn)
		return 0;
	return m->fn(m->ctx, change,
		     change == MEMBER_ADDED ? NULL : &m->before.now,
		     change == MEMBER_REMOVED ? NULL : &m->after.now);
}

/* The smaller name of the two, or both if they are equal. */
static int take_one(struct merge *m, struct roar_error *err)
{
	int order = !m->before.more ?
			    1 :
		    !m->after.more ?
			    -1 :
			    strcmp(m->before.now.name, m->after.now.name);
	int r = 0;

	if (order < 0) {
		m->counts->n_removed++;
		r = report(m, MEMBER_REMOVED);
	} else if (order > 0) {
		m->counts->n_added++;
		r = report(m, MEMBER_ADDED);
	} else if (memcmp(m->before.now.blake3, m->after.now.blake3,
			  BLAKE3_LEN) != 0) {
		m->counts->n_changed++;
		r = report(m, MEMBER_CHANGED);
	} else {
		m->counts->n_same++;
	}
	if (r >= 0 && order <= 0)
		r = advance(&m->before, err);
	if (r >= 0 && order >= 0)
		r = advance(&m->after, err);
	return r;
}

int collection_diff(struct query *q, int64_t before, int64_t after,
		    member_change_fn fn, void *ctx, struct member_diff *ret,
		    struct roar_error *err)
{
	struct member_diff counts = { 0 };
	struct merge m = { .fn = fn, .ctx = ctx, .counts = &counts };
	int r = open_side(q, before, &m.before, err);

	if (r >= 0)
		r = open_side(q, after, &m.after, err);
	while (r >= 0 && (m.before.more || m.after.more))
		r = take_one(&m, err);
	store_members_close(m.before.members);
	store_members_close(m.after.members);
	if (r < 0)
		return r;
	*ret = counts;
	return 0;
}

int collection_maker(struct query *q, int64_t id, const char *path,
		     const struct store_job **ret, struct roar_error *err)
{
	struct store_collection_use *uses;
	int64_t newest = 0;
	int64_t there = 0;
	size_t n;
	int r;

	*ret = NULL;
	r = store_collection_uses(q->store, q->pool, id, &uses, &n, err);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (uses[i].role != LINEAGE_OUTPUT)
			continue;
		if (!newest)
			newest = uses[i].job_id;
		if (!there && path && !strcmp(uses[i].path, path))
			there = uses[i].job_id;
	}
	if (r < 0 || !newest)
		return r;
	return query_job(q, there ? there : newest, ret, err);
}

bool collection_has_path(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/';
}
