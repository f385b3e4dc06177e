/* dag_json.c - the pipeline as JSON; the fields are documented in man/dag.txt. */
#include <string.h>

#include "lineage/fold.h"
#include "show/dag.h"
#include "show/show_collection.h"
#include "show/show_variants.h"
#include "ui/view.h"
#include "ui/view_labels.h"
#include "ui/view_nodes.h"

static void json_hash(const struct dag *d, struct json *j, const char *key,
		      int64_t artifact)
{
	const struct digests *digests = artifact ?
						pipeline_digests(&d->pipeline,
								 artifact) :
						NULL;
	char hex[2 * BLAKE3_LEN + 1];

	if (digests)
		digest_hex(hex, digests->blake3, BLAKE3_LEN);
	view_json_text(j, key, digests ? hex : NULL);
}

static void json_numbers(const struct dag *d, struct json *j, const char *key,
			 const uint32_t *nodes, uint32_t n)
{
	json_put_key(j, key);
	json_put_array(j);
	for (uint32_t i = 0; i < n; i++)
		json_put_int(j, pipeline_job(&d->pipeline, nodes[i])->step);
	json_end(j);
}

static void json_refs(const struct dag *d, struct json *j, const char *key,
		      const uint32_t *nodes, uint32_t n)
{
	json_put_key(j, key);
	json_put_array(j);
	for (uint32_t i = 0; i < n; i++)
		json_put_string(
			j, view_step_ref(d->view,
					 pipeline_job(&d->pipeline, nodes[i])));
	json_end(j);
}

static void json_node(struct dag *d, struct json *j, size_t row)
{
	uint32_t node = d->rows[row];
	const struct graph_node *n = &d->pipeline.nodes[node];
	const struct store_job *job = pipeline_job(&d->pipeline, node);
	const struct store_file *changed = d->outdated.nodes[node].input;

	json_put_object(j);
	view_json_int(j, "step_number", job->step);
	view_json_text(j, "step_ref", view_step_ref(d->view, job));
	view_json_int(j, "job_id", job->id);
	view_json_text(j, "job_uid", job->uid);
	view_json_text(j, "command", job->command);
	view_json_text(j, "state",
		       outdated_steps_state(&d->outdated, &d->pipeline, node));
	view_json_text(j, "outdated_by", changed ? changed->path : NULL);
	json_put_key(j, "metrics");
	json_put_object(j);
	view_json_int(j, "inputs", n->n_inputs);
	view_json_int(j, "outputs", n->n_outputs);
	view_json_int(j, "consumed", n->n_consumed);
	json_end(j);
	json_numbers(d, j, "dependencies", n->deps, n->n_deps);
	json_refs(d, j, "dependency_refs", n->deps, n->n_deps);
	view_json_bool(j, "is_build", strcmp(job->kind, "build") == 0);
	view_json_text(j, "step_name", job->name[0] ? job->name : NULL);
	view_json_int(j, "exit_code", job->exit_code);
	view_json_text(j, "verdict", view_verdict_word(job));
	if (d->expanded)
		show_variant_json(d->view, j, job, d->n_rows);
	view_json_labels(d->view, j, LABEL_JOB, job->id);
	view_json_nodes(d->view, j, job);
	dag_json_substeps(d, j, row);
	json_end(j);
}

static void json_artifact(const struct dag *d, struct json *j,
			  const struct graph_artifact *a)
{
	const struct store_job *maker = NULL;

	if (a->producer != GRAPH_NONE)
		maker = pipeline_job(&d->pipeline, a->producer);
	json_put_object(j);
	view_json_text(j, "path", a->path);
	json_hash(d, j, "hash", a->artifact);
	view_json_int(j, "size_bytes", a->size);
	view_json_text(j, "state", graph_state_name(a->state));
	json_put_key(j, "producer_step");
	if (maker)
		json_put_int(j, maker->step);
	else
		json_put_null(j);
	view_json_text(j, "producer_ref",
		       maker ? view_step_ref(d->view, maker) : NULL);
	json_numbers(d, j, "consumer_steps", a->consumers, a->n_consumers);
	json_refs(d, j, "consumer_refs", a->consumers, a->n_consumers);
	view_json_bool(j, "is_terminal", a->is_terminal);
	json_hash(d, j, "superseded_by", a->superseded_by);
	view_json_labels(d->view, j, LABEL_ARTIFACT, a->artifact);
	json_end(j);
}

/* What steps wrote as a whole; the artifacts have each file as well. */
static void json_collections(const struct dag *d, struct json *j)
{
	const struct pipeline *p = &d->pipeline;

	json_put_key(j, "collections");
	json_put_array(j);
	for (size_t i = 0; i < p->n_artifacts; i++) {
		uint32_t node = p->artifacts[i].producer;
		struct collection_group *group =
			node == GRAPH_NONE ?
				NULL :
				collection_fold_find(
					&d->fold, pipeline_outline(p, node)->id,
					LINEAGE_OUTPUT, p->artifacts[i].path);

		if (!group || group->shown || !collection_group_is_whole(group))
			continue;
		group->shown = true;
		json_put_object(j);
		show_collection_fields(j, &group->use->collection);
		view_json_text(j, "path", group->use->path);
		view_json_int(j, "producer_step", pipeline_job(p, node)->step);
		view_json_text(j, "producer_ref",
			       view_step_ref(d->view, pipeline_job(p, node)));
		json_end(j);
	}
	json_end(j);
}

static void json_counts(const struct dag *d, struct json *j)
{
	const struct pipeline *p = &d->pipeline;
	struct view *v = d->view;

	view_json_int(j, "total_steps", (int64_t)p->n_steps);
	view_json_int(j, "stale_count", (int64_t)p->n_stale);
	view_json_int(j, "outdated_count", (int64_t)d->outdated.n);
	view_json_int(j, "stale_artifact_count", (int64_t)p->n_stale_artifacts);
	view_json_int(j, "superseded_artifact_count",
		      (int64_t)p->n_superseded_artifacts);
	view_json_text(j, "session_id", v->has_session ? v->session.uid : NULL);
	view_json_bool(j, "is_expanded", d->expanded);
	view_json_labels(v, j, LABEL_SESSION,
			 v->has_session ? v->session.id : 0);
}

void dag_json(struct dag *d)
{
	const struct pipeline *p = &d->pipeline;
	struct json j = json_writer(&d->view->out, true);

	json_put_object(&j);
	json_put_key(&j, "nodes");
	json_put_array(&j);
	for (size_t i = 0; i < d->n_rows; i++)
		json_node(d, &j, i);
	json_end(&j);
	json_put_key(&j, "artifacts");
	json_put_array(&j);
	for (size_t i = 0; i < p->n_artifacts; i++)
		if (!d->stale_only || p->artifacts[i].state == GRAPH_STALE)
			json_artifact(d, &j, &p->artifacts[i]);
	json_end(&j);
	json_collections(d, &j);
	json_counts(d, &j);
	json_end(&j);
	str_addc(&d->view->out, '\n');
}
