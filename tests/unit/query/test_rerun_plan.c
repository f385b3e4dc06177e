/* test_rerun_plan.c - which steps must run again, in what order, and why. */
#include <string.h>
#include <unistd.h>

#include "query/pipeline.h"
#include "query/query.h"
#include "query/rerun_plan.h"
#include "sample.h"

struct planned {
	struct pipeline pipeline;
	struct rerun_plan plan;
	struct query query;
};

static void make(struct fixture *f, struct planned *p, struct rerun_wish wish)
{
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = UINT64_MAX, .pool = &f->pool };
	struct roar_error err = { 0 };

	*p = (struct planned){ .query = { .store = f->store,
					  .pool = &f->pool } };
	assert_int_equal(pipeline_load(&p->query, f->session.id, 0,
				       &p->pipeline, &err),
			 0);
	assert_int_equal(rerun_plan_make(&p->pipeline, &wish, &look, &f->pool,
					 &p->plan),
			 0);
}

static void release(struct planned *p)
{
	pipeline_release(&p->pipeline);
	query_release(&p->query);
}

static int64_t number(const struct planned *p, size_t step)
{
	return pipeline_outline(&p->pipeline, p->plan.steps[step].node)->step;
}

/* "1 outdated raw.csv; 2 upstream <1": with what each step waits for. */
static const char *text(struct fixture *f, struct rerun_wish wish)
{
	struct str out = STR_INIT;
	struct planned p;
	const char *copy;

	make(f, &p, wish);
	for (size_t i = 0; i < p.plan.n; i++) {
		const struct rerun_step *s = &p.plan.steps[i];

		str_addf(&out, "%s%lld %s", i ? "; " : "",
			 (long long)number(&p, i),
			 rerun_reason_name(s->reason));
		if (s->path)
			str_addf(&out, " %s", strrchr(s->path, '/') + 1);
		for (size_t k = 0; k < s->n_after; k++)
			str_addf(&out, "%s%lld", k ? "," : " <",
				 (long long)number(&p, s->after[k]));
		str_adds(&out, s->in_cycle ? " cycle" : "");
	}
	copy = pool_strdup(&f->pool, str_cstr(&out));
	str_release(&out);
	release(&p);
	return copy;
}

static const char *all(struct fixture *f)
{
	return text(f, (struct rerun_wish){ 0 });
}

/* The reason of a step at its turn. */
static const char *check(struct fixture *f, const struct planned *p,
			 size_t step, bool ran)
{
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = UINT64_MAX };
	const char *path;

	(void)f;
	return rerun_reason_name(
		rerun_plan_check(&p->plan, step, ran, &look, &path));
}

static void what_is_unchanged_is_not_planned(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_string_equal(all(f), "");
	assert_string_equal(text(f, (struct rerun_wish){ .force = true }),
			    "1 forced; 2 forced <1; 3 forced <2");
}

static void a_change_is_planned_with_what_may_follow(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "raw.csv", "other");
	assert_string_equal(
		all(f),
		"1 outdated raw.csv; 2 outdated raw.csv <1; 3 upstream <2");
}

static void what_another_step_made_anew_is_planned(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "better features");
	assert_string_equal(all(f), "2 stale features.bin; 3 upstream <2");
}

static void a_failure_is_planned(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	job(f, "dddd0004", "python evaluate.py");
	input(f, "model.pt");
	f->job.exit_code = 1;
	record(f);
	assert_string_equal(all(f), "3 failed");
}

static void a_missing_result_is_planned_and_what_is_needed_for_it(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_int_equal(unlink("features.bin"), 0);
	assert_string_equal(all(f), "");
	assert_int_equal(unlink("metrics.json"), 0);
	assert_string_equal(all(f), "3 missing-output metrics.json");
	assert_int_equal(unlink("model.pt"), 0);
	assert_string_equal(all(f),
			    "1 needed-output features.bin; 2 needed-output "
			    "model.pt <1; 3 missing-output metrics.json <2");
}

static void steps_are_chosen_with_what_they_need(void **state)
{
	struct rerun_wish second = { .nodes = (const uint32_t[]){ 1 }, .n = 1 };
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "raw.csv", "other");
	assert_string_equal(text(f, second),
			    "1 outdated raw.csv; 2 outdated raw.csv <1");
	second.downstream = true;
	assert_string_equal(
		text(f, second),
		"1 outdated raw.csv; 2 outdated raw.csv <1; 3 upstream <2");
}

static void identical_inputs_cut_off(void **state)
{
	struct fixture *f = *state;
	struct planned p;

	record_pipeline(f);
	put(f, "raw.csv", "other");
	make(f, &p, (struct rerun_wish){ 0 });
	/* The first step has run and made the same; the second reads raw.csv itself. */
	put(f, "features.bin", "features");
	assert_string_equal(check(f, &p, 0, false), "outdated");
	assert_string_equal(check(f, &p, 1, true), "stale");
	assert_string_equal(check(f, &p, 2, true), "up-to-date");
	put(f, "model.pt", "model two");
	assert_string_equal(check(f, &p, 2, true), "stale");
	/* Everything is as it was. */
	put(f, "raw.csv", "1,2,3\n");
	assert_string_equal(check(f, &p, 1, true), "up-to-date");
	assert_int_equal(unlink("raw.csv"), 0);
	assert_string_equal(check(f, &p, 1, true), "missing-input");
	release(&p);
}

static void a_lost_source_is_named(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_int_equal(unlink("raw.csv"), 0);
	assert_string_equal(all(f), "1 missing-input raw.csv; 2 missing-input "
				    "raw.csv <1; 3 upstream <2");
}

static void steps_that_share_a_written_file_wait_for_each_other(void **state)
{
	struct fixture *f = *state;

	put(f, "a", "1");
	put(f, "log", "");
	record_made(f, "aaaa0001", "one", "a", "x", "x");
	record_made(f, "bbbb0002", "two", "a", "y", "y");
	job(f, "cccc0003", "three");
	input(f, "a");
	output(f, "x", "xx");
	record(f);
	assert_string_equal(text(f, (struct rerun_wish){ .force = true }),
			    "1 forced; 2 forced; 3 forced <1");
}

static void each_step_of_a_cycle_is_planned_once(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "one", NULL, "x", "x");
	record_made(f, "bbbb0002", "two", "x", "y", "y");
	record_made(f, "cccc0003", "one", "y", "x", "xx");
	assert_string_equal(all(f), "1 upstream cycle; 2 stale x <1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(what_is_unchanged_is_not_planned),
		FIXTURE_TEST(a_change_is_planned_with_what_may_follow),
		FIXTURE_TEST(what_another_step_made_anew_is_planned),
		FIXTURE_TEST(a_failure_is_planned),
		FIXTURE_TEST(
			a_missing_result_is_planned_and_what_is_needed_for_it),
		FIXTURE_TEST(steps_are_chosen_with_what_they_need),
		FIXTURE_TEST(identical_inputs_cut_off),
		FIXTURE_TEST(a_lost_source_is_named),
		FIXTURE_TEST(
			steps_that_share_a_written_file_wait_for_each_other),
		FIXTURE_TEST(each_step_of_a_cycle_is_planned_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
