#include "test.h"

#include <math.h>

#include "base/macros.h"
#include "ckpt/ckpt_retention.h"

/* Steps 10, 20, ... 100 with a metric that is least at 40 and greatest at 70. */
static void make_ten(struct ckpt_candidate c[10])
{
	static const double metric[] = { 5, 4, 3, 1, 2, 6, 9, 8, 7, 5 };

	for (int i = 0; i < 10; i++)
		c[i] = (struct ckpt_candidate){ .step = 10u * (unsigned)(i + 1),
						.metric = metric[i] };
}

/* The kept steps as bits: bit i is step 10 * (i + 1). */
static unsigned kept(const struct ckpt_rules *rules, struct ckpt_candidate *c,
		     size_t n)
{
	unsigned bits = 0;

	ckpt_retention_apply(rules, c, n);
	for (size_t i = 0; i < n; i++)
		bits |= (unsigned)c[i].keep << i;
	return bits;
}

static void each_rule_keeps_its_own_and_the_latest(void **state)
{
	static const struct {
		struct ckpt_rules rules;
		unsigned kept;
	} cases[] = {
		{ { 0 }, 0x3ff },
		{ { .last = 1 }, 0x200 },
		{ { .last = 3 }, 0x380 },
		{ { .last = 50 }, 0x3ff },
		{ { .every = 40 }, 0x288 },
		{ { .every = 1000 }, 0x200 },
		{ { .best = CKPT_BEST_LOWEST }, 0x208 },
		{ { .best = CKPT_BEST_HIGHEST }, 0x240 },
		{ { .last = 2, .every = 50, .best = CKPT_BEST_LOWEST }, 0x318 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ckpt_candidate c[10];

		make_ten(c);
		assert_int_equal(kept(&cases[i].rules, c, 10), cases[i].kept);
	}
}

static void tagged_ones_stay(void **state)
{
	struct ckpt_rules rules = { .last = 1 };
	struct ckpt_candidate c[10];

	(void)state;
	make_ten(c);
	c[0].is_tagged = c[5].is_tagged = true;
	assert_int_equal(kept(&rules, c, 10), 0x221);
}

static void a_checkpoint_without_the_metric_is_not_the_best(void **state)
{
	struct ckpt_rules rules = { .best = CKPT_BEST_LOWEST };
	struct ckpt_candidate c[10];

	(void)state;
	make_ten(c);
	c[3].metric = NAN;
	c[4].metric = NAN;
	assert_int_equal(kept(&rules, c, 10), 0x204);
	for (int i = 0; i < 10; i++)
		c[i].metric = NAN;
	assert_int_equal(kept(&rules, c, 10), 0x200);
	assert_int_equal(kept(&rules, c, 0), 0);
}

static void of_equal_metrics_the_newest_is_the_best(void **state)
{
	struct ckpt_rules rules = { .best = CKPT_BEST_HIGHEST };
	struct ckpt_candidate c[10];

	(void)state;
	make_ten(c);
	c[2].metric = c[6].metric;
	assert_int_equal(kept(&rules, c, 10), 0x240);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_keeps_its_own_and_the_latest),
		cmocka_unit_test(tagged_ones_stay),
		cmocka_unit_test(
			a_checkpoint_without_the_metric_is_not_the_best),
		cmocka_unit_test(of_equal_metrics_the_newest_is_the_best),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
