/* test_store_situation.c - documents of jobs, shared by content. */
#include "fixture.h"
#include "store/store_situation.h"

static const char *document_of(struct fixture *f, int64_t job,
			       enum situation_kind kind)
{
	const char *json = "unset";

	ok(f, store_situation(f->s, &f->pool, job, kind, &json, &f->err));
	return json;
}

static void equal_documents_are_one_row(void **state)
{
	struct fixture *f = *state;
	int64_t first = add_job(f, "a1", "x", 1, 0);
	int64_t second = add_job(f, "a2", "y", 2, 0);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_situation_add(f->s, first, SITUATION_MACHINE, "{\"a\":1}",
				  &f->err));
	ok(f, store_situation_add(f->s, second, SITUATION_MACHINE, "{\"a\":1}",
				  &f->err));
	ok(f, store_situation_add(f->s, second, SITUATION_PACKAGES, "{\"a\":1}",
				  &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM situations"), 2);
	assert_string_equal(document_of(f, first, SITUATION_MACHINE),
			    "{\"a\":1}");
	assert_null(document_of(f, first, SITUATION_PACKAGES));
	assert_string_equal(document_of(f, second, SITUATION_PACKAGES),
			    "{\"a\":1}");
}

static void a_second_document_replaces_the_first(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_situation_add(f->s, job, SITUATION_USE, "1", &f->err));
	ok(f, store_situation_add(f->s, job, SITUATION_USE, "2", &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_string_equal(document_of(f, job, SITUATION_USE), "2");
}

static void documents_without_a_job_go_when_the_record_is_compacted(void **state)
{
	struct fixture *f = *state;
	int64_t first = add_job(f, "a1", "x", 1, 0);
	int64_t second = add_job(f, "a2", "y", 2, 0);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_situation_add(f->s, first, SITUATION_USE, "1", &f->err));
	ok(f, store_situation_add(f->s, second, SITUATION_USE, "2", &f->err));
	ok(f, store_job_remove(f->s, first, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_compact(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM situations"), 1);
	assert_string_equal(document_of(f, second, SITUATION_USE), "2");
	ok(f, store_check(f->s, &f->err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(equal_documents_are_one_row),
		STORE_TEST(a_second_document_replaces_the_first),
		STORE_TEST(
			documents_without_a_job_go_when_the_record_is_compacted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
