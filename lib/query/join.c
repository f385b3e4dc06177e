/* join.c - see join.h */
#include "query/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"
#include "hash/file/file_hash.h"
#include "query/query.h"
#include "store/store_edge.h"

enum {
	RANKS_MAX = 1 << 20, /* that are looked for */
	GROUP_LOOK = 1000, /* newest jobs that may have one */
	DETAIL_MAX = 200, /* bytes of a gap's detail */
};

static int fail_memory(struct roar_error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

/* ---- numbers as ranges ---- */

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorted numbers as "0-3,7". */
static const char *ranges(struct pool *pool, const int64_t *list, size_t n)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && list[end] <= list[end - 1] + 1)
			end++;
		str_addf(&out, "%s%lld", i ? "," : "", (long long)list[i]);
		if (list[end - 1] > list[i])
			str_addf(&out, "-%lld", (long long)list[end - 1]);
	}
	return str_error(&out) < 0 ? NULL : pool_strdup(pool, str_cstr(&out));
}

/* ---- the records of a group ---- */

struct candidate {
	struct join_part part;
	struct store_rank *ranks;
	size_t n_ranks;
	bool is_other; /* it belongs to another step of the group */
};

struct reading {
	struct query *query;
	struct candidate *list; /* newest first */
	size_t n;
	int64_t n_ranks, n_nodes; /* the largest that any record names */
	struct map have_ranks, have_nodes; /* number -> a candidate */
};

static int read_candidate(struct reading *r, int64_t id, struct candidate *c,
			  struct roar_error *err)
{
	struct query *q = r->query;
	int e = query_job(q, id, &c->part.job, err);

	if (e == 0 && !c->part.job)
		return error_set(err, -ENOENT, "the record has no job %lld",
				 (long long)id);
	if (e == 0)
		e = store_group(q->store, q->pool, id, &c->part.group, err);
	if (e == 0)
		e = store_ranks(q->store, q->pool, id, &c->ranks, &c->n_ranks,
				err);
	return e;
}

static int read_candidates(struct reading *r, const int64_t *ids, size_t n,
			   struct roar_error *err)
{
	r->list = pool_zalloc(r->query->pool, (n + 1) * sizeof(*r->list));
	if (!r->list)
		return fail_memory(err);
	for (size_t i = n; i-- > 0;) {
		int e = read_candidate(r, ids[i], &r->list[r->n++], err);

		if (e < 0)
			return e;
	}
	return 0;
}

/* Is it the only step of the group in its session? */
static bool is_alone(const struct reading *r, const struct store_job *job)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct store_job *other = r->list[i].part.job;

		if (other->session_id == job->session_id &&
		    (other->step != job->step ||
		     strcmp(other->kind, job->kind) != 0))
			return false;
	}
	return true;
}

/* A group may be a Slurm job with several steps.  The nodes of one step may differ in
 * their arguments: torchrun --node-rank. */
static bool is_same_step(const struct reading *r, const struct store_job *a,
			 const struct store_job *b)
{
	if (strcmp(a->command, b->command) == 0)
		return true;
	if (a->script[0] && strcmp(a->script, b->script) == 0)
		return true;
	if (a->name[0] && strcmp(a->name, b->name) == 0)
		return true;
	return a->session_id != b->session_id && is_alone(r, a) &&
	       is_alone(r, b);
}

/* Keeps the records of the step that the newest one belongs to. */
static void keep_step(struct reading *r)
{
	size_t n = 0;

	/* The list stays whole until all are compared. */
	for (size_t i = 0; i < r->n; i++)
		r->list[i].is_other = !is_same_step(r, r->list[0].part.job,
						    r->list[i].part.job);
	for (size_t i = 0; i < r->n; i++)
		if (!r->list[i].is_other)
			r->list[n++] = r->list[i];
	r->n = n;
}

static void find_size(struct reading *r)
{
	r->n_ranks = r->n_nodes = -1;
	for (size_t i = 0; i < r->n; i++) {
		const struct candidate *c = &r->list[i];

		if (c->part.group.n_nodes > r->n_nodes)
			r->n_nodes = c->part.group.n_nodes;
		for (size_t k = 0; k < c->n_ranks; k++)
			if (c->ranks[k].world_size > r->n_ranks)
				r->n_ranks = c->ranks[k].world_size;
	}
}

