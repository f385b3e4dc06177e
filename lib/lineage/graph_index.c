/* graph_index.c - see graph_internal.h */
#include "lineage/graph_internal.h"

#include <assert.h>
#include <string.h>

/* The number of a key, given out in the order of first sight.  Values of a map
 * are never NULL, so number n is the pointer n + 1.  `key` must live on when it
 * is new. */
static int number(struct map *map, const void *key, size_t len, uint32_t *n,
		  uint32_t *ret)
{
	uintptr_t known = (uintptr_t)map_get(map, key, len);

	if (known) {
		*ret = (uint32_t)(known - 1);
		return 0;
	}
	*ret = *n;
	if (map_set(map, key, len, (void *)((uintptr_t)*n + 1)) < 0)
		return -ENOMEM;
	(*n)++;
	return 0;
}

/* ---- jobs and steps ---- */

struct step_key {
	int64_t step;
	int64_t is_build; /* as wide as the other: no padding in a key */
};

static void add_to_step(struct graph *g, uint32_t step, uint32_t job)
{
	struct step *s = &g->steps[step];

	if (!s->n_jobs) {
		s->first = job;
		s->previous = GRAPH_NONE;
	} else {
		s->previous = s->latest;
	}
	s->latest = job;
	g->job_step[job] = step;
	g->job_attempt[job] = ++s->n_jobs;
}

static int number_steps(struct graph *g)
{
	CLEANUP(map_release) struct map map = MAP_INIT;
	struct step_key *keys = graph_array(g, g->n_jobs, sizeof(*keys));

	g->steps = graph_array(g, g->n_jobs, sizeof(*g->steps));
	g->job_step = graph_array(g, g->n_jobs, sizeof(*g->job_step));
	g->job_attempt = graph_array(g, g->n_jobs, sizeof(*g->job_attempt));
	if (!keys || !g->steps || !g->job_step || !g->job_attempt)
		return -ENOMEM;
	for (uint32_t j = 0; j < g->n_jobs; j++) {
		uint32_t step;

		keys[j].step = g->jobs[j].step;
		keys[j].is_build = g->jobs[j].is_build;
		if (number(&map, &keys[j], sizeof(keys[j]), &g->n_steps,
			   &step) < 0)
			return -ENOMEM;
		add_to_step(g, step, j);
	}
	return 0;
}

/* ---- rows ---- */

/* Rows in the order of their jobs; those of one job keep theirs. */
static int order_rows(struct graph *g, const struct graph_file *files,
		      size_t n_files, const uint32_t *job_of)
{
	uint32_t *next = graph_array(g, g->n_jobs, sizeof(*next));

	g->job_rows = graph_array(g, (size_t)g->n_jobs + 1,
				  sizeof(*g->job_rows));
	g->rows = graph_array(g, n_files, sizeof(*g->rows));
	if (!next || !g->job_rows || !g->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n_files; i++)
		if (job_of[i] != GRAPH_NONE)
			g->job_rows[job_of[i] + 1]++;
	for (uint32_t j = 0; j < g->n_jobs; j++) {
		next[j] = g->job_rows[j];
		g->job_rows[j + 1] += g->job_rows[j];
	}
	for (size_t i = 0; i < n_files; i++) {
		if (job_of[i] == GRAPH_NONE)
			continue;
		g->rows[next[job_of[i]]++] = (struct row){ .file = &files[i],
							   .job = job_of[i] };
	}
	g->n_rows = g->job_rows[g->n_jobs];
	return 0;
}

