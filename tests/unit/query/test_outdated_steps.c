/* test_outdated_steps.c - which steps read what is not on disk any more. */
#include <string.h>
#include <unistd.h>

#include "query/outdated_steps.h"
#include "query/pipeline.h"
#include "query/query.h"
#include "sample.h"

/* The outdated steps with their files, "2:features.bin"; "-" before a missing one. */
static const char *list(struct fixture *f, uint64_t budget)
{
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = budget, .pool = &f->pool };
	struct query q = { .store = f->store, .pool = &f->pool };
	struct roar_error err = { 0 };
	struct str text = STR_INIT;
	struct outdated_steps o;
	const char *copy;

	assert_int_equal(pipeline_load(&q, f->session.id, PIPELINE_NO_JOBS, &p,
				       &err),
			 0);
	assert_int_equal(outdated_steps_find(&p, &look, &f->pool, &o), 0);
	for (size_t i = 0; i < p.n_nodes; i++)
		if (outdated_steps_has(&o, &p, i))
			str_addf(&text, "%s%lld:%s%s", text.len ? " " : "",
				 (long long)pipeline_outline(&p, i)->step,
				 o.nodes[i].missing ? "-" : "",
				 strrchr(o.nodes[i].input->path, '/') + 1);
	copy = pool_strdup(&f->pool, str_cstr(&text));
	str_release(&text);
	query_release(&q);
	return copy;
}

static void nothing_is_outdated_at_first(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_string_equal(list(f, 0), "");
}

static void an_edited_input_outdates_all_that_read_it(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "raw.csv", "1,2,3,4\n");
	assert_string_equal(list(f, 0), "1:raw.csv 2:raw.csv");
	/* The same size: content decides, if it may be read. */
	put(f, "raw.csv", "3,2,1\n");
	assert_string_equal(list(f, 0), "");
	assert_string_equal(list(f, 6), "1:raw.csv 2:raw.csv");
	put(f, "raw.csv", "1,2,3\n");
	assert_string_equal(list(f, 6), "");
}

static void an_edited_result_outdates_who_read_it(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "features.bin", "edited by hand");
	assert_string_equal(list(f, 0), "2:features.bin");
}

static void what_another_step_made_anew_is_stale_and_not_outdated(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "better features");
	assert_string_equal(list(f, 0), "");
}

static void a_missing_source_outdates_and_a_missing_result_does_not(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_int_equal(unlink("features.bin"), 0);
	assert_string_equal(list(f, 0), "");
	assert_int_equal(unlink("raw.csv"), 0);
	assert_string_equal(list(f, 0), "1:-raw.csv 2:-raw.csv");
}

static void what_a_job_changed_in_place_or_removed_is_as_it_left_it(void **state)
{
	struct fixture *f = *state;

	put(f, "state", "1");
	put(f, "lock", "");
	job(f, "aaaa0001", "count");
	input(f, "state");
	file(f, "lock", LINEAGE_INPUT)->seen |= LINEAGE_REMOVED;
	output(f, "state", "22");
	record(f);
	assert_int_equal(unlink("lock"), 0);
	assert_string_equal(list(f, 0), "");
	put(f, "state", "333");
	assert_string_equal(list(f, 0), "1:state");
}

static void moved_files_are_not_missing(void **state)
{
	struct fixture *f = *state;

	record_moves(f);
	assert_string_equal(list(f, 0), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(nothing_is_outdated_at_first),
		FIXTURE_TEST(an_edited_input_outdates_all_that_read_it),
		FIXTURE_TEST(an_edited_result_outdates_who_read_it),
		FIXTURE_TEST(
			what_another_step_made_anew_is_stale_and_not_outdated),
		FIXTURE_TEST(
			a_missing_source_outdates_and_a_missing_result_does_not),
		FIXTURE_TEST(
			what_a_job_changed_in_place_or_removed_is_as_it_left_it),
		FIXTURE_TEST(moved_files_are_not_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