/* ---- which of them count ---- */

/* Adds a number; *ret_new: nobody had it. */
static int cover(struct map *have, struct pool *pool, int64_t number,
		 struct candidate *c, bool *ret_new)
{
	int64_t *key;

	if (map_get(have, &number, sizeof(number)))
		return 0;
	*ret_new = true;
	key = pool_alloc(pool, sizeof(*key));
	if (!key)
		return -ENOMEM;
	*key = number;
	return map_set(have, key, sizeof(*key), c);
}

/* Ranks of a smaller world are those of a launcher around the real one. */
static int add_ranks(struct reading *r, struct candidate *c, bool *ret_new,
		     bool *ret_known)
{
	struct pool *pool = r->query->pool;
	int64_t *list = pool_alloc(pool, (c->n_ranks + 1) * sizeof(*list));
	size_t n = 0;
	int e = list ? 0 : -ENOMEM;

	c->part.first_rank = INT64_MAX;
	for (size_t i = 0; e == 0 && i < c->n_ranks; i++) {
		const struct store_rank *rank = &c->ranks[i];

		if (rank->rank < 0 || rank->world_size != r->n_ranks)
			continue;
		list[n++] = rank->rank;
		e = cover(&r->have_ranks, pool, rank->rank, c, ret_new);
	}
	if (e < 0)
		return e;
	if (n) {
		qsort(list, n, sizeof(*list), by_number);
		c->part.first_rank = list[0];
		*ret_known = true;
	}
	c->part.ranks = ranges(pool, list, n);
	return c->part.ranks ? 0 : -ENOMEM;
}

/* Does the record add to what newer ones have?  One without numbers always does. */
static int is_needed(struct reading *r, struct candidate *c, bool *ret)
{
	bool added = false;
	bool known = c->part.group.node >= 0;
	int e = add_ranks(r, c, &added, &known);

	if (e == 0 && c->part.group.node >= 0)
		e = cover(&r->have_nodes, r->query->pool, c->part.group.node, c,
			  &added);
	*ret = added || !known;
	return e;
}

static int by_place(const void *a, const void *b)
{
	const struct join_part *x = a;
	const struct join_part *y = b;

	if (x->group.node != y->group.node)
		return x->group.node < y->group.node ? -1 : 1;
	if (x->first_rank != y->first_rank)
		return x->first_rank < y->first_rank ? -1 : 1;
	return (x->job->id > y->job->id) - (x->job->id < y->job->id);
}

static int choose(struct reading *r, struct join *ret, struct roar_error *err)
{
	ret->parts = pool_alloc(r->query->pool,
				(r->n + 1) * sizeof(*ret->parts));
	if (!ret->parts)
		return fail_memory(err);
	ret->n_parts = 0;
	ret->complete = true;
	for (size_t i = 0; i < r->n; i++) {
		bool needed;

		if (is_needed(r, &r->list[i], &needed) < 0)
			return fail_memory(err);
		if (!needed)
			continue;
		ret->parts[ret->n_parts++] = r->list[i].part;
		ret->complete &= r->list[i].part.job->complete;
	}
	qsort(ret->parts, ret->n_parts, sizeof(*ret->parts), by_place);
	return 0;
}

/* ---- what is missing ---- */

