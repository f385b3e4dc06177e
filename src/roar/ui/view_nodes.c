/* view_nodes.c - see view_nodes.h */
#include "ui/view_nodes.h"

#include <string.h>

#include "base/quote.h"
#include "query/join.h"
#include "ui/view.h"

/* The parts of a joined job; other jobs are not asked for. */
static size_t find_parts(struct view *v, const struct store_job *job,
			 struct join_part **ret)
{
	size_t n = 0;

	if (strcmp(job->tracer, "join") != 0)
		return 0;
	if (join_parts(&v->query, job->id, ret, &n, NULL) < 0)
		v->out.failed = true;
	return n;
}

void view_nodes_mark(struct view *v, struct str *out,
		     const struct store_job *job)
{
	struct join_part *parts;
	size_t n = find_parts(v, job, &parts);

	if (n)
		str_addf(out, "[%zu node%s] ", n, n == 1 ? "" : "s");
}

static void read_group(struct view *v, const struct store_job *job,
		       struct store_group *ret)
{
	*ret = (struct store_group){ .id = "", .node = -1, .n_nodes = -1 };
	if (store_group(v->store, &v->pool, job->id, ret, NULL) < 0)
		v->out.failed = true;
}

static void add_node(struct view *v, const struct join_part *part)
{
	str_adds(&v->out, "  ");
	view_label(v, "");
	if (part->group.node >= 0)
		str_addf(&v->out, "node %lld, ", (long long)part->group.node);
	if (part->ranks[0])
		str_addf(&v->out, "ranks %s, ", part->ranks);
	quote_printable_cut(&v->out, part->job->host, 60);
	str_addf(&v->out, ": %s, %s, %s\n", part->job->uid,
		 view_outcome(part->job), view_verdict_word(part->job));
}

void view_nodes(struct view *v, const struct store_job *job)
{
	struct join_part *parts;
	size_t n = find_parts(v, job, &parts);
	struct store_group group;

	read_group(v, job, &group);
	if (!group.id[0])
		return;
	view_label(v, "Group:");
	quote_printable_cut(&v->out, group.id, 100);
	if (group.node >= 0)
		str_addf(&v->out, ", node %lld of %lld", (long long)group.node,
			 (long long)group.n_nodes);
	if (n)
		str_addf(&v->out, ", joined from %zu records", n);
	str_addc(&v->out, '\n');
	for (size_t i = 0; i < n; i++)
		add_node(v, &parts[i]);
}

void view_json_nodes(struct view *v, struct json *j,
		     const struct store_job *job)
{
	struct join_part *parts;
	size_t n = find_parts(v, job, &parts);

	json_put_key(j, "nodes");
	if (!n) {
		json_put_null(j);
		return;
	}
	json_put_array(j);
	for (size_t i = 0; i < n; i++) {
		const struct store_job *part = parts[i].job;

		json_put_object(j);
		view_json_text(j, "job_uid", part->uid);
		view_json_text(j, "session_uid",
			       view_session_uid(v, part->session_id));
		view_json_text(j, "host", part->host);
		view_json_count(j, "node", parts[i].group.node);
		view_json_text(j, "ranks", parts[i].ranks);
		view_json_int(j, "exit_code", part->exit_code);
		view_json_text(j, "verdict", view_verdict_word(part));
		json_end(j);
	}
	json_end(j);
}

void view_json_group(struct view *v, struct json *j,
		     const struct store_job *job)
{
	struct store_group group;

	read_group(v, job, &group);
	json_put_key(j, "group");
	if (!group.id[0]) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_text(j, "id", group.id);
	view_json_count(j, "node", group.node);
	view_json_count(j, "node_count", group.n_nodes);
	json_end(j);
}
