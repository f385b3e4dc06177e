/* job_diff.h - what differs between two executions.
 *
 * The answer is one list of items, by kind, each with a name and a value on both sides:
 *
 *	parameters	options and arguments of the command; its directory
 *	code		commit, snapshot, and code files that both read
 *	inputs		files by path and content
 *	packages	"pip numpy"  1.26.4  2.0.1
 *	libraries	interpreters and shared libraries
 *	environment	variables of the command
 *	machine		"cpu.model", "gpus[0].name", ...
 *	outputs		files by path and content
 *	result		exit code, verdict, tracer, version of roar, duration
 *
 * An item that is expected to differ each time (a duration, the terminal's variables, the
 * same content under another path, a commit whose code files are the same) is incidental, and not counted as a difference.  When
 * only one of the jobs has a record of its packages or so, a single incidental item says
 * that.  The sides may be of two stores. */
#ifndef ROAR_QUERY_JOB_DIFF_H
#define ROAR_QUERY_JOB_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct pool;
struct query;
struct store_file;
struct store_job;

enum job_diff_kind {
	JOB_DIFF_PARAMETER,
	JOB_DIFF_CODE,
	JOB_DIFF_INPUT,
	JOB_DIFF_PACKAGE,
	JOB_DIFF_LIBRARY,
	JOB_DIFF_VARIABLE,
	JOB_DIFF_MACHINE,
	JOB_DIFF_OUTPUT,
	JOB_DIFF_RESULT,
	JOB_DIFF_KIND_END,
};

struct job_diff_side {
	struct query *query;
	const struct store_job *job;
	const char *root; /* paths below it are compared without it; NULL */
};

struct job_diff_item {
	enum job_diff_kind kind;
	bool is_incidental;
	const char *name;
	const char *a,
		*b; /* NULL: absent on that side.  Of files, their paths */
	const struct store_file *file_a, *file_b; /* of files; NULL: absent */
};

struct job_diff {
	struct job_diff_item *items; /* by kind, then by name; in the pool */
	size_t n;
	size_t n_of[JOB_DIFF_KIND_END]; /* differences: without incidental ones */
	size_t n_differences; /* of all kinds */
};

/* Compares two jobs.  0, -ENOMEM, or as the store. */
int job_diff_make(const struct job_diff_side *a, const struct job_diff_side *b,
		  struct pool *pool, struct job_diff *ret,
		  struct roar_error *err);

/* The same for some kinds: bits 1 << JOB_DIFF_CODE, ...  Cheap without documents. */
int job_diff_make_of(const struct job_diff_side *a,
		     const struct job_diff_side *b, unsigned kinds,
		     struct pool *pool, struct job_diff *ret,
		     struct roar_error *err);

/* "parameters", "code", ... */
const char *job_diff_kind_name(enum job_diff_kind kind);

/* Is it code or a configuration by its name: "train.py", "run.sh", "model.yaml"? */
bool job_diff_is_code(const char *path);

#endif
