/* substeps.h - the programs that one job executed, as steps of their own.
 *
 * A shell script of five commands is one job, but five sub-steps: each has the files that
 * its own processes read and wrote.  Processes that only forked count for the program they
 * came from.  Children of one sub-step with the same command that read the same files, as
 * the workers of a pool do, are one sub-step with several copies.
 *
 * A program that used no file is not shown, nor is a shell that started others and wrote
 * no file itself.  A file that a shell opened for a command counts for the command.
 *
 * A sub-step comes after those that had written a file before it read that file, unless
 * their content was replaced by then, and after the one whose content it renamed.  Pipes between processes are not seen. */
#ifndef ROAR_QUERY_SUBSTEPS_H
#define ROAR_QUERY_SUBSTEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct query;
struct store_edge;
struct store_file;
struct store_process;

enum { SUBSTEP_NONE = UINT32_MAX };

/* Indexes into one of the arrays of struct substeps. */
struct substep_list {
	uint32_t *at;
	uint32_t n, cap;
};

struct substep {
	uint32_t process; /* index of its first process */
	uint32_t parent; /* sub-step that started it, shown or not; or SUBSTEP_NONE */
	const char *command;
	uint32_t n_processes;
	uint32_t n_copies; /* times that it was executed: 1, unless grouped */
	bool hidden; /* used no file, or a shell that only starts others */
	struct substep_list inputs; /* of files: not those that it wrote itself */
	struct substep_list outputs; /* of files */
	struct substep_list after; /* of substeps: what it depends on */
};

/* All arrays are in the pool of the query. */
struct substeps {
	struct store_process *processes;
	size_t n_processes;
	uint32_t *parents; /* index of the parent of each process, or SUBSTEP_NONE */
	uint32_t *of; /* the sub-step of each process */
	struct store_edge *edges; /* by process, then event */
	size_t n_edges;
	struct store_edge
		*moments; /* LINEAGE_EDGE_REPLACED, which `edges` has not */
	size_t n_moments;
	struct store_file *files; /* filtered ones too */
	size_t n_files;
	uint32_t *file_of; /* number of a file -> its index */
	struct substep *list; /* in the order of their first processes */
	size_t n;
	size_t n_shown; /* that are not hidden */
};

int substeps_load(struct query *q, int64_t job_id, struct substeps *ret,
		  struct roar_error *err);

/* The file of an edge; NULL if the record does not have it. */
const struct store_file *substeps_file(const struct substeps *s,
				       const struct store_edge *edge);

#endif
