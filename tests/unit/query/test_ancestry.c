/* test_ancestry.c - what went into a job. */
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "query/ancestry.h"
#include "query/query.h"
#include "query/target.h"
#include "sample.h"

/* "name<maker@depth ..." of what went into the job of `step`, in order. */
static const char *walk(struct fixture *f, const char *step, unsigned flags)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	struct roar_error err = { 0 };
	struct str text = STR_INIT;
	struct ancestor *found;
	struct target t;
	const char *copy;
	size_t n;

	assert_int_equal(target_resolve(&q, f->dir, step, TARGET_ANY, &t, &err),
			 0);
	assert_int_equal(ancestry_walk(&q, &t.job, flags, &found, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		str_addf(&text, "%s%s%s<%s@%zu", i ? " " : "",
			 path_basename(found[i].row->path),
			 found[i].moved ? "(moved)" :
			 found[i].again ? "(again)" :
					  "",
			 found[i].maker ? found[i].maker->uid : "-",
			 found[i].depth);
	copy = pool_strdup(&f->pool, str_cstr(&text));
	str_release(&text);
	query_release(&q);
	return copy;
}

static void inputs_are_direct_or_all(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_string_equal(walk(f, "@3", 0), "model.pt<bbbb0002@1");
	assert_string_equal(walk(f, "@1", ANCESTRY_DEEP), "raw.csv<-@1");
	/* raw.csv is read by two jobs and listed once. */
	assert_string_equal(
		walk(f, "@3", ANCESTRY_DEEP),
		"model.pt<bbbb0002@1 features.bin<aaaa0001@2 raw.csv<-@2");
	assert_string_equal(walk(f, "@3", ANCESTRY_DEEP | ANCESTRY_ALL_USES),
			    "model.pt<bbbb0002@1 features.bin<aaaa0001@2 "
			    "raw.csv<-@2 raw.csv(again)<-@3");
}

static void what_was_moved_is_an_input_under_its_old_name(void **state)
{
	struct fixture *f = *state;

	record_moves(f);
	assert_string_equal(walk(f, "@3", ANCESTRY_DEEP),
			    "yy(moved)<bbbb0002@1 y(moved)<aaaa0001@2");
}

static void a_job_is_visited_once_in_a_cycle(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "one", NULL, "a", "1");
	record_made(f, "bbbb0002", "two", "a", "b", "2");
	record_made(f, "cccc0003", "one", "b", "a", "1");
	assert_string_equal(walk(f, "cccc0003", ANCESTRY_DEEP),
			    "b<bbbb0002@1 a<aaaa0001@2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(inputs_are_direct_or_all),
		FIXTURE_TEST(what_was_moved_is_an_input_under_its_old_name),
		FIXTURE_TEST(a_job_is_visited_once_in_a_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
