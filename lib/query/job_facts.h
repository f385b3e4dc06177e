/* job_facts.h - a job as names and values, for job_diff.h. */
#ifndef ROAR_QUERY_JOB_FACTS_H
#define ROAR_QUERY_JOB_FACTS_H

#include "query/job_diff.h"

struct job_fact {
	const char *name;
	const char *value;
};

struct job_facts {
	struct pool *pool; /* of names and values */
	struct job_fact *items; /* free()d by job_facts_release() */
	size_t n, cap;
	bool is_unknown; /* the record has nothing about it */
	bool failed; /* out of memory */
};

void job_facts_release(struct job_facts *facts);

/* Reads the facts of one kind, not of files, ordered by name. */
int job_facts_read(struct job_facts *facts, const struct job_diff_side *side,
		   enum job_diff_kind kind, struct roar_error *err);

/* Is the fact expected to differ each time? */
bool job_fact_is_incidental(enum job_diff_kind kind, const char *name);

#endif
