/* test_store_collection.c - collections, their members, names and uses. */
#include "fixture.h"
#include "store/store_collection.h"

static struct store_collection a_collection(uint8_t content, int64_t n)
{
	struct store_collection c = {
		.kind = COLLECTION_WEBDATASET,
		.n_members = n,
		.size = 10 * n,
	};

	memset(c.blake3, content, sizeof(c.blake3));
	return c;
}

/* A job that wrote two files below `dir` and one beside it; both are one collection. */
static int64_t job_with_use(struct fixture *f, const char *uid, unsigned role)
{
	int64_t job = add_job(f, uid, uid, (uint8_t)uid[1], 0);
	struct store_collection_use use = { .job_id = job,
					    .role = role,
					    .path = "/p/set" };
	const struct store_collection c = a_collection(77, 2);
	struct store_file file;

	file = a_file(job, "/p/set/b.tar", (uint8_t)role, 2);
	add_file(f, &file);
	file = a_file(job, "/p/set/a/1.tar", (uint8_t)role, 1);
	add_file(f, &file);
	file = a_file(job, "/p/set.txt", (uint8_t)role, 3);
	add_file(f, &file);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_collection_add(f->s, &c, &use.collection.id, &f->err));
	ok(f, store_collection_use_add(f->s, &use, &f->err));
	ok(f, store_commit(f->s, &f->err));
	return job;
}

/* The names of the members, each followed by a blank. */
static const char *members_of(struct fixture *f, int64_t id)
{
	CLEANUP(store_members_closep) struct store_members *m = NULL;
	struct store_member member;
	const char *all = "";
	int r;

	ok(f, store_members_open(f->s, id, 0, &m, &f->err));
	while ((r = store_members_next(m, &member, &f->err)) > 0)
		all = pool_printf(&f->pool, "%s%s %s", all, member.name,
				  member.n_members ? "(nested) " : "");
	ok(f, r);
	return all;
}

static void members_of_a_used_one_are_the_files_of_the_job(void **state)
{
	struct fixture *f = *state;
	struct store_collection_use *uses;
	struct store_collection c;
	size_t n;
	int64_t job = job_with_use(f, "a1", LINEAGE_OUTPUT);

	assert_int_equal(
		store_collection_at(f->s, &f->pool, "/p/set", &c, &f->err), 1);
	assert_int_equal(c.kind, COLLECTION_WEBDATASET);
	assert_int_equal(c.n_members, 2);
	assert_int_equal(c.size, 20);
	assert_int_equal(c.blake3[31], 77);
	assert_string_equal(c.path, "/p/set");
	assert_string_equal(members_of(f, c.id), "a/1.tar b.tar ");
	ok(f, store_job_collections(f->s, &f->pool, job, &uses, &n, &f->err));
	assert_int_equal(n, 1);
	assert_int_equal(uses->role, LINEAGE_OUTPUT);
	assert_string_equal(uses->path, "/p/set");
	assert_int_equal(store_collection_at(f->s, &f->pool, "/p", &c, &f->err),
			 0);
	ok(f, store_check(f->s, &f->err));
}

static void one_goes_with_the_last_job_that_used_it(void **state)
{
	struct fixture *f = *state;
	struct store_collection *all;
	struct store_stats stats;
	size_t n;
	int64_t first = job_with_use(f, "a1", LINEAGE_OUTPUT);
	int64_t second = job_with_use(f, "b2", LINEAGE_INPUT);

	ok(f, store_collections(f->s, &f->pool, &all, &n, &f->err));
	assert_int_equal(n, 1);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, second, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_string_equal(members_of(f, all->id), "a/1.tar b.tar ");
	ok(f, store_compact(f->s, &f->err));
	ok(f, store_check(f->s, &f->err));
	assert_string_equal(members_of(f, all->id), "a/1.tar b.tar ");

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, first, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_collections(f->s, &f->pool, &all, &n, &f->err));
	assert_int_equal(n, 0);
	ok(f, store_stats(f->s, &stats, &f->err));
	assert_int_equal(stats.n_artifacts, 0);
	ok(f, store_check(f->s, &f->err));
}

/* Names `content` with two members, the second of which is `nested`. */
static int64_t add_named(struct fixture *f, const char *name, uint8_t content,
			 uint8_t nested)
{
	const struct store_collection c = a_collection(content, 2);
	uint8_t blake3[BLAKE3_LEN];
	int64_t id;

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_collection_add(f->s, &c, &id, &f->err));
	if (store_members_begin(f->s, id, 3, &f->err) > 0) {
		memset(blake3, 5, sizeof(blake3));
		ok(f, store_member_add(f->s, id, 1, "/d/x\xff", 5, blake3,
				       &f->err));
		memset(blake3, nested, sizeof(blake3));
		ok(f,
		   store_member_add(f->s, id, 2, "/d/y", 7, blake3, &f->err));
	}
	ok(f, store_collection_name_add(f->s, id, name, "/d", &f->err));
	ok(f, store_commit(f->s, &f->err));
	return id;
}

static void a_name_means_its_newest_collection(void **state)
{
	struct fixture *f = *state;
	struct store_collection c;
	int64_t first = add_named(f, "train", 8, 6);
	int64_t second = add_named(f, "train", 9, 8);

	assert_int_equal(store_collection_named(f->s, &f->pool, "train", &c,
						&f->err),
			 1);
	assert_int_equal(c.id, second);
	assert_string_equal(c.names, "train");
	assert_int_equal(store_collection(f->s, &f->pool, first, &c, &f->err),
			 1);
	assert_string_equal(c.names, "");
	assert_string_equal(members_of(f, first), "x\xff y ");
	assert_string_equal(members_of(f, second), "x\xff y (nested) ");
	ok(f, store_begin(f->s, &f->err));
	assert_int_equal(store_collection_name_add(f->s, second, "train", "/d",
						   &f->err),
			 0);
	assert_int_equal(store_members_begin(f->s, second, 9, &f->err), 0);
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(store_collection_named(f->s, &f->pool, "other", &c,
						&f->err),
			 0);
	ok(f, store_compact(f->s, &f->err));
	ok(f, store_check(f->s, &f->err));
	assert_string_equal(members_of(f, second), "x\xff y (nested) ");
}

static void a_named_one_survives_the_job_that_used_it(void **state)
{
	struct fixture *f = *state;
	struct store_collection c;
	int64_t job = job_with_use(f, "a1", LINEAGE_OUTPUT);
	int64_t id = add_named(f, "kept", 77, 6);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(store_collection(f->s, &f->pool, id, &c, &f->err), 1);
	assert_string_equal(members_of(f, id), "x\xff y ");
	ok(f, store_compact(f->s, &f->err));
	ok(f, store_check(f->s, &f->err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(members_of_a_used_one_are_the_files_of_the_job),
		STORE_TEST(one_goes_with_the_last_job_that_used_it),
		STORE_TEST(a_name_means_its_newest_collection),
		STORE_TEST(a_named_one_survives_the_job_that_used_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
