/* test_recipe.c - steps in order, and where their inputs can be had. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../query/sample.h"
#include "base/path.h"
#include "hash/digest/digest_cache.h"
#include "query/presence.h"
#include "query/query.h"
#include "query/target.h"
#include "reproduce/recipe.h"

static int no_cache(struct digest_cache **ret)
{
	(void)ret;
	return -ENOENT;
}

static bool keeps_all(void *ctx, const uint8_t blake3[32])
{
	(void)ctx;
	(void)blake3;
	return true;
}

/* "uid uid | name=source name=source" of the recipe for a step. */
static const char *recipe(struct fixture *f, const char *word, bool kept)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	struct presence_look look = { .budget = 1 << 20,
				      .open_cache = no_cache };
	const struct recipe_options options = {
		.project = f->dir,
		.look = &look,
		.is_kept = kept ? keeps_all : NULL,
	};
	struct str text = STR_INIT;
	struct roar_error err = { 0 };
	struct recipe r;
	struct target t;
	const char *copy;

	assert_int_equal(
		target_resolve(&q, f->dir, word, TARGET_WANT_JOB, &t, &err), 0);
	if (recipe_make(&q, &t.job, &options, &r, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < r.n_steps; i++)
		str_addf(&text, "%s ", r.steps[i].job->uid);
	str_adds(&text, "|");
	for (size_t i = 0; i < r.n_inputs; i++)
		str_addf(&text, " %s=%s%s%s",
			 path_basename(r.inputs[i].row->path),
			 recipe_source_word(r.inputs[i].source),
			 r.inputs[i].why ? ": " : "",
			 r.inputs[i].why ? r.inputs[i].why : "");
	copy = pool_strdup(&f->pool, str_cstr(&text));
	str_release(&text);
	recipe_release(&r);
	presence_look_release(&look);
	query_release(&q);
	return copy;
}

static void a_step_comes_after_those_it_needs(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_string_equal(recipe(f, "@3", false),
			    "aaaa0001 bbbb0002 cccc0003 | raw.csv=disk");
	assert_string_equal(recipe(f, "@1", false), "aaaa0001 | raw.csv=disk");
}

static void what_a_step_moved_is_needed_as_well(void **state)
{
	struct fixture *f = *state;

	record_moves(f);
	assert_string_equal(recipe(f, "@3", false),
			    "aaaa0001 bbbb0002 cccc0003 |");
}

static void build_steps_come_first(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	job(f, "dddd0004", "make");
	f->job.kind = "build";
	output(f, "tool", "tool");
	record(f);
	record_made(f, "eeee0005", "use", "metrics.json", "last", "last");
	assert_string_equal(recipe(f, "@4", false),
			    "dddd0004 aaaa0001 bbbb0002 cccc0003 eeee0005 | "
			    "raw.csv=disk");
	/* It was built later than what step 3 needed. */
	assert_string_equal(recipe(f, "@3", false),
			    "aaaa0001 bbbb0002 cccc0003 | raw.csv=disk");
}

static void a_build_step_waits_for_what_it_needs(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "generate", NULL, "code.c", "int x;");
	job(f, "bbbb0002", "make");
	f->job.kind = "build";
	input(f, "code.c");
	output(f, "tool", "tool");
	record(f);
	record_made(f, "cccc0003", "use", "tool", "out", "out");
	assert_string_equal(recipe(f, "@2", false),
			    "aaaa0001 bbbb0002 cccc0003 |");
}

static void a_changed_input_is_found_elsewhere_or_missing(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "raw.csv", "4,5,6,7\n");
	assert_string_equal(recipe(f, "@1", false),
			    "aaaa0001 | raw.csv=missing: the file has other "
			    "content now, and the recorded one was not kept");
	assert_string_equal(recipe(f, "@1", true), "aaaa0001 | raw.csv=kept");
	assert_int_equal(unlink("raw.csv"), 0);
	assert_string_equal(recipe(f, "@1", false),
			    "aaaa0001 | raw.csv=missing: it is not on this "
			    "disk, and the recorded content was not kept");
	/* The same content under another name. */
	put(f, "copy.csv", "1,2,3\n");
	record_made(f, "dddd0004", "look", "copy.csv", "seen", "seen");
	assert_string_equal(recipe(f, "@1", false), "aaaa0001 | raw.csv=disk");
}

static void an_input_that_a_step_rewrites_is_named(void **state)
{
	struct fixture *f = *state;

	put(f, "state", "one");
	record_made(f, "aaaa0001", "bump", "state", "state", "second");
	assert_string_equal(recipe(f, "@1", false),
			    "aaaa0001 | state=missing: a step changes it in "
			    "place, and its earlier content was not kept");
}

static void a_download_is_a_source_and_not_a_step(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "roar get https://example.org/raw.csv");
	f->job.tracer = "transfer";
	output(f, "raw.csv", "1,2,3\n");
	f->files[0].origin = "https://example.org/raw.csv";
	record(f);
	record_made(f, "bbbb0002", "use", "raw.csv", "out", "out");
	assert_string_equal(recipe(f, "@2", false), "bbbb0002 | raw.csv=disk");
	assert_int_equal(unlink("raw.csv"), 0);
	assert_string_equal(recipe(f, "@2", false), "bbbb0002 | raw.csv=fetch");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_step_comes_after_those_it_needs),
		FIXTURE_TEST(what_a_step_moved_is_needed_as_well),
		FIXTURE_TEST(build_steps_come_first),
		FIXTURE_TEST(a_build_step_waits_for_what_it_needs),
		FIXTURE_TEST(a_changed_input_is_found_elsewhere_or_missing),
		FIXTURE_TEST(an_input_that_a_step_rewrites_is_named),
		FIXTURE_TEST(a_download_is_a_source_and_not_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
