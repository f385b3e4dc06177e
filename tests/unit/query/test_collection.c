/* test_collection.c - what differs between two collections, and lists with them. */
#include <string.h>
#include <sys/stat.h>

#include "query/collection.h"
#include "query/collection_fold.h"
#include "query/query.h"
#include "query/target.h"
#include "sample.h"

/* A named collection whose members are the letters of `names`, each with the content of
 * the digit after it: "a1b2". */
static int64_t named(struct fixture *f, const char *name, const char *names)
{
	struct store_collection c = {
		.kind = COLLECTION_PLAIN,
		.n_members = (int64_t)strlen(names) / 2,
	};
	struct roar_error err = { 0 };
	int64_t id;

	memcpy(c.blake3, names, strlen(names));
	assert_int_equal(store_begin(f->store, &err), 0);
	assert_int_equal(store_collection_add(f->store, &c, &id, &err), 0);
	assert_int_equal(store_members_begin(f->store, id, 3, &err), 1);
	for (int i = 0; names[2 * i]; i++) {
		char path[] = "/d/x";
		uint8_t blake3[BLAKE3_LEN];

		path[3] = names[2 * i];
		memset(blake3, names[2 * i + 1], sizeof(blake3));
		assert_int_equal(store_member_add(f->store, id, i + 1, path, 1,
						  blake3, &err),
				 0);
	}
	assert_int_equal(
		store_collection_name_add(f->store, id, name, "/d", &err), 1);
	assert_int_equal(store_commit(f->store, &err), 0);
	return id;
}

static int say(void *ctx, enum member_change change,
	       const struct store_member *before,
	       const struct store_member *after)
{
	str_addf(ctx, "%c%s ", "+-!"[change],
		 before ? before->name : after->name);
	return 0;
}

static void a_difference_is_listed_by_name(void **state)
{
	struct fixture *f = *state;
	struct query q = { .store = f->store, .pool = &f->pool };
	struct str said = STR_INIT;
	struct roar_error err = { 0 };
	struct member_diff n;
	int64_t before = named(f, "one", "a1b1c1e1");
	int64_t after = named(f, "two", "b1c2d1e1f1");

	assert_int_equal(
		collection_diff(&q, before, after, say, &said, &n, &err), 0);
	assert_string_equal(str_cstr(&said), "-a !c +d +f ");
	assert_int_equal(n.n_added, 2);
	assert_int_equal(n.n_removed, 1);
	assert_int_equal(n.n_changed, 1);
	assert_int_equal(n.n_same, 2);
	assert_int_equal(
		collection_diff(&q, after, after, NULL, NULL, &n, &err), 0);
	assert_int_equal(n.n_same, 5);
	assert_int_equal(n.n_added + n.n_removed + n.n_changed, 0);
	str_release(&said);
	query_release(&q);
}

static void a_name_is_a_target(void **state)
{
	struct fixture *f = *state;
	struct query q = { .store = f->store, .pool = &f->pool };
	struct roar_error err = { 0 };
	struct target t;
	int64_t id = named(f, "train", "a1b1");

	assert_int_equal(
		target_resolve(&q, f->dir, "train", TARGET_ANY, &t, &err), 0);
	assert_int_equal(t.kind, TARGET_ARTIFACT);
	assert_int_equal(t.artifact.id, id);
	assert_int_equal(t.collection.id, id);
	assert_int_equal(t.collection.n_members, 2);
	assert_int_equal(target_collection(&q, f->dir, "/d", &t, &err), 0);
	assert_int_equal(t.collection.id, id);
	assert_int_equal(target_collection(&q, f->dir, "61316231", &t, &err),
			 0);
	assert_int_equal(t.collection.id, id);
	assert_int_equal(target_collection(&q, f->dir, "test", &t, &err),
			 -ENOENT);
	query_release(&q);
}

/* A job that read `n` files below DIR/set, which is a collection of `n_members`. */
static int64_t reader(struct fixture *f, const char *uid, int n, int n_members)
{
	struct store_collection c = { .kind = COLLECTION_PLAIN,
				      .n_members = n_members };
	struct store_collection_use use = { .role = LINEAGE_INPUT };
	struct roar_error err = { 0 };

	(void)mkdir(pool_printf(&f->pool, "%s/set", f->dir), 0755);
	job(f, uid, "read");
	for (int i = 0; i < n; i++)
		put(f, pool_printf(&f->pool, "set/%d", i), "x");
	for (int i = 0; i < n; i++)
		input(f, pool_printf(&f->pool, "set/%d", i));
	record(f);
	memcpy(c.blake3, uid, 4);
	use.job_id = f->n_jobs;
	use.path = pool_printf(&f->pool, "%s/set", f->dir);
	assert_int_equal(store_begin(f->store, &err), 0);
	assert_int_equal(store_collection_add(f->store, &c, &use.collection.id,
					      &err),
			 0);
	assert_int_equal(store_collection_use_add(f->store, &use, &err), 0);
	assert_int_equal(store_commit(f->store, &err), 0);
	return use.job_id;
}

static bool is_one_line(struct fixture *f, int64_t job_id, int n,
			bool two_makers)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	struct collection_fold fold = { .query = &q };
	const struct collection_group *group;
	struct roar_error err = { 0 };
	const char *path = NULL;
	bool whole;

	for (int i = 0; i < n; i++) {
		path = pool_printf(&f->pool, "%s/set/%d", f->dir, i);
		assert_int_equal(collection_fold_count(
					 &fold, job_id, LINEAGE_INPUT, path,
					 two_makers && i ? f : NULL, &err),
				 0);
	}
	assert_null(collection_fold_find(&fold, job_id, LINEAGE_OUTPUT, path));
	assert_null(
		collection_fold_find(&fold, job_id + 1, LINEAGE_INPUT, path));
	group = collection_fold_find(&fold, job_id, LINEAGE_INPUT, path);
	whole = group && collection_group_is_whole(group);
	collection_fold_release(&fold);
	query_release(&q);
	return whole;
}

static void files_become_one_line_when_all_of_them_are_listed(void **state)
{
	struct fixture *f = *state;
	int64_t small = reader(f, "aaaa0000", 2, 2);
	int64_t large = reader(f, "bbbb0000", COLLECTION_FOLD_MIN,
			       COLLECTION_FOLD_MIN);

	assert_false(is_one_line(f, small, 2, false));
	assert_true(is_one_line(f, large, COLLECTION_FOLD_MIN, false));
	assert_false(is_one_line(f, large, COLLECTION_FOLD_MIN - 1, false));
	assert_false(is_one_line(f, large, COLLECTION_FOLD_MIN, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_difference_is_listed_by_name),
		FIXTURE_TEST(a_name_is_a_target),
		FIXTURE_TEST(files_become_one_line_when_all_of_them_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
