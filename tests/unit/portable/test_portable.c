/* test_portable.c - records that leave a store and arrive in another. */
#include "fixture.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "base/fd.h"
#include "base/str.h"
#include "hash/dir/dir_hash.h"
#include "portable/portable.h"
#include "store/store_collection.h"
#include "store/store_edge.h"
#include "store/store_group.h"
#include "store/store_label.h"
#include "store/store_situation.h"
#include "store/store_tag.h"

/* The store that imports; the fixture's store exports. */
static struct store *open_other(struct fixture *f)
{
	char dir[80];
	struct store *other = NULL;

	(void)snprintf(dir, sizeof(dir), "%s/other", f->dir);
	(void)mkdir(dir, 0700);
	ok(f, store_open(dir, STORE_CREATE, &other, &f->err));
	return other;
}

static void export_to(struct fixture *f, struct store *s, struct str *ret)
{
	struct store_job_query all = { 0 };
	struct store_job *jobs;
	int64_t ids[16];
	int fd = memfd_create("portable", MFD_CLOEXEC);
	size_t n;

	ok(f, store_jobs(s, &f->pool, &all, &jobs, &n, &f->err));
	assert_true(n <= 16);
	for (size_t i = 0; i < n; i++)
		ids[i] = jobs[i].id;
	ok(f, portable_write(s, ids, n, "roar test", fd, &f->err));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	str_clear(ret);
	ok(f, str_reserve(ret, 1 << 20));
	ret->len = (size_t)fd_read_all(fd, ret->data, 1 << 20);
	ret->data[ret->len] = '\0';
	(void)close(fd);
}

/* The text is split between head and file, to see that both count. */
static int import(struct fixture *f, struct store *s, const char *text,
		  struct portable_result *ret)
{
	size_t len = strlen(text);
	size_t head = len < 100 ? len : 100;
	int fd = memfd_create("portable", MFD_CLOEXEC);
	struct portable_input in = { .name = "FILE",
				     .fd = fd,
				     .head = text,
				     .head_len = head };
	int r;

	assert_int_equal(fd_write_all(fd, text + head, len - head), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	f->err.text[0] = '\0';
	r = portable_read(s, &in, ret, &f->err);
	(void)close(fd);
	return r;
}

/* The hash of a directory with the file "a", whose BLAKE3 is 32 times 9. */
static void hash_of_dir(struct fixture *f, uint8_t ret[BLAKE3_LEN])
{
	CLEANUP(dir_hash_freep) struct dir_hash *tree = NULL;
	uint8_t content[BLAKE3_LEN];

	memset(content, 9, sizeof(content));
	ok(f, dir_hash_new(&tree));
	ok(f, dir_hash_add_digest(tree, "a", 1, content));
	ok(f, dir_hash_root(tree, ret));
}

/* A job with a row of every kind; the second has only what differs. */
static void fill(struct fixture *f)
{
	int64_t id = add_job(f, "aaaa0001", "train --x", 1, 2);
	int64_t second = add_job(f, "aaaa0002", "eval", 3, 0);
	struct store_process p = { .pid = 7,
				   .command = "a\xff\"b",
				   .status = -1,
				   .n_execs = -1 };
	struct store_rank rank = { 1, 0, -1, 2, "torchrun", "g1" };
	struct store_gap gap = { 2, "detail", 3 };
	struct store_left_out left = { "x", "too large" };
	struct store_shard shard = { 7, -1, 1, 2, "data", "/s" };
	struct store_checkpoint c = { .n = 1,
				      .step = 5,
				      .manifest = { 1 },
				      .parent = "",
				      .path = "/c" };
	struct store_file file = a_file(id, "/out\xfe", LINEAGE_OUTPUT, 9);
	struct store_file object = a_file(id, "s3://b/k", LINEAGE_INPUT, 8);
	struct store_object o = { .op = "get", .etag = "e", .n_requests = 1 };
	struct store_edge edge = { 1, 1, 4, 1 };
	struct store_collection_use use = {
		.collection = { .kind = COLLECTION_PLAIN,
				.n_members = 1,
				.size = 9 },
		.job_id = id,
		.role = LINEAGE_OUTPUT,
		.path = "/dir",
	};
	struct tag tag = { TAG_ADD, TAG_USER, "license", "MIT" };
	struct store_group group = { "g1", 0, 2 };
	struct store_label label = { .document = "{\"a\":1}" };
	int64_t version;

	file.digests.have |= 1 << DIGEST_MD5;
	memset(file.digests.md5, 7, sizeof(file.digests.md5));
	object.ftype = 32;
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_process_add(f->s, id, &p, &f->err));
	ok(f, store_rank_add(f->s, id, &rank, &f->err));
	ok(f, store_gap_add(f->s, id, &gap, &f->err));
	ok(f, store_left_out_add(f->s, id, &left, &f->err));
	ok(f, store_file_add(f->s, &file, &f->err));
	ok(f, store_object_add(f->s, &object, &o, &f->err));
	file = a_file(id, "/dir/a", LINEAGE_OUTPUT, 9);
	ok(f, store_file_add(f->s, &file, &f->err));
	ok(f, store_edges_add(f->s, id, 1, &edge, 1, &f->err));
	ok(f, store_shard_add(f->s, id, &shard, &f->err));
	ok(f, store_checkpoint_add(f->s, id, &c, &f->err));
	ok(f, store_checkpoint_shard_add(f->s, id, 1, &shard, &f->err));
	hash_of_dir(f, use.collection.blake3);
	ok(f, store_collection_add(f->s, &use.collection, &use.collection.id,
				   &f->err));
	ok(f, store_collection_use_add(f->s, &use, &f->err));
	ok(f, store_tag_add(f->s, id, &tag, &f->err));
	ok(f, store_tag_change(f->s,
			       &(struct tag_change){ .removed = true,
						     .tag = { id, tag } },
			       &f->err));
	ok(f, store_group_add(f->s, id, &group, &f->err));
	for (int64_t job = id; job <= second; job++)
		ok(f, store_situation_add(f->s, job, SITUATION_MACHINE,
					  "{\"host\":\"h\"}", &f->err));
	label.entity_id = id;
	ok(f, store_label_add(f->s, LABEL_JOB, &label, &version, &f->err));
	ok(f, store_label_add(f->s, LABEL_JOB, &label, &version, &f->err));
	label.entity_id = 1;
	ok(f, store_label_add(f->s, LABEL_SESSION, &label, &version, &f->err));
	ok(f, store_label_add(f->s, LABEL_ARTIFACT, &label, &version, &f->err));
	ok(f, store_part_add(f->s, second, id, &f->err));
	ok(f, store_commit(f->s, &f->err));
}

