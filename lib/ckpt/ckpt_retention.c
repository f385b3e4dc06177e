/* ckpt_retention.c - see ckpt_retention.h */
#include "ckpt/ckpt_retention.h"

#include <assert.h>
#include <math.h>

bool ckpt_rules_are_empty(const struct ckpt_rules *rules)
{
	return !rules->last && !rules->every && rules->best == CKPT_BEST_NONE;
}

static bool is_better(enum ckpt_best best, double a, double b)
{
	return best == CKPT_BEST_LOWEST ? a <= b : a >= b;
}

static void keep_best(enum ckpt_best best, struct ckpt_candidate *candidates,
		      size_t n)
{
	struct ckpt_candidate *found = NULL;

	for (size_t i = 0; i < n; i++) {
		struct ckpt_candidate *c = &candidates[i];

		if (isnan(c->metric))
			continue;
		if (!found || is_better(best, c->metric, found->metric))
			found = c;
	}
	if (found)
		found->keep = true;
}

void ckpt_retention_apply(const struct ckpt_rules *rules,
			  struct ckpt_candidate *candidates, size_t n)
{
	bool all = ckpt_rules_are_empty(rules);

	for (size_t i = 0; i < n; i++) {
		struct ckpt_candidate *c = &candidates[i];

		assert(!i || candidates[i - 1].step < c->step);
		c->keep = all || c->is_tagged || i + 1 == n ||
			  n - i <= rules->last ||
			  (rules->every && c->step % rules->every == 0);
	}
	if (rules->best != CKPT_BEST_NONE)
		keep_best(rules->best, candidates, n);
}