static int find_missing(struct reading *r, const struct map *have, int64_t n,
			const char *what, const char **ret)
{
	struct pool *pool = r->query->pool;
	int64_t *list;
	size_t n_missing = 0;
	const char *text;

	if (n > RANKS_MAX) {
		*ret = pool_printf(pool, "most %ss of %lld", what,
				   (long long)n);
		return *ret ? 0 : -ENOMEM;
	}
	list = pool_alloc(pool, ((size_t)n + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (int64_t i = 0; i < n; i++)
		if (!map_get(have, &i, sizeof(i)))
			list[n_missing++] = i;
	*ret = "";
	if (!n_missing)
		return 0;
	text = ranges(pool, list, n_missing);
	*ret = text ? pool_printf(pool, "%s%s %s of %lld", what,
				  n_missing == 1 ? "" : "s", text,
				  (long long)n) :
		      NULL;
	return *ret ? 0 : -ENOMEM;
}

static int judge(struct reading *r, struct join *ret, struct roar_error *err)
{
	int e = 0;

	ret->n_ranks = r->n_ranks;
	ret->n_nodes = r->n_nodes;
	if (r->n_ranks > 0)
		e = find_missing(r, &r->have_ranks, r->n_ranks, "rank",
				 &ret->missing);
	else if (r->n_nodes > 0)
		e = find_missing(r, &r->have_nodes, r->n_nodes, "node",
				 &ret->missing);
	else
		ret->missing = "an unknown number of nodes (roar run --node "
			       "I/N gives it)";
	if (e < 0)
		return fail_memory(err);
	ret->complete &= !ret->missing[0];
	return 0;
}

static void reading_release(struct reading *r)
{
	map_release(&r->have_ranks);
	map_release(&r->have_nodes);
}

int join_read(struct query *q, const char *group, struct join *ret,
	      struct roar_error *err)
{
	CLEANUP(reading_release) struct reading r = { .query = q };
	struct join join = { .group = group };
	int64_t *ids;
	size_t n;
	int e = store_group_parts(q->store, q->pool, group, &ids, &n, err);

	if (e == 0 && !n)
		return error_set(
			err, -ENOENT,
			"no recorded job belongs to the group '%.100s': "
			"import the records of its nodes first",
			group);
	if (e == 0)
		e = read_candidates(&r, ids, n, err);
	if (e < 0)
		return e;
	keep_step(&r);
	find_size(&r);
	e = choose(&r, &join, err);
	if (e == 0)
		e = judge(&r, &join, err);
	if (e == 0)
		*ret = join;
	return e;
}

int join_parts(struct query *q, int64_t job_id, struct join_part **ret,
	       size_t *ret_n, struct roar_error *err)
{
	CLEANUP(reading_release) struct reading r = { .query = q };
	struct join join = { 0 };
	int64_t *ids;
	size_t n;
	int e = store_parts(q->store, q->pool, job_id, &ids, &n, err);

	*ret_n = 0;
	if (e < 0 || !n)
		return e;
	e = read_candidates(&r, ids, n, err);
	if (e < 0)
		return e;
	find_size(&r);
	e = choose(&r, &join, err);
	*ret = join.parts;
	*ret_n = join.n_parts;
	return e;
}

int join_newest_group(struct query *q, const char **ret, struct roar_error *err)
{
	const struct store_job_query newest = { .limit = GROUP_LOOK };
	struct store_job *jobs;
	size_t n;
	int e = store_jobs(q->store, q->pool, &newest, &jobs, &n, err);

	*ret = "";
	for (size_t i = n; e == 0 && !(*ret)[0] && i-- > 0;) {
		struct store_group group;
		int64_t *parts;
		size_t n_parts;

		e = store_parts(q->store, q->pool, jobs[i].id, &parts, &n_parts,
				err);
		if (e < 0 || n_parts)
			continue;
		e = store_group(q->store, q->pool, jobs[i].id, &group, err);
		if (e == 0)
			*ret = group.id;
	}
	return e;
}

/* ---- the joined job ---- */

/* The same records make the same UID, so that they are joined once. */
static int make_uid(const struct join *join, char uid[9],
		    struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct digests d;
	int e;

	str_addf(&text, "roar join 1\n%s\n", join->group);
	for (size_t i = 0; i < join->n_parts; i++)
		str_addf(&text, "%s\n", join->parts[i].job->uid);
	e = str_error(&text);
	if (e == 0)
		e = digest_buffer(text.data, text.len, DIGEST_SET_BLAKE3, &d);
	if (e < 0)
		return fail_memory(err);
	digest_hex(uid, d.blake3, 4);
	return 0;
}

/* What the first node has, and the sums of all. */
static int fill_job(struct query *q, const struct join *join,
		    struct store_job *ret, struct roar_error *err)
{
	CLEANUP(str_release) struct str hosts = STR_INIT;

	*ret = *join->parts[0].job;
	ret->id = ret->step = ret->attempt = 0;
	ret->status = STORE_DONE;
	ret->exit_code = 0;
	ret->complete = join->complete;
	ret->tracer = "join";
	ret->n_processes = ret->cpu_user_ns = ret->cpu_system_ns = 0;
	ret->n_escaped = ret->n_lost = ret->n_edges_left_out = 0;
	ret->n_filtered = ret->attach_ns = 0;
	memset(ret->output_id, 0, sizeof(ret->output_id));
	for (size_t i = 0; i < join->n_parts; i++) {
		const struct store_job *part = join->parts[i].job;

		str_addf(&hosts, "%s%s", i ? ", " : "", part->host);
		ret->n_processes += part->n_processes;
		ret->cpu_user_ns += part->cpu_user_ns;
		ret->cpu_system_ns += part->cpu_system_ns;
		ret->n_escaped += part->n_escaped;
		ret->n_lost += part->n_lost;
		if (part->max_rss_kib > ret->max_rss_kib)
			ret->max_rss_kib = part->max_rss_kib;
		if (part->status == STORE_INTERRUPTED)
			ret->status = STORE_INTERRUPTED;
		if (!ret->exit_code)
			ret->exit_code = part->exit_code;
	}
	ret->host = str_error(&hosts) < 0 ?
			    NULL :
			    pool_strdup(q->pool, str_cstr(&hosts));
	return ret->host ? make_uid(join, ret->uid, err) : fail_memory(err);
}

/* A part in the session makes the joined job the next execution of its step. */
static int64_t part_in_session(const struct join *join, int64_t session_id)
{
	for (size_t i = 0; i < join->n_parts; i++)
		if (join->parts[i].job->session_id == session_id)
			return join->parts[i].job->id;
	return 0;
}

static int add_part_gaps(struct query *q, const struct join_part *part,
			 int64_t job_id, struct roar_error *err)
{
	struct store_gap *gaps;
	size_t n = 0;
	int e = store_gaps(q->store, q->pool, part->job->id, &gaps, &n, err);

	for (size_t i = 0; e == 0 && i < n; i++) {
		gaps[i].detail = pool_printf(q->pool, "%s %s%s%.*s",
					     part->job->host, part->job->uid,
					     gaps[i].detail[0] ? ": " : "",
					     DETAIL_MAX, gaps[i].detail);
		if (!gaps[i].detail)
			return fail_memory(err);
		e = store_gap_add(q->store, job_id, &gaps[i], err);
	}
	return e;
}

static int add_gaps(struct query *q, const struct join *join, int64_t job_id,
		    struct roar_error *err)
{
	struct store_gap missing = { EVENT_GAP_NODE, join->missing, 1 };
	int e = 0;

	if (join->missing[0])
		e = store_gap_add(q->store, job_id, &missing, err);
	for (size_t i = 0; e == 0 && i < join->n_parts; i++)
		e = add_part_gaps(q, &join->parts[i], job_id, err);
	return e;
}

static int find_uid(struct query *q, const char *uid,
		    const struct store_job **ret, struct roar_error *err)
{
	const struct store_job_query query = { .uid_prefix = uid };
	struct store_job *jobs;
	size_t n;
	int e = store_jobs(q->store, q->pool, &query, &jobs, &n, err);

	*ret = e == 0 && n ? jobs : NULL;
	return e;
}

int join_add(struct query *q, const struct join *join, int64_t session_id,
	     const struct store_job **ret, struct roar_error *err)
{
	const struct store_group group = { join->group, -1, join->n_nodes };
	int64_t *parts = pool_alloc(q->pool, join->n_parts * sizeof(*parts));
	struct store_job *job = pool_alloc(q->pool, sizeof(*job));
	int e = job && parts ? fill_job(q, join, job, err) : fail_memory(err);

	if (e == 0)
		e = find_uid(q, job->uid, ret, err);
	if (e < 0 || *ret)
		return e;
	for (size_t i = 0; i < join->n_parts; i++)
		parts[i] = join->parts[i].job->id;
	job->session_id = session_id;
	job->rerun_of = part_in_session(join, session_id);
	e = store_job_place(q->store, job, err);
	if (e == 0)
		e = store_join(q->store, job, &group, parts, join->n_parts,
			       err);
	if (e == 0)
		e = add_gaps(q, join, job->id, err);
	if (e < 0)
		return e;
	*ret = job;
	return 1;
}