/* Without the times of writing and of closing, which differ. */
static void drop_times(struct str *text)
{
	static const char *const keys[] = { "\"written_ns\":",
					    ",\"closed_ns\":", ",\"hash\":" };

	for (size_t i = 0; i < 3; i++) {
		char *at = strstr(text->data, keys[i]);
		size_t n = at ? strcspn(at + strlen(keys[i]), ",}") : 0;

		if (!at)
			continue;
		n += strlen(keys[i]);
		memmove(at, at + n, strlen(at + n) + 1);
	}
}

static void what_arrives_is_what_left(void **state)
{
	struct fixture *f = *state;
	struct store *other = open_other(f);
	struct str sent = STR_INIT;
	struct str found = STR_INIT;
	struct portable_result result;
	struct store_session session;

	fill(f);
	export_to(f, f->s, &sent);
	assert_true(portable_matches(sent.data, sent.len));
	ok(f, import(f, other, sent.data, &result));
	assert_int_equal(result.n_jobs, 2);
	export_to(f, other, &found);
	drop_times(&sent);
	drop_times(&found);
	assert_string_equal(found.data, sent.data);
	/* Every kind of line was there. */
	for (size_t i = 0; i < 20; i++) {
		static const char *const kinds[] = {
			"roar_record", "session",
			"job",	       "situation",
			"process",     "rank",
			"gap",	       "left_out",
			"file",	       "object",
			"edge",	       "shard",
			"checkpoint",  "checkpoint_shard",
			"collection",  "tag",
			"group",       "part",
			"label",       "end",
		};
		char start[40];

		(void)snprintf(start, sizeof(start), "{\"%s\":{", kinds[i]);
		if (!strstr(sent.data, start))
			fail_msg("no line '%s'", start);
	}
	ok(f, store_check(other, &f->err));
	assert_int_equal(store_session_active(other, false, &session, NULL),
			 -ENOENT);
	store_close(other);
	str_release(&sent);
	str_release(&found);
}

