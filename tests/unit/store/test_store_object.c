/* test_store_object.c - places of object stores, beside the rows of files. */
#include "event/event.h"
#include "fixture.h"

#define PLACE "s3://data/a b"

static const struct store_object a_get = {
	.op = "get",
	.endpoint = "http://h",
	.version = "v1",
	.etag = "e1",
	.ranges = "0-9,20-29",
	.n_requests = 2,
	.pid = 7,
};

static void add_object(struct fixture *f, int64_t job, uint8_t role,
		       uint8_t content, const struct store_object *object)
{
	struct store_file file = a_file(job, PLACE, role, content);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_object_add(f->s, &file, object, &f->err));
	ok(f, store_commit(f->s, &f->err));
}

/* The artifact of the only row of that job. */
static int64_t content_of(struct fixture *f, int64_t job)
{
	struct store_file *files;
	size_t n = 0;

	ok(f, store_files(f->s, &f->pool, job, false, &files, &n, &f->err));
	assert_int_equal(n, 1);
	return files[0].artifact_id;
}

static void rows_come_back_beside_their_files(void **state)
{
	const struct store_object put = { .op = "complete-upload",
					  .endpoint = "http://h",
					  .etag = "e2-3",
					  .copy_source = "data/x",
					  .n_parts = 3 };
	struct fixture *f = *state;
	int64_t job = add_job(f, "a1", "x", 1, 0);
	struct store_file local = a_file(job, "/local", LINEAGE_INPUT, 1);
	const struct store_object *object;
	struct store_object *objects;
	struct store_file *files;
	size_t n_objects;
	size_t n;

	add_file(f, &local);
	add_object(f, job, LINEAGE_INPUT, 0, &a_get);
	add_object(f, job, LINEAGE_OUTPUT, 2, &put);
	ok(f, store_files(f->s, &f->pool, job, false, &files, &n, &f->err));
	ok(f,
	   store_objects(f->s, &f->pool, job, &objects, &n_objects, &f->err));
	assert_int_equal(n, 3);
	assert_int_equal(n_objects, 2);
	assert_null(store_object_of(objects, n_objects, files[0].n));
	assert_string_equal(files[0].etag, "");

	object = store_object_of(objects, n_objects, files[1].n);
	assert_string_equal(files[1].path, PLACE);
	assert_int_equal(files[1].ftype, EVENT_FTYPE_OBJECT);
	assert_string_equal(files[1].etag, "e1");
	assert_string_equal(object->op, "get");
	assert_string_equal(object->endpoint, "http://h");
	assert_string_equal(object->version, "v1");
	assert_string_equal(object->etag, "e1");
	assert_string_equal(object->ranges, "0-9,20-29");
	assert_string_equal(object->copy_source, "");
	assert_int_equal(object->n_requests, 2);
	assert_int_equal(object->pid, 7);

	object = store_object_of(objects, n_objects, files[2].n);
	assert_int_equal(object->n_parts, 3);
	assert_string_equal(object->copy_source, "data/x");
	assert_string_equal(object->ranges, "");
	ok(f, store_check(f->s, &f->err));
}

static void they_go_with_their_job(void **state)
{
	struct fixture *f = *state;
	int64_t first = add_job(f, "a1", "x", 1, 0);
	int64_t second = add_job(f, "a2", "y", 2, 0);

	add_object(f, first, LINEAGE_INPUT, 0, &a_get);
	add_object(f, second, LINEAGE_INPUT, 0, &a_get);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, first, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM objects"), 1);
	assert_int_equal(count(f, "SELECT job_id FROM objects"), second);
}

/* A part of an object is read that an earlier job wrote as a whole. */
static void the_same_etag_at_the_same_place_is_the_same_content(void **state)
{
	struct fixture *f = *state;
	int64_t writer = add_job(f, "a1", "x", 1, 0);
	int64_t reader = add_job(f, "a2", "y", 2, 0);

	add_object(f, writer, LINEAGE_OUTPUT, 5, &a_get);
	add_object(f, reader, LINEAGE_INPUT, 0, &a_get);
	assert_true(content_of(f, writer) != 0);
	assert_int_equal(content_of(f, reader), content_of(f, writer));
}

static void another_etag_or_endpoint_is_not_known(void **state)
{
	struct fixture *f = *state;
	struct store_object other = a_get;
	struct store_object elsewhere = a_get;
	struct store_object weak = a_get;
	struct store_object bare = a_get;
	const struct store_object *all[] = { &other, &elsewhere, &weak, &bare };
	int64_t writer = add_job(f, "a1", "x", 1, 0);
	char uid[3] = "b0";

	other.etag = "e2";
	elsewhere.endpoint = "http://i";
	weak.etag = "W/e3";
	bare.etag = "";
	add_object(f, writer, LINEAGE_OUTPUT, 5, &a_get);
	writer = add_job(f, "a3", "x", 1, 0);
	add_object(f, writer, LINEAGE_OUTPUT, 6, &weak);
	writer = add_job(f, "a4", "x", 1, 0);
	add_object(f, writer, LINEAGE_OUTPUT, 7, &bare);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int64_t reader;

		uid[1]++;
		reader = add_job(f, uid, "y", 2, 0);
		add_object(f, reader, LINEAGE_INPUT, 0, all[i]);
		assert_int_equal(content_of(f, reader), 0);
	}
}

/* What was seen counts for more than what an earlier record says. */
static void a_digest_of_its_own_is_kept(void **state)
{
	struct fixture *f = *state;
	int64_t writer = add_job(f, "a1", "x", 1, 0);
	int64_t reader = add_job(f, "a2", "y", 2, 0);

	add_object(f, writer, LINEAGE_OUTPUT, 5, &a_get);
	add_object(f, reader, LINEAGE_INPUT, 6, &a_get);
	assert_true(content_of(f, reader) != content_of(f, writer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(rows_come_back_beside_their_files),
		STORE_TEST(they_go_with_their_job),
		STORE_TEST(the_same_etag_at_the_same_place_is_the_same_content),
		STORE_TEST(another_etag_or_endpoint_is_not_known),
		STORE_TEST(a_digest_of_its_own_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
