/* test_ckpt_save.c - a save is refused if no reader could open its checkpoint */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#include "base/cleanup.h"
#include "base/macros.h"
#include "blob/blob.h"
#include "ckpt/ckpt_reader.h"
#include "ckpt/ckpt_save.h"

static char base[64];
static struct roar_error err;

static int make_base(void **state)
{
	(void)state;
	(void)strcpy(base, "/tmp/test-ckpt.XXXXXX");
	return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", base);
	return system(command);
}

static const float data[8];
static const uint64_t shape[] = { 8 };

/* Saves; if that is possible, the checkpoint can be opened. */
static int save(struct roar_checkpoint_save s)
{
	struct ckpt_progress progress = { 0 };
	struct blob_store *store = NULL;
	struct ckpt_reader *reader = NULL;
	int r;

	s.url = base;
	err.text[0] = '\0';
	r = ckpt_save_run(&s, &progress, NULL, &err);
	if (r < 0)
		return r;
	assert_int_equal(blob_open(base, false, 1, &store, &err), 0);
	assert_int_equal(ckpt_reader_open(store, s.step, NULL, &reader, &err),
			 0);
	ckpt_reader_close(reader);
	blob_close(store);
	return 0;
}

static void a_second_writer_of_a_part_leaves_the_first(void **state)
{
	const struct roar_checkpoint_tensor tensor = { .name = "a",
						       .dtype = "F32",
						       .n_dims = 1,
						       .shape = shape,
						       .data = data };
	const struct roar_checkpoint_save s = { .url = base,
						.step = 1,
						.tensors = &tensor,
						.n_tensors = 1,
						.save_id = "0123abcd" };
	struct ckpt_progress progress = { 0 };
	struct ckpt_pending *first = NULL, *second = NULL;

	(void)state;
	assert_int_equal(ckpt_save_write(&s, &progress, &first, &err), 0);
	assert_int_equal(ckpt_save_write(&s, &progress, &second, &err),
			 -EEXIST);
	assert_null(second);
	assert_int_equal(ckpt_save_commit(first, NULL, NULL, &err), 0);
	ckpt_save_free(first);
}

static void names_of_metrics_are_unique_texts(void **state)
{
	const struct roar_checkpoint_metric twice[] = { { "loss", 1 },
							{ "top", 2 },
							{ "loss", 3 } };
	const struct roar_checkpoint_metric none[] = { { NULL, 1 } };
	const struct roar_checkpoint_metric bytes[] = { { "\xff", 1 } };

	(void)state;
	assert_int_equal(save((struct roar_checkpoint_save){ .step = 1,
							     .metrics = twice,
							     .n_metrics = 3 }),
			 -EINVAL);
	assert_string_equal(err.text, "metric 'loss' is there twice");
	assert_int_equal(save((struct roar_checkpoint_save){ .step = 1,
							     .metrics = none,
							     .n_metrics = 1 }),
			 -EINVAL);
	assert_string_equal(err.text, "the name of a metric is missing");
	assert_int_equal(save((struct roar_checkpoint_save){ .step = 1,
							     .metrics = bytes,
							     .n_metrics = 1 }),
			 -EINVAL);
	assert_int_equal(save((struct roar_checkpoint_save){ .step = 1,
							     .metrics = twice,
							     .n_metrics = 2 }),
			 0);
}

static void tags_and_job_are_texts(void **state)
{
	const char *const none[] = { NULL }, *const bytes[] = { "\xff" };

	(void)state;
	assert_int_equal(save((struct roar_checkpoint_save){ .step = 1,
							     .tags = none,
							     .n_tags = 1 }),
			 -EINVAL);
	assert_int_equal(save((struct roar_checkpoint_save){ .step = 1,
							     .tags = bytes,
							     .n_tags = 1 }),
			 -EINVAL);
	assert_string_equal(err.text, "a tag is not UTF-8");
	assert_int_equal(
		save((struct roar_checkpoint_save){ .step = 1, .job = "\xff" }),
		-EINVAL);
}

