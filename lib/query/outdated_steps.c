/* outdated_steps.c - see outdated_steps.h */
#include "query/outdated_steps.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/pool.h"
#include "lineage/fold.h"
#include "query/pipeline.h"
#include "store/store.h"

/* Does the file at the path of that input differ from what should be there? */
static bool differs(const struct pipeline *p, struct presence_look *look,
		    const struct store_file *row, bool *ret_missing)
{
	const struct store_file *left = map_get(&p->written, row->path,
						strlen(row->path));
	enum presence there;

	/* What a job has left there since then is what should be there. */
	if (left && left->job_id >= row->job_id &&
	    presence_check(look, left) != PRESENCE_CHANGED)
		return false;
	there = presence_check(look, row);
	/* A result that was removed can be made again, and what a job removed or moved
	 * is where the record says. */
	*ret_missing = there == PRESENCE_MISSING && !left &&
		       !(row->seen & (LINEAGE_REMOVED | LINEAGE_MOVED_AWAY)) &&
		       !pipeline_moved_away(p, row);
	return there == PRESENCE_CHANGED || *ret_missing;
}

static void check_rows(const struct pipeline *p, struct presence_look *look,
		       const struct map *nodes)
{
	struct outdated_step *node = NULL;
	int64_t job_id = 0; /* of that node: rows are in the order of jobs */

	for (size_t i = 0; i < p->n_files; i++) {
		const struct store_file *row = &p->files[i];

		if (!(row->role & LINEAGE_INPUT) || !row->artifact_id)
			continue;
		if (row->job_id != job_id)
			node = map_get(nodes, &row->job_id,
				       sizeof(row->job_id));
		job_id = row->job_id;
		if (node && !node->input &&
		    differs(p, look, row, &node->missing))
			node->input = row;
	}
}

int outdated_steps_find(const struct pipeline *p, struct presence_look *look,
			struct pool *pool, struct outdated_steps *ret)
{
	CLEANUP(map_release) struct map nodes = MAP_INIT;

	*ret = (struct outdated_steps){ 0 };
	ret->nodes = pool_zalloc(pool, (p->n_nodes + 1) * sizeof(*ret->nodes));
	if (!ret->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct store_outline *job = pipeline_outline(p, i);
		const int64_t *id = &job->id;

		if (p->nodes[i].state != GRAPH_SUPERSEDED && !job->is_joined &&
		    map_set(&nodes, id, sizeof(*id), &ret->nodes[i]) < 0)
			return -ENOMEM;
	}
	check_rows(p, look, &nodes);
	for (size_t i = 0; i < p->n_nodes; i++)
		ret->n += outdated_steps_has(ret, p, i);
	return 0;
}

bool outdated_steps_has(const struct outdated_steps *o,
			const struct pipeline *p, size_t node)
{
	return o->nodes[node].input && p->nodes[node].state != GRAPH_STALE;
}

const char *outdated_steps_state(const struct outdated_steps *o,
				 const struct pipeline *p, size_t node)
{
	return outdated_steps_has(o, p, node) ?
		       "outdated" :
		       graph_state_name(p->nodes[node].state);
}
