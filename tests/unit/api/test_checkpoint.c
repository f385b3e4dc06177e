/* test_checkpoint.c - what a program saves is what a program loads. */
#include <roar/checkpoint.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 700, COLUMNS = 1000 };

static float *values;
static char base[64];

static int make_base(void **state)
{
	(void)state;
	(void)strcpy(base, "/tmp/test-checkpoint.XXXXXX");
	values = malloc(sizeof(*values) * ROWS * COLUMNS);
	for (int i = 0; values && i < ROWS * COLUMNS; i++)
		values[i] = (float)i / 3;
	return values && mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
	char command[128];

	(void)state;
	free(values);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", base);
	return system(command);
}

static int save(uint64_t step, const char *parent)
{
	const uint64_t shape[] = { ROWS, COLUMNS };
	const struct roar_checkpoint_tensor w = { .name = "w",
						  .dtype = "F32",
						  .n_dims = 2,
						  .shape = shape,
						  .data = values };
	const struct roar_checkpoint_metric loss = { "loss",
						     1.0 / (double)step };
	const struct roar_checkpoint_save s = { .url = base,
						.step = step,
						.tensors = &w,
						.n_tensors = 1,
						.state = "{\"lr\": 1}",
						.metrics = &loss,
						.n_metrics = 1,
						.parent = parent };

	return roar_checkpoint_save(&s, NULL);
}

static void open_step(uint64_t step, struct roar_checkpoint **ret)
{
	assert_int_equal(roar_checkpoint_open(base, step, NULL, ret), 0);
}

static void the_latest_is_loaded_whole_and_by_slice(void **state)
{
	uint64_t offset[] = { 3, 500 }, shape[] = { 600, 7 };
	float *whole = malloc(sizeof(*whole) * ROWS * COLUMNS);
	float *part = malloc(sizeof(*part) * 600 * 7);
	struct roar_checkpoint_slice slices[] = {
		{ .tensor = "w",
		  .to = whole,
		  .to_bytes = sizeof(*whole) * ROWS * COLUMNS },
		{ .tensor = "w",
		  .offset = offset,
		  .shape = shape,
		  .n_dims = 2,
		  .to = part,
		  .to_bytes = sizeof(*part) * 600 * 7 },
	};
	struct roar_checkpoint_facts facts;
	struct roar_checkpoint_stored w;
	struct roar_checkpoint *c = NULL;

	(void)state;
	assert_int_equal(save(1, NULL), 0);
	values[5] = -1;
	assert_int_equal(save(2, "step-000000000001"), 0);
	open_step(ROAR_CHECKPOINT_LATEST, &c);
	roar_checkpoint_facts(c, &facts);
	assert_int_equal(facts.step, 2);
	assert_string_equal(facts.parent, "step-000000000001");
	assert_true(facts.metrics[0].value == 0.5);
	assert_int_equal(roar_checkpoint_find(c, "w", &w), 0);
	assert_string_equal(w.dtype, "F32");
	assert_int_equal(w.shape[1], COLUMNS);
	assert_int_equal(roar_checkpoint_stored(c, 1, &w), -ENOENT);
	assert_int_equal(roar_checkpoint_load(c, slices, 2), 0);
	assert_memory_equal(whole, values, sizeof(*whole) * ROWS * COLUMNS);
	for (int i = 0; i < 600; i++)
		assert_memory_equal(part + i * 7,
				    values + (i + 3) * COLUMNS + 500,
				    7 * sizeof(*part));
	assert_int_equal(roar_checkpoint_verify(c), 0);
	slices[0].tensor = "v";
	assert_int_equal(roar_checkpoint_load(c, slices, 1), -ENOENT);
	assert_non_null(strstr(roar_checkpoint_error(), "no tensor 'v'"));
	roar_checkpoint_close(c);
	free(whole);
	free(part);
}

static void a_full_save_can_be_mapped(void **state)
{
	struct roar_checkpoint *c = NULL;
	const void *bytes = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(save(3, NULL), 0);
	open_step(3, &c);
	assert_int_equal(roar_checkpoint_map(c, "w", &bytes, &len), 0);
	assert_int_equal(len, sizeof(*values) * ROWS * COLUMNS);
	assert_memory_equal(bytes, values, len);
	roar_checkpoint_close(c);
}

static int collect_step(void *ctx, uint64_t step)
{
	*(uint64_t *)ctx = *(uint64_t *)ctx * 10 + step;
	return 0;
}

static void rules_decide_what_stays(void **state)
{
	struct roar_checkpoint_rules rules = { .keep_last = 1 };
	struct roar_checkpoint_collected found;
	struct roar_checkpoint *c = NULL;
	uint64_t steps = 0;

	(void)state;
	assert_int_equal(save(4, "step-000000000002"), 0);
	assert_int_equal(roar_checkpoint_list(base, collect_step, &steps), 0);
	assert_int_equal(steps, 1234);
	assert_int_equal(roar_checkpoint_collect(base, &rules, &found), 0);
	assert_int_equal(found.n_kept, 1);
	assert_int_equal(found.n_removed, 3);
	steps = 0;
	assert_int_equal(roar_checkpoint_list(base, collect_step, &steps), 0);
	assert_int_equal(steps, 4);
	/* It refers to data of steps that are gone. */
	assert_int_equal(roar_checkpoint_open(base, 4, NULL, &c), 0);
	assert_int_equal(roar_checkpoint_verify(c), 0);
	roar_checkpoint_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_is_loaded_whole_and_by_slice),
		cmocka_unit_test(a_full_save_can_be_mapped),
		cmocka_unit_test(rules_decide_what_stays),
	};

	return cmocka_run_group_tests(tests, make_base, remove_base);
}