static void a_second_import_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct store *other = open_other(f);
	struct str sent = STR_INIT;
	struct str once = STR_INIT;
	struct str twice = STR_INIT;
	struct portable_result result;

	fill(f);
	export_to(f, f->s, &sent);
	ok(f, import(f, other, sent.data, &result));
	export_to(f, other, &once);
	ok(f, import(f, other, sent.data, &result));
	assert_int_equal(result.n_jobs, 0);
	assert_int_equal(result.n_known, 2);
	export_to(f, other, &twice);
	drop_times(&once);
	drop_times(&twice);
	assert_string_equal(once.data, twice.data);
	/* The record that wrote it knows it, too. */
	ok(f, import(f, f->s, sent.data, &result));
	assert_int_equal(result.n_known, 2);
	store_close(other);
	str_release(&sent);
	str_release(&once);
	str_release(&twice);
}

#define HEADER "{\"roar_record\":{\"version\":1}}\n"
#define SESSION "{\"session\":{\"uid\":\"00000000000000aa\"}}\n"
#define JOB                                                                \
	"{\"job\":{\"uid\":\"cccc0001\",\"session\":\"00000000000000aa\"," \
	"\"kind\":\"run\",\"step\":1,\"attempt\":1}}\n"

static void hostile_files_are_refused_and_add_nothing(void **state)
{
	static const struct {
		const char *text;
		const char *words;
	} cases[] = {
		{ "", "cut off" },
		{ "{\"roar_record\":{\"version\":1}}", "cut off" },
		{ "x\n", "line 1: it is not a JSON object" },
		{ "{\"a\":1,\"b\":2}\n", "one key" },
		{ SESSION, "line 1: it is not the header" },
		{ HEADER HEADER, "line 2: it is a second header" },
		{ "{\"roar_record\":{\"version\":2}}\n", "upgrade roar" },
		{ HEADER "{\"nothing\":{}}\n", "kind 'nothing'" },
		{ HEADER "{\"job\":7}\n", "not an object" },
		{ HEADER SESSION, "line 3: the record is cut off here" },
		{ HEADER SESSION "{\"end\":{\"n_lines\":9}}\n", "9 lines" },
		{ HEADER "{\"end\":{\"n_lines\":1}}\n" SESSION,
		  "after the end" },
		{ HEADER "{\"session\":{\"uid\":\"xx\"}}\n", "'uid'" },
		{ HEADER "{\"session\":{}}\n", "no UID" },
		{ HEADER JOB, "does not come before" },
		{ HEADER SESSION "{\"process\":{\"pid\":1}}\n", "no job" },
		{ HEADER SESSION "{\"job\":{\"uid\":\"cccc0001\"}}\n",
		  "'step' is not a number" },
		{ HEADER SESSION JOB JOB "{\"end\":{\"n_lines\":4}}\n", NULL },
		{ HEADER SESSION JOB "{\"process\":{\"pid\":-1}}\n", "'pid'" },
		{ HEADER SESSION JOB "{\"process\":{\"pid\":1.5}}\n",
		  "'pid' is not an integer" },
		{ HEADER SESSION JOB
		  "{\"process\":{\"pid\":1,\"command\":[]}}\n",
		  "'command' is not text" },
		{ HEADER SESSION JOB "{\"process\":{\"pid\":1,\"command\":\"\","
				     "\"command_bytes\":\"00\"}}\n",
		  "'command' is not text" },
		{ HEADER SESSION JOB "{\"rank\":{\"process\":1}}\n",
		  "no process" },
		{ HEADER SESSION JOB "{\"edge\":{\"process\":1,\"file\":1,"
				     "\"kind\":1}}\n",
		  "no process" },
		{ HEADER SESSION JOB "{\"file\":{\"path\":\"/x\",\"role\":3}}\n",
		  "several roles" },
		{ HEADER SESSION JOB "{\"file\":{\"path\":\"/x\",\"role\":1,"
				     "\"digests\":{\"md5\":\"00\"}}}\n",
		  "'digests'" },
		{ HEADER SESSION JOB
		  "{\"collection\":{\"kind\":1,\"n_members\":1,"
		  "\"role\":2,\"path\":\"/d\"}}\n",
		  "does not have the files" },
		{ HEADER SESSION JOB
		  "{\"tag\":{\"kind\":\"A B\",\"value\":\"x\"}}\n",
		  "kind of tag" },
		{ HEADER SESSION JOB "{\"part\":{\"job\":\"cccc0001\"}}\n",
		  "the job itself" },
		{ HEADER SESSION JOB "{\"situation\":{\"kind\":1,"
				     "\"document\":\"x\"}}\n",
		  "JSON object" },
		{ HEADER SESSION JOB "{\"label\":{\"document\":\"[]\"}}\n",
		  "label document" },
		{ HEADER SESSION
		  "{\"job\":{\"uid\":\"cccc0001\",\"step\":1,"
		  "\"attempt\":1,\"session\":\"00000000000000aa\","
		  "\"kind\":\"evil\"}}\n",
		  "kind 'evil'" },
	};
	struct fixture *f = *state;
	struct portable_result result;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (!cases[i].words)
			continue;
		assert_int_equal(import(f, f->s, cases[i].text, &result),
				 -EINVAL);
		if (!strstr(f->err.text, cases[i].words) ||
		    !strstr(f->err.text, "cannot import 'FILE'"))
			fail_msg("'%s' lacks '%s'", f->err.text,
				 cases[i].words);
		assert_int_equal(count(f, "SELECT count(*) FROM sessions"), 0);
	}
}