/* Readers of JSON limit the depth; the manifest is one level around the state. */
static void a_state_is_one_value_of_limited_depth(void **state)
{
	enum { DEEPEST = 2047 };
	char text[2 * (DEEPEST + 1) + 1];

	(void)state;
	for (int depth = DEEPEST; depth <= DEEPEST + 1; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		text[2 * depth] = '\0';
		assert_int_equal(save((struct roar_checkpoint_save){
					 .step = (uint64_t)depth,
					 .state = text }),
				 depth == DEEPEST ? 0 : -EINVAL);
	}
	assert_int_equal(save((struct roar_checkpoint_save){ .step = 1,
							     .state = "1,2" }),
			 -EINVAL);
	assert_int_equal(
		save((struct roar_checkpoint_save){ .step = 1, .state = "" }),
		-EINVAL);
	assert_int_equal(save((struct roar_checkpoint_save){ .step = 1,
							     .state = "1],[2" }),
			 -EINVAL);
}

static void parts_are_of_one_tensor(void **state)
{
	static const uint64_t half[] = { 4 }, first[] = { 0 }, other[] = { 9 };
	struct roar_checkpoint_tensor parts[2] = {
		{ "w", "F32", 1, shape, first, half, data, NULL, NULL },
		{ "w", "F32", 1, shape, half, half, data, NULL, NULL },
	};
	const struct roar_checkpoint_save s = { .step = 1,
						.tensors = parts,
						.n_tensors = 2 };

	(void)state;
	parts[1].dtype = "I32";
	assert_int_equal(save(s), -EINVAL);
	assert_non_null(strstr(err.text, "'w' differ in type or shape"));
	parts[1].dtype = "F32";
	parts[1].shape = other;
	assert_int_equal(save(s), -EINVAL);
	parts[1].shape = shape;
	assert_int_equal(save(s), 0);
}

static void numbers_out_of_range_are_named(void **state)
{
	(void)state;
	assert_int_equal(save((struct roar_checkpoint_save){
				 .step = UINT64_C(1000000000000) }),
			 -EINVAL);
	assert_non_null(strstr(err.text, "step 1000000000000"));
	assert_int_equal(
		save((struct roar_checkpoint_save){ .step = 1,
						    .epoch = UINT64_MAX }),
		-EINVAL);
	assert_null(strstr(err.text, "step"));
}

static void a_step_that_cannot_be_is_not_there(void **state)
{
	struct blob_store *store = NULL;
	struct ckpt_reader *reader = NULL;

	(void)state;
	assert_int_equal(blob_open(base, false, 1, &store, &err), 0);
	assert_int_equal(ckpt_reader_open(store, UINT64_C(1000000000000), NULL,
					  &reader, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "no checkpoint of step 1000000000000"));
	blob_close(store);
}

static void a_file_that_was_removed_is_not_waited_for(void **state)
{
	struct ckpt_progress progress = { 0 };
	struct ckpt_pending *parts[2] = { NULL };
	struct roar_checkpoint_save s = { .url = base,
					  .step = 1,
					  .world_size = 2,
					  .save_id = "9f3ac2d1" };
	char path[160];

	(void)state;
	for (s.rank = 0; s.rank < 2; s.rank++)
		assert_int_equal(ckpt_save_write(&s, &progress, &parts[s.rank],
						 &err),
				 0);
	(void)snprintf(path, sizeof(path),
		       "%s/step-000000000001/"
		       "data-00001-of-00002-9f3ac2d1.safetensors",
		       base);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ckpt_save_commit(parts[0], NULL, NULL, &err), -EIO);
	assert_non_null(strstr(err.text, "was removed before the commit"));
	for (int i = 0; i < 2; i++)
		ckpt_save_free(parts[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_base, remove_base)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_second_writer_of_a_part_leaves_the_first),
		TEST(names_of_metrics_are_unique_texts),
		TEST(tags_and_job_are_texts),
		TEST(a_state_is_one_value_of_limited_depth),
		TEST(parts_are_of_one_tensor),
		TEST(numbers_out_of_range_are_named),
		TEST(a_step_that_cannot_be_is_not_there),
		TEST(a_file_that_was_removed_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
