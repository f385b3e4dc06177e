/* export_drawing.c - see export_drawing.h */
#include "export/export_drawing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/vec.h"
#include "export/export_set.h"
#include "query/query.h"
#include "store/store.h"

enum {
	SHOWN_MAX = 8, /* files of a job that no other job uses */
	LABEL_WIDTH = 32, /* columns */
};

struct making {
	const struct export_set *set;
	struct drawing *drawing;
	uint32_t *node_of; /* entity -> node + 1; 0: not drawn */
};

static const char *label_of(const struct making *m, const char *text)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	quote_printable_cut(&out, text, LABEL_WIDTH);
	return str_error(&out) < 0 ?
		       NULL :
		       pool_strdup(m->set->query->pool, str_cstr(&out));
}

static int add_node(struct making *m, enum drawing_kind kind, uint32_t number,
		    const char *text, uint32_t *ret)
{
	struct drawing *d = m->drawing;
	struct drawing_node *node = VEC_PUSH(d->nodes, d->n_nodes,
					     d->cap_nodes);

	if (!node)
		return -ENOMEM;
	node->kind = kind;
	node->number = number;
	node->label = label_of(m, text);
	*ret = (uint32_t)(d->n_nodes - 1);
	return node->label ? 0 : -ENOMEM;
}

static int add_edge(struct making *m, uint32_t from, uint32_t to, bool is_copy)
{
	struct drawing *d = m->drawing;
	struct drawing_edge *edge = VEC_PUSH(d->edges, d->n_edges,
					     d->cap_edges);

	if (!edge)
		return -ENOMEM;
	*edge = (struct drawing_edge){ from, to, is_copy };
	return 0;
}

static int add_job(struct making *m, uint32_t i)
{
	const struct export_job *job = &m->set->jobs[i];
	const char *what = job->job->name[0] ? job->job->name :
					       job->job->command;
	char *text = pool_printf(m->set->query->pool, "%s %.200s", job->ref,
				 what);
	uint32_t node;

	return text ? add_node(m, DRAWING_JOB, i, text, &node) : -ENOMEM;
}

/* Does the file connect its job to nothing else? */
static bool is_leaf(const struct export_entity *e, bool is_input)
{
	if (e->copy_of != EXPORT_NONE)
		return false;
	return is_input ? e->maker == EXPORT_NONE && e->n_users == 1 :
			  e->n_users == 0;
}

static int add_file(struct making *m, uint32_t entity, uint32_t *ret)
{
	int r = 0;

	if (!m->node_of[entity]) {
		r = add_node(m, DRAWING_FILE, entity,
			     m->set->entities[entity].name, ret);
		m->node_of[entity] = *ret + 1;
	}
	*ret = m->node_of[entity] - 1;
	return r;
}

static int add_more(struct making *m, uint32_t job, bool is_input, uint32_t n)
{
	char *text = pool_printf(m->set->query->pool, "%u more files", n);
	uint32_t node;
	int r = text ? add_node(m, DRAWING_MORE, n, text, &node) : -ENOMEM;

	if (r < 0)
		return r;
	return is_input ? add_edge(m, node, job, false) :
			  add_edge(m, job, node, false);
}

static int add_files(struct making *m, uint32_t job, const uint32_t *files,
		     size_t n, bool is_input)
{
	uint32_t n_leaves = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t node;

		if (is_leaf(&m->set->entities[files[i]], is_input) &&
		    n_leaves++ >= SHOWN_MAX)
			continue;
		r = add_file(m, files[i], &node);
		if (r == 0)
			r = is_input ? add_edge(m, node, job, false) :
				       add_edge(m, job, node, false);
	}
	if (r < 0 || n_leaves <= SHOWN_MAX)
		return r;
	return add_more(m, job, is_input, n_leaves - SHOWN_MAX);
}

static int add_copies(struct making *m)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->set->n_entities; i++) {
		uint32_t from = m->set->entities[i].copy_of;

		if (from != EXPORT_NONE && m->node_of[i] && m->node_of[from])
			r = add_edge(m, m->node_of[from] - 1, m->node_of[i] - 1,
				     true);
	}
	return r;
}

static int make(struct making *m)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->set->n_jobs; i++)
		r = add_job(m, i);
	for (uint32_t i = 0; r == 0 && i < m->set->n_jobs; i++) {
		const struct export_job *job = &m->set->jobs[i];

		r = add_files(m, i, job->inputs, job->n_inputs, true);
		if (r == 0)
			r = add_files(m, i, job->outputs, job->n_outputs,
				      false);
	}
	return r == 0 ? add_copies(m) : r;
}

int drawing_make(const struct export_set *set, struct drawing *ret)
{
	struct drawing drawing = DRAWING_INIT;
	struct making m = { .set = set, .drawing = &drawing };
	int r;

	m.node_of = pool_zalloc(set->query->pool,
				(set->n_entities + 1) * sizeof(*m.node_of));
	r = m.node_of ? make(&m) : -ENOMEM;
	if (r < 0)
		drawing_release(&drawing);
	else
		*ret = drawing;
	return r;
}

void drawing_release(struct drawing *d)
{
	free(d->nodes);
	free(d->edges);
	*d = DRAWING_INIT;
}