static void local_records_stay_as_they_are(void **state)
{
	struct fixture *f = *state;
	struct str text = STR_INIT;
	struct portable_result result;
	struct store_session session;
	int64_t job = add_job(f, "cccc0001", "x", 1, 0);
	struct store_file file = a_file(job, "/x", LINEAGE_OUTPUT, 9);
	struct store_artifact *found;
	size_t n;

	add_file(f, &file);
	ok(f, store_session_active(f->s, false, &session, &f->err));
	/* Another job with a UID that is taken. */
	assert_int_equal(import(f, f->s, HEADER SESSION JOB, &result), -EINVAL);
	assert_non_null(strstr(f->err.text, "another job"));
	/* A new job of a session of this project. */
	str_addf(&text,
		 HEADER "{\"session\":{\"uid\":\"%s\"}}\n{\"job\":{\"uid\":"
			"\"cccc0002\",\"session\":\"%s\",\"kind\":\"run\","
			"\"step\":9,\"attempt\":1}}\n",
		 session.uid, session.uid);
	assert_int_equal(import(f, f->s, text.data, &result), -EINVAL);
	assert_non_null(strstr(f->err.text, "was recorded in this project"));
	/* Digests that nothing proves, of content that is known. */
	str_clear(&text);
	str_adds(&text, HEADER SESSION "{\"job\":{\"uid\":\"cccc0003\","
				       "\"session\":\"00000000000000aa\","
				       "\"kind\":\"run\",\"step\":1,"
				       "\"attempt\":1}}\n"
				       "{\"file\":{\"path\":\"/y\",\"role\":1,"
				       "\"digests\":{\"blake3\":\"");
	for (int i = 0; i < BLAKE3_LEN; i++)
		str_adds(&text, "09");
	str_adds(&text, "\",\"md5\":\"00000000000000000000000000000000\"}}}\n"
			"{\"end\":{\"n_lines\":4}}\n");
	ok(f, import(f, f->s, text.data, &result));
	ok(f, store_artifacts_by_prefix(f->s, &f->pool, "09090909", 2, &found,
					&n, &f->err));
	assert_int_equal(n, 1);
	assert_int_equal(found->digests.have, DIGEST_SET_BLAKE3);
	str_release(&text);
}

static void without_memory_nothing_is_imported(void **state)
{
	struct fixture *f = *state;
	struct store *other = open_other(f);
	struct portable_result result;
	struct str sent = STR_INIT;
	int r = -ENOMEM;

	fill(f);
	export_to(f, f->s, &sent);
	/* jansson may call a line invalid that it had no memory for. */
	for (int n = 0; r < 0; n += 7) {
		struct store_session *sessions;
		size_t n_sessions;

		alloc_fail_after(n);
		r = import(f, other, sent.data, &result);
		alloc_fail_never();
		store_rollback(other); /* needs memory the first time */
		assert_true(r == 0 || r == -ENOMEM || r == -EINVAL);
		ok(f, store_sessions(other, &f->pool, &sessions, &n_sessions,
				     &f->err));
		assert_int_equal(n_sessions, r == 0);
	}
	assert_int_equal(result.n_jobs, 2);
	store_close(other);
	str_release(&sent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(what_arrives_is_what_left),
		STORE_TEST(a_second_import_changes_nothing),
		STORE_TEST(hostile_files_are_refused_and_add_nothing),
		STORE_TEST(local_records_stay_as_they_are),
		STORE_TEST(without_memory_nothing_is_imported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
