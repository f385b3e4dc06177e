/* ckpt_retention.h - which checkpoints of a directory are kept.
 *
 * A pure function of steps, tags and metrics.  A checkpoint is kept if any rule keeps it;
 * the latest one and those with a tag are always kept.  Without rules all are kept. */
#ifndef ROAR_CKPT_RETENTION_H
#define ROAR_CKPT_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ckpt_best { CKPT_BEST_NONE, CKPT_BEST_LOWEST, CKPT_BEST_HIGHEST };

struct ckpt_rules {
	uint64_t last; /* the newest N; 0: not a rule */
	uint64_t every; /* steps that are multiples of K; 0: not a rule */
	enum ckpt_best best; /* by `metric`; of equal ones the newest */
	const char *metric; /* borrowed */
};

struct ckpt_candidate {
	uint64_t step;
	bool is_tagged;
	double metric; /* NaN: it has none */
	bool keep; /* result */
};

bool ckpt_rules_are_empty(const struct ckpt_rules *rules);

/* Decides `keep` of each candidate.  They are sorted by step, ascending. */
void ckpt_retention_apply(const struct ckpt_rules *rules,
			  struct ckpt_candidate *candidates, size_t n);

#endif
