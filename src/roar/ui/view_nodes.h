/* view_nodes.h - jobs that ran on several machines: their group and their nodes. */
#ifndef ROAR_VIEW_NODES_H
#define ROAR_VIEW_NODES_H

#include <stdint.h>

struct json;
struct store_job;
struct str;
struct view;

/* "[2 nodes] " before the command of a joined job; nothing for others. */
void view_nodes_mark(struct view *v, struct str *out,
		     const struct store_job *job);

/* Lines of a block: "Group: ID, node 0 of 2", and of a joined job each node. */
void view_nodes(struct view *v, const struct store_job *job);

/* "nodes": an array of {"job_uid", "session_uid", "host", "node", "ranks", "exit_code",
 * "verdict"}; null for a job that is not joined. */
void view_json_nodes(struct view *v, struct json *j,
		     const struct store_job *job);

/* "group": {"id", "node", "node_count"}; null without. */
void view_json_group(struct view *v, struct json *j,
		     const struct store_job *job);

#endif
