/* test_tag.c - tags of jobs. */
#include "fixture.h"

#include "store/store_tag.h"

static void add(struct fixture *f, int64_t job_id, enum tag_action action,
		const char *kind, const char *value)
{
	struct tag tag = { (uint8_t)action, TAG_USER, kind, value };

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_tag_add(f->s, job_id, &tag, &f->err));
	ok(f, store_commit(f->s, &f->err));
}

static size_t tags_of(struct fixture *f, int64_t job_id, struct job_tag **ret)
{
	size_t n = 0;

	ok(f, store_tags(f->s, &f->pool, job_id, ret, &n, &f->err));
	return n;
}

static void all_fields_come_back(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct tag found = { TAG_ADD, TAG_SYSTEM, "license", "MIT \xc3\xa9" };
	struct job_tag *list;

	add(f, id, TAG_BLOCK, "jurisdiction", "");
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_tag_add(f->s, id, &found, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(tags_of(f, id, &list), 2);
	assert_int_equal(list[0].job_id, id);
	assert_int_equal(list[0].tag.action, TAG_ADD);
	assert_int_equal(list[0].tag.origin, TAG_SYSTEM);
	assert_string_equal(list[0].tag.kind, "license");
	assert_string_equal(list[0].tag.value, "MIT \xc3\xa9");
	assert_int_equal(list[1].tag.action, TAG_BLOCK);
	assert_int_equal(list[1].tag.origin, TAG_USER);
	assert_string_equal(list[1].tag.value, "");
}

static void the_same_tag_twice_is_one(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct job_tag *list;

	add(f, id, TAG_ADD, "license", "MIT");
	add(f, id, TAG_ADD, "license", "MIT");
	add(f, id, TAG_BLOCK, "license", "MIT");
	assert_int_equal(tags_of(f, id, &list), 2);
}

static void a_session_has_the_tags_of_its_jobs(void **state)
{
	struct fixture *f = *state;
	struct store_session old = { 0 };
	struct store_session new = { 0 };
	struct job_tag *list;
	size_t n = 0;

	add(f, add_job(f, "a1", "x", 1, 0), TAG_ADD, "license", "MIT");
	add(f, add_job(f, "a2", "y", 2, 0), TAG_ADD, "license", "GPL");
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_session_reset(f->s, &old, &new, &f->err));
	ok(f, store_commit(f->s, &f->err));
	add(f, add_job(f, "a3", "z", 3, 0), TAG_ADD, "license", "BSD");

	ok(f, store_session_tags(f->s, &f->pool, old.id, &list, &n, &f->err));
	assert_int_equal(n, 2);
	assert_string_equal(list[0].tag.value, "MIT");
	assert_string_equal(list[1].tag.value, "GPL");
	ok(f, store_session_tags(f->s, &f->pool, new.id, &list, &n, &f->err));
	assert_int_equal(n, 1);
	assert_string_equal(list[0].tag.value, "BSD");
}

static void they_go_with_their_job(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);

	add(f, id, TAG_ADD, "license", "MIT");
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, id, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM job_tags"), 0);
}

static void outside_a_transaction_nothing_is_added(void **state)
{
	struct fixture *f = *state;
	struct tag tag = { TAG_ADD, TAG_USER, "license", "MIT" };
	int64_t id = add_job(f, "a1", "x", 1, 0);

	assert_true(store_tag_add(f->s, id, &tag, &f->err) < 0);
	assert_int_equal(count(f, "SELECT count(*) FROM job_tags"), 0);
}

static void every_change_is_in_the_history(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct tag_change removal = {
		.removed = true,
		.tag = { id, { TAG_ADD, TAG_USER, "license", "" } },
	};
	struct tag_change *changes;
	struct job_tag *list;
	size_t n = 0;

	add(f, id, TAG_ADD, "license", "MIT");
	add(f, id, TAG_ADD, "license", "MIT");
	add(f, id, TAG_ADD, "license", "GPL");
	add(f, id, TAG_BLOCK, "license", "");
	ok(f, store_begin(f->s, &f->err));
	assert_int_equal(store_tag_change(f->s, &removal, &f->err), 2);
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(tags_of(f, id, &list), 1);
	assert_int_equal(list[0].tag.action, TAG_BLOCK);
	ok(f, store_tag_history(f->s, &f->pool, id, &changes, &n, &f->err));
	assert_int_equal(n, 5);
	assert_string_equal(changes[1].tag.tag.value, "GPL");
	assert_int_equal(changes[2].tag.tag.action, TAG_BLOCK);
	assert_false(changes[2].removed);
	assert_true(changes[3].removed && changes[4].removed);
	assert_true(changes[4].created_ns >= changes[0].created_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(all_fields_come_back),
		STORE_TEST(every_change_is_in_the_history),
		STORE_TEST(the_same_tag_twice_is_one),
		STORE_TEST(a_session_has_the_tags_of_its_jobs),
		STORE_TEST(they_go_with_their_job),
		STORE_TEST(outside_a_transaction_nothing_is_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
