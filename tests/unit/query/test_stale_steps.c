/* test_stale_steps.c - the stale steps above and below a step. */
#include <string.h>
#include <unistd.h>

#include "query/pipeline.h"
#include "query/query.h"
#include "query/stale_steps.h"
#include "sample.h"

/* The steps as text, "2 3"; above the job with that UID, or below it. */
static const char *list(struct fixture *f, const char *uid, bool above)
{
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	struct query q = { .store = f->store, .pool = &f->pool };
	struct store_job_query by_uid = { .uid_prefix = uid };
	struct roar_error err = { 0 };
	struct str text = STR_INIT;
	struct stale_steps stale;
	struct store_job *job;
	const char *copy;
	size_t n;

	assert_int_equal(
		store_jobs(f->store, &f->pool, &by_uid, &job, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(pipeline_load(&q, job->session_id, PIPELINE_NO_JOBS,
				       &p, &err),
			 0);
	assert_int_equal(above ? stale_steps_above(&p, &f->pool, job, &stale) :
				 stale_steps_below(&p, &f->pool, job->id,
						   &stale),
			 0);
	for (size_t i = 0; i < stale.n; i++)
		str_addf(&text, "%s%lld", i ? " " : "",
			 (long long)pipeline_outline(&p, stale.nodes[i])->step);
	copy = pool_strdup(&f->pool, str_cstr(&text));
	str_release(&text);
	query_release(&q);
	return copy;
}

static void nothing_is_stale_at_first(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_string_equal(list(f, "cccc0003", true), "");
	assert_string_equal(list(f, "aaaa0001", false), "");
}

static void a_new_execution_makes_what_is_below_stale(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "better features");
	assert_string_equal(list(f, "dddd0004", false), "2 3");
	assert_string_equal(list(f, "dddd0004", true), "");
	/* A step that is stale itself is neither above nor below itself. */
	assert_string_equal(list(f, "bbbb0002", true), "");
	assert_string_equal(list(f, "bbbb0002", false), "3");
	assert_string_equal(list(f, "cccc0003", true), "2");
}

static void other_pipelines_do_not_count(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_made(f, "eeee0005", "other", NULL, "other", "1");
	record_prepare(f, "dddd0004", "better features");
	assert_string_equal(list(f, "eeee0005", true), "");
	assert_string_equal(list(f, "eeee0005", false), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(nothing_is_stale_at_first),
		FIXTURE_TEST(a_new_execution_makes_what_is_below_stale),
		FIXTURE_TEST(other_pipelines_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
