/* group.h - a run that is one of several on several machines: its group and node.
 *
 * The id is --group, or that of the job by Slurm, torchrun or Ray, from the environment of
 * roar.  `roar session join` brings the records together (query/join.h). */
#ifndef ROAR_RUN_GROUP_H
#define ROAR_RUN_GROUP_H

#include <stdint.h>

#include "base/error.h"

struct args;
struct run;
struct store;

struct run_group {
	const char *id; /* ""; none */
	int64_t node, n_nodes; /* -1: not known */
};

/* Reads --group and --node, else `envp`.  Returns an exit code. */
int run_group_parse(const struct args *args, char *const *envp,
		    struct run_group *ret);

/* "I/N", a node from 0; the form of --node and of the journal.  -EINVAL: it is not. */
int run_group_parse_node(const char *text, struct run_group *ret);

int run_group_record(struct run *run, struct store *store,
		     struct roar_error *err);

#endif