static int add_rows(struct graph *g, const struct graph_file *files,
		    size_t n_files)
{
	CLEANUP(map_release) struct map map = MAP_INIT;
	uint32_t *job_of = graph_array(g, n_files, sizeof(*job_of));

	if (!job_of)
		return -ENOMEM;
	for (uint32_t j = 0; j < g->n_jobs; j++) {
		uintptr_t value = (uintptr_t)j + 1;

		if (map_set(&map, &g->jobs[j].id, sizeof(g->jobs[j].id),
			    (void *)value) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < n_files; i++) {
		uintptr_t j = (uintptr_t)map_get(&map, &files[i].job_id,
						 sizeof(files[i].job_id));

		job_of[i] = j ? (uint32_t)(j - 1) : GRAPH_NONE;
	}
	return order_rows(g, files, n_files, job_of);
}

/* ---- numbers of paths, contents and pairs ---- */

static int number_paths(struct graph *g)
{
	CLEANUP(map_release) struct map map = MAP_INIT;

	for (uint32_t i = 0; i < g->n_rows; i++) {
		const char *path = g->rows[i].file->path;

		if (number(&map, path, strlen(path), &g->n_paths,
			   &g->rows[i].path) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int number_contents(struct graph *g)
{
	CLEANUP(map_release) struct map map = MAP_INIT;

	for (uint32_t i = 0; i < g->n_rows; i++) {
		const int64_t *artifact = &g->rows[i].file->artifact;

		g->rows[i].content = GRAPH_NONE;
		if (*artifact && number(&map, artifact, sizeof(*artifact),
					&g->n_contents, &g->rows[i].content) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int number_pairs(struct graph *g)
{
	CLEANUP(map_release) struct map map = MAP_INIT;

	_Static_assert(offsetof(struct row, content) ==
			       offsetof(struct row, path) + sizeof(uint32_t),
		       "path and content are the key");
	g->pair_row = graph_array(g, g->n_rows, sizeof(*g->pair_row));
	if (!g->pair_row)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_rows; i++) {
		uint32_t before = g->n_pairs;

		if (number(&map, &g->rows[i].path, 2 * sizeof(uint32_t),
			   &g->n_pairs, &g->rows[i].pair) < 0)
			return -ENOMEM;
		if (g->n_pairs > before)
			g->pair_row[before] = i;
	}
	return 0;
}

/* ---- groups ---- */

int graph_group(struct graph *g, const uint32_t *keys, const uint32_t *values,
		uint32_t n, uint32_t n_groups, struct groups *ret)
{
	uint32_t *next = graph_array(g, n_groups, sizeof(*next));

	ret->n = n_groups;
	ret->start = graph_array(g, (size_t)n_groups + 1, sizeof(*ret->start));
	ret->items = graph_array(g, n, sizeof(*ret->items));
	if (!next || !ret->start || !ret->items)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (keys[i] != GRAPH_NONE)
			ret->start[keys[i] + 1]++;
	for (uint32_t k = 0; k < n_groups; k++) {
		next[k] = ret->start[k];
		ret->start[k + 1] += ret->start[k];
	}
	for (uint32_t i = 0; i < n; i++)
		if (keys[i] != GRAPH_NONE)
			ret->items[next[keys[i]]++] = values[i];
	return 0;
}

static uint32_t step_of_item(const struct graph *g, const struct groups *groups,
			     uint32_t at)
{
	return g->job_step[g->rows[groups->items[at]].job];
}

static int find_others(struct graph *g, struct groups *groups)
{
	uint32_t n = groups->start[groups->n];

	groups->other = graph_array(g, n, sizeof(*groups->other));
	if (!groups->other)
		return -ENOMEM;
	for (uint32_t k = 0; k < groups->n; k++) {
		for (uint32_t i = groups->start[k] + 1;
		     i < groups->start[k + 1]; i++) {
			bool same = step_of_item(g, groups, i) ==
				    step_of_item(g, groups, i - 1);

			groups->other[i] = same ? groups->other[i - 1] : i;
		}
	}
	return 0;
}

static int group_outputs(struct graph *g)
{
	uint32_t *rows = graph_array(g, g->n_rows, sizeof(*rows));
	uint32_t *paths = graph_array(g, g->n_rows, sizeof(*paths));
	uint32_t *contents = graph_array(g, g->n_rows, sizeof(*contents));
	uint32_t *pairs = graph_array(g, g->n_rows, sizeof(*pairs));

	if (!rows || !paths || !contents || !pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_rows; i++) {
		const struct row *row = &g->rows[i];
		bool out = row->file->is_output;

		rows[i] = i;
		paths[i] = out ? row->path : GRAPH_NONE;
		contents[i] = out ? row->content : GRAPH_NONE;
		pairs[i] = out ? row->pair : GRAPH_NONE;
	}
	if (graph_group(g, paths, rows, g->n_rows, g->n_paths, &g->by_path) ||
	    graph_group(g, contents, rows, g->n_rows, g->n_contents,
			&g->by_content) ||
	    graph_group(g, pairs, rows, g->n_rows, g->n_pairs, &g->by_pair) ||
	    find_others(g, &g->by_path) || find_others(g, &g->by_content) ||
	    find_others(g, &g->by_pair))
		return -ENOMEM;
	return 0;
}

int graph_index(struct graph *g, const struct graph_file *files, size_t n_files)
{
	if (number_steps(g) < 0 || add_rows(g, files, n_files) < 0 ||
	    number_paths(g) < 0 || number_contents(g) < 0 ||
	    number_pairs(g) < 0 || group_outputs(g) < 0)
		return -ENOMEM;
	return 0;
}

/* ---- questions ---- */

/* The place of the first item of a job that is not before `job`. */
static uint32_t lower_bound(const struct graph *g, const struct groups *groups,
			    uint32_t group, uint32_t job)
{
	uint32_t low = groups->start[group];
	uint32_t high = groups->start[group + 1];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (g->rows[groups->items[mid]].job < job)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first job that found or left this content at this path.  Who wrote it
 * elsewhere later has made a copy of what was there. */
static const struct row *first_sight(const struct graph *g,
				     const struct row *row)
{
	return &g->rows[g->pair_row[row->pair]];
}

/* Do the times allow that `row` was made from `made`? */
enum fit { FIT_NEVER, FIT_UNKNOWN, FIT_WELL };

static enum fit fit_times(const struct graph *g, const struct row *row,
			  const struct row *made)
{
	const struct row *first = first_sight(g, row);
	int64_t changed_ns = first->file->is_output ? 0 : first->file->time_ns;

	if (!changed_ns)
		changed_ns = row->file->time_ns;
	/* In one tick of the clock either may have been first. */
	if (!changed_ns || !made->file->time_ns ||
	    changed_ns == made->file->time_ns)
		return FIT_UNKNOWN;
	return changed_ns < made->file->time_ns ? FIT_NEVER : FIT_WELL;
}

/* The last item of the group before place `end` that is not by the row's own job
 * and, if asked, not by its step, and that fits well enough. */
static uint32_t last_before(const struct graph *g, const struct groups *groups,
			    uint32_t group, uint32_t end, const struct row *row,
			    bool other_step, enum fit fit)
{
	uint32_t start = groups->start[group];

	while (end > start) {
		uint32_t found = groups->items[end - 1];
		uint32_t job = g->rows[found].job;

		if (other_step && g->job_step[job] == g->job_step[row->job])
			end = groups->other[end - 1];
		else if (job == row->job)
			end = lower_bound(g, groups, group, job);
		else if (fit && fit_times(g, row, &g->rows[found]) < fit)
			end--;
		else
			return found;
	}
	return GRAPH_NONE;
}

static uint32_t find_before(const struct graph *g, const struct groups *groups,
			    uint32_t group, const struct row *row,
			    bool other_step)
{
	return last_before(g, groups, group,
			   lower_bound(g, groups, group, row->job), row,
			   other_step, FIT_NEVER);
}

static uint32_t find_any(const struct graph *g, const struct groups *groups,
			 uint32_t group, const struct row *row, bool other_step,
			 enum fit fit)
{
	return last_before(g, groups, group, groups->start[group + 1], row,
			   other_step, fit);
}

/* Content at another path, from the latest job before any had it here. */
static uint32_t find_elsewhere(const struct graph *g, const struct row *row,
			       bool other_step)
{
	uint32_t end = lower_bound(g, &g->by_content, row->content,
				   first_sight(g, row)->job);

	return last_before(g, &g->by_content, row->content, end, row,
			   other_step, FIT_UNKNOWN);
}

static uint32_t by_content(const struct graph *g, const struct row *row,
			   bool other_step)
{
	bool evidence = row->file->size != 0;
	uint32_t found;

	if (row->content == GRAPH_NONE)
		return GRAPH_NONE;
	found = find_before(g, &g->by_pair, row->pair, row, other_step);
	if (found == GRAPH_NONE && evidence)
		found = find_elsewhere(g, row, other_step);
	if (found == GRAPH_NONE)
		found = find_any(g, &g->by_pair, row->pair, row, other_step,
				 FIT_UNKNOWN);
	if (found == GRAPH_NONE && evidence)
		found = find_any(g, &g->by_content, row->content, row,
				 other_step, FIT_WELL);
	return found;
}

enum link graph_producer(const struct graph *g, const struct row *row,
			 bool other_step, uint32_t *ret_row)
{
	*ret_row = by_content(g, row, other_step);
	if (*ret_row != GRAPH_NONE)
		return LINK_CONTENT;
	if (!other_step && row->content != GRAPH_NONE)
		return LINK_NONE;
	*ret_row = find_before(g, &g->by_path, row->path, row, other_step);
	if (*ret_row == GRAPH_NONE)
		*ret_row = find_any(g, &g->by_path, row->path, row, other_step,
				    FIT_NEVER);
	return *ret_row == GRAPH_NONE ? LINK_NONE : LINK_PATH;
}

uint32_t graph_maker(const struct graph *g, const struct graph_file *file)
{
	uint32_t made;

	for (uint32_t i = 0; i < g->n_rows; i++) {
		if (g->rows[i].file != file)
			continue;
		if (graph_producer(g, &g->rows[i], false, &made) == LINK_NONE)
			return GRAPH_NONE;
		return g->rows[made].job;
	}
	return GRAPH_NONE;
}

uint32_t graph_written(const struct graph *g, uint32_t path, uint32_t job)
{
	uint32_t at, row;

	assert(path < g->n_paths && job < g->n_jobs);
	at = lower_bound(g, &g->by_path, path, job);
	row = at < g->by_path.start[path + 1] ? g->by_path.items[at] :
						GRAPH_NONE;
	return row != GRAPH_NONE && g->rows[row].job == job ? row : GRAPH_NONE;
}

uint32_t graph_last_writer(const struct graph *g, uint32_t path, uint32_t step)
{
	const struct groups *groups = &g->by_path;
	uint32_t end = groups->start[path + 1];

	if (end == groups->start[path])
		return GRAPH_NONE;
	if (step_of_item(g, groups, end - 1) == step)
		end = groups->other[end - 1];
	return end ? groups->items[end - 1] : GRAPH_NONE;
}
