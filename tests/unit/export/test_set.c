/* test_set.c - jobs and files of an export, and who made what. */
#include "sample_set.h"

static const struct export_entity *entity(const struct export_set *set,
					  const char *name)
{
	for (size_t i = 0; i < set->n_entities; i++)
		if (strcmp(set->entities[i].name, name) == 0)
			return &set->entities[i];
	fail_msg("no entity %s", name);
	return NULL;
}

static void jobs_follow_what_they_depend_on(void **state)
{
	struct fixture *f = *state;
	struct export_set set;
	struct query q;

	record_sample(f);
	set = sample_set(f, &q);
	assert_int_equal(set.n_jobs, 3);
	assert_string_equal(set.jobs[0].ref, "@1");
	assert_string_equal(set.jobs[2].job->uid, "cccc0003");
	assert_int_equal(set.jobs[0].n_deps, 0);
	assert_int_equal(set.jobs[1].n_deps, 1);
	assert_int_equal(set.jobs[1].deps[0], 0);
	query_release(&q);
}

static void a_file_written_and_read_is_one_entity(void **state)
{
	struct fixture *f = *state;
	const struct export_entity *e;
	struct export_set set;
	struct query q;

	record_sample(f);
	set = sample_set(f, &q);
	e = entity(&set, "features.bin");
	assert_int_equal(e->maker, 0);
	assert_int_equal(e->n_users, 1);
	assert_int_equal(set.jobs[1].inputs[0], e - set.entities);
	assert_int_equal(entity(&set, "raw.csv")->maker, EXPORT_NONE);
	query_release(&q);
}

/* best.pt has the content that @2 wrote to model.pt. */
static void a_copy_leads_to_what_it_was_copied_from(void **state)
{
	struct fixture *f = *state;
	const struct export_entity *e;
	struct export_set set;
	struct query q;

	record_sample(f);
	set = sample_set(f, &q);
	e = entity(&set, "best.pt");
	assert_int_equal(e->maker, EXPORT_NONE);
	assert_string_equal(set.entities[e->copy_of].name, "model.pt");
	assert_int_equal(set.jobs[2].n_deps, 1);
	assert_int_equal(set.jobs[2].deps[0], 1);
	query_release(&q);
}

static void content_before_and_after_are_two_entities(void **state)
{
	struct fixture *f = *state;
	struct export_set set;
	struct query q;
	size_t n = 0;

	record_sample(f);
	set = sample_set(f, &q);
	for (size_t i = 0; i < set.n_entities; i++)
		n += strcmp(set.entities[i].name, "log.txt") == 0;
	assert_int_equal(n, 2);
	query_release(&q);
}

static void a_cycle_has_an_order_as_well(void **state)
{
	struct fixture *f = *state;
	struct export_set set;
	struct query q;

	record_made(f, "aaaa0001", "one", NULL, "a", "1");
	record_made(f, "bbbb0002", "two", "a", "b", "2");
	record_made(f, "cccc0003", "one", "b", "a", "1");
	set = sample_set(f, &q);
	assert_int_equal(set.n_jobs, 2);
	query_release(&q);
}

static void missing_digests_come_from_files_that_are_as_recorded(void **state)
{
	struct fixture *f = *state;
	const digest_set md5 = 1 << DIGEST_MD5;
	struct export_set set;
	struct query q;

	record_sample(f);
	put(f, "raw.csv", "not");
	set = sample_set(f, &q);
	/* raw.csv, and log.txt as it was before. */
	assert_int_equal(export_digests_complete(&set, md5), 2);
	assert_int_equal(entity(&set, "model.pt")->digests.have & md5, md5);
	assert_int_equal(entity(&set, "raw.csv")->digests.have & md5, 0);
	query_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(jobs_follow_what_they_depend_on),
		FIXTURE_TEST(a_file_written_and_read_is_one_entity),
		FIXTURE_TEST(a_copy_leads_to_what_it_was_copied_from),
		FIXTURE_TEST(content_before_and_after_are_two_entities),
		FIXTURE_TEST(a_cycle_has_an_order_as_well),
		FIXTURE_TEST(
			missing_digests_come_from_files_that_are_as_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
