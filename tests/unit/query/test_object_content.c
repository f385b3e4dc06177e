/* test_object_content.c - objects without a digest that are the same content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/pool.h"
#include "event/event.h"
#include "query/object_content.h"
#include "store/store.h"

static struct store_file object(const char *path, const char *etag,
				int64_t artifact)
{
	struct store_file row = { .path = path,
				  .etag = etag,
				  .ftype = EVENT_FTYPE_OBJECT,
				  .artifact_id = artifact };

	if (artifact) {
		row.digests.have = DIGEST_SET_BLAKE3;
		memset(row.digests.blake3, (int)artifact, BLAKE3_LEN);
	}
	return row;
}

static void the_same_etag_shares_the_artifact(void **state)
{
	struct pool pool = POOL_INIT;
	struct store_file rows[] = {
		object("s3://b/k", "e1", 0),
		object("s3://b/k", "e1", 5),
		object("s3://b/k", "e2", 0),
		object("s3://b/l", "e1", 0),
	};

	(void)state;
	assert_int_equal(object_content_share(&pool, rows, ARRAY_SIZE(rows)),
			 0);
	assert_int_equal(rows[0].artifact_id, 5);
	assert_int_equal(rows[0].digests.blake3[0], 5);
	assert_true(rows[2].artifact_id < 0);
	assert_int_equal(rows[2].digests.have, 0);
	assert_true(rows[3].artifact_id < 0);
	assert_true(rows[2].artifact_id != rows[3].artifact_id);
	pool_release(&pool);
}

static void unidentified_rows_with_one_etag_are_one_content(void **state)
{
	struct pool pool = POOL_INIT;
	struct store_file rows[] = {
		object("s3://b/k", "e1", 0),
		object("s3://b/k", "e2", 0),
		object("s3://b/k", "e1", 0),
	};

	(void)state;
	assert_int_equal(object_content_share(&pool, rows, ARRAY_SIZE(rows)),
			 0);
	assert_int_equal(rows[0].artifact_id, rows[2].artifact_id);
	assert_true(rows[0].artifact_id != rows[1].artifact_id);
	pool_release(&pool);
}

static void files_and_objects_without_an_etag_stay_unknown(void **state)
{
	struct pool pool = POOL_INIT;
	struct store_file rows[] = {
		object("s3://b/k", "", 0),
		object("s3://b/k", "", 7),
		object("/f", "e1", 0),
	};

	(void)state;
	rows[2].ftype = EVENT_FTYPE_REGULAR;
	assert_int_equal(object_content_share(&pool, rows, ARRAY_SIZE(rows)),
			 0);
	assert_int_equal(rows[0].artifact_id, 0);
	assert_int_equal(rows[1].artifact_id, 7);
	assert_int_equal(rows[2].artifact_id, 0);
	pool_release(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_etag_shares_the_artifact),
		cmocka_unit_test(
			unidentified_rows_with_one_etag_are_one_content),
		cmocka_unit_test(files_and_objects_without_an_etag_stay_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
