/* test_store_label.c - versions of labels. */
#include "fixture.h"

#include "alloc_fail.h"
#include "store/store_label.h"

static int64_t add(struct fixture *f, enum label_entity entity, int64_t id,
		   const char *document)
{
	struct store_label label = { .entity_id = id, .document = document };
	int64_t version = 0;

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_label_add(f->s, entity, &label, &version, &f->err));
	ok(f, store_commit(f->s, &f->err));
	return version;
}

static const char *current(struct fixture *f, enum label_entity entity,
			   int64_t id, int64_t version)
{
	struct store_label label;

	ok(f, store_label(f->s, &f->pool, entity, id, &label, &f->err));
	assert_int_equal(label.version, version);
	assert_int_equal(label.entity_id, id);
	return label.document;
}

static void each_entity_has_versions_of_its_own(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	struct store_label *all;
	size_t n;

	assert_string_equal(current(f, LABEL_JOB, job, 0), "{}");
	assert_int_equal(add(f, LABEL_JOB, job, "{\"a\":1}"), 1);
	assert_int_equal(add(f, LABEL_JOB, job, "{\"a\":2}"), 2);
	assert_int_equal(add(f, LABEL_SESSION, 1, "{\"s\":1}"), 1);
	assert_string_equal(current(f, LABEL_JOB, job, 2), "{\"a\":2}");
	assert_string_equal(current(f, LABEL_SESSION, 1, 1), "{\"s\":1}");
	assert_string_equal(current(f, LABEL_ARTIFACT, 1, 0), "{}");
	ok(f, store_label_history(f->s, &f->pool, LABEL_JOB, job, &all, &n,
				  &f->err));
	assert_int_equal(n, 2);
	assert_string_equal(all[0].document, "{\"a\":1}");
	assert_int_equal(all[1].version, 2);
	assert_true(all[0].created_ns > 0);
	ok(f,
	   store_labels_current(f->s, &f->pool, LABEL_JOB, &all, &n, &f->err));
	assert_int_equal(n, 1);
	assert_string_equal(all[0].document, "{\"a\":2}");
	assert_int_equal(all[0].entity_id, job);
}

static void labels_go_with_the_job_and_its_content(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	struct store_file file = a_file(job, "/m", LINEAGE_OUTPUT, 7);

	add_file(f, &file);
	(void)add(f, LABEL_JOB, job, "{\"a\":1}");
	(void)add(f, LABEL_ARTIFACT,
		  count(f, "SELECT artifact_id FROM job_files"), "{\"b\":1}");
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM labels"), 0);
	ok(f, store_check(f->s, &f->err));
}

static void what_is_not_there_cannot_be_labelled(void **state)
{
	struct fixture *f = *state;
	struct store_label label = { .entity_id = 99, .document = "{}" };
	int64_t version;

	assert_true(store_label_add(f->s, LABEL_JOB, &label, &version,
				    &f->err) < 0); /* outside a transaction */
	ok(f, store_begin(f->s, &f->err));
	assert_true(store_label_add(f->s, LABEL_JOB, &label, &version,
				    &f->err) < 0);
	store_rollback(f->s);
}

/* Out of memory changes nothing, and is reported. */
static void without_memory_nothing_is_added(void **state)
{
	struct fixture *f = *state;
	struct store_label label = { .entity_id = 1, .document = "{\"a\":1}" };
	int64_t version;
	int r = -1;

	(void)add_job(f, "a1", "x", 1, 0);
	for (int n = 0; r < 0; n++) {
		ok(f, store_begin(f->s, &f->err));
		alloc_fail_after(n);
		r = store_label_add(f->s, LABEL_SESSION, &label, &version,
				    &f->err);
		alloc_fail_never();
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
		store_rollback(f->s);
	}
	assert_int_equal(count(f, "SELECT count(*) FROM labels"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(each_entity_has_versions_of_its_own),
		STORE_TEST(labels_go_with_the_job_and_its_content),
		STORE_TEST(what_is_not_there_cannot_be_labelled),
		STORE_TEST(without_memory_nothing_is_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
