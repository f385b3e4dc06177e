/* test_file.c - files of jobs and the artifacts behind them. */
#include "fixture.h"

#include "base/clock.h"

static size_t files_of(struct fixture *f, int64_t job_id, bool filtered,
		       struct store_file **ret)
{
	size_t n = 0;

	ok(f, store_files(f->s, &f->pool, job_id, filtered, ret, &n, &f->err));
	return n;
}

static void all_fields_come_back(void **state)
{
	struct fixture *f = *state;
	struct store_file in = {
		.job_id = add_job(f, "a1", "x", 1, 0),
		.path = "/p/a b\n\xff\xfe\x01",
		.role = LINEAGE_OUTPUT,
		.intermediate = true,
		.filter = 3,
		.ftype = EVENT_FTYPE_REGULAR,
		.seen = LINEAGE_CREATED | LINEAGE_UNSTABLE,
		.stamp = { UINT64_MAX, UINT64_MAX - 1, 5, -6, INT64_MAX },
		.read_order = 7,
		.write_order = 8,
		.reader = 9,
		.writer = 10,
		.bytes_read = 0,
		.bytes_written = INT64_MAX,
		.digests = { .have = DIGEST_SET_BLAKE3, .blake3 = { 1, 2 } },
		.origin = "/p/tmp\xc3",
	};
	struct store_file *out;

	add_file(f, &in);
	assert_int_equal(files_of(f, in.job_id, true, &out), 1);
	assert_int_equal(out->job_id, in.job_id);
	assert_string_equal(out->path, in.path);
	assert_int_equal(out->role, in.role);
	assert_true(out->intermediate);
	assert_int_equal(out->filter, 3);
	assert_int_equal(out->ftype, in.ftype);
	assert_int_equal(out->seen, in.seen);
	assert_true(out->artifact_id > 0);
	assert_true(stamp_equal(&out->stamp, &in.stamp));
	assert_int_equal(out->read_order, 7);
	assert_int_equal(out->write_order, 8);
	assert_int_equal(out->reader, 9);
	assert_int_equal(out->writer, 10);
	assert_int_equal(out->bytes_read, 0);
	assert_int_equal(out->bytes_written, INT64_MAX);
	assert_int_equal(out->digests.have, DIGEST_SET_BLAKE3);
	assert_memory_equal(out->digests.blake3, in.digests.blake3, 32);
	assert_string_equal(out->origin, in.origin);
}

static void unidentified_file_has_no_artifact(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file in = a_file(id, "/dev/null", LINEAGE_INPUT, 0);
	struct store_file *out;

	in.ftype = EVENT_FTYPE_DEVICE;
	in.origin = NULL;
	add_file(f, &in);
	assert_int_equal(files_of(f, id, false, &out), 1);
	assert_int_equal(out->artifact_id, 0);
	assert_int_equal(out->digests.have, 0);
	assert_string_equal(out->origin, "");
}

static void bytes_that_nobody_counted_are_not_known(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file in = a_file(id, "/p/a", LINEAGE_INPUT, 1);
	struct store_file *out;

	in.bytes_read = -1;
	in.bytes_written = -1;
	add_file(f, &in);
	assert_int_equal(files_of(f, id, false, &out), 1);
	assert_int_equal(out->bytes_read, -1);
	assert_int_equal(out->bytes_written, -1);
	assert_int_equal(count(f, "SELECT count(*) FROM job_files WHERE "
				  "bytes_read IS NULL AND bytes_written IS "
				  "NULL"),
			 1);
}

static void path_of_4096_bytes_is_kept(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	char path[4097];
	struct store_file in = a_file(id, path, LINEAGE_INPUT, 1);
	struct store_file *out;

	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[4096] = '\0';
	add_file(f, &in);
	assert_int_equal(files_of(f, id, false, &out), 1);
	assert_string_equal(out->path, path);
}

static void paths_and_contents_are_stored_once(void **state)
{
	struct fixture *f = *state;
	int64_t a = add_job(f, "a1", "x", 1, 0);
	int64_t b = add_job(f, "a2", "y", 2, 0);
	struct store_file in = a_file(a, "/p/f", LINEAGE_OUTPUT, 1);

	add_file(f, &in);
	in.role = LINEAGE_INPUT;
	in.digests.blake3[0] = 77;
	add_file(f, &in);
	in = a_file(b, "/p/copy", LINEAGE_INPUT, 1);
	in.origin = "/p/f";
	add_file(f, &in);
	assert_int_equal(count(f, "SELECT count(*) FROM paths"), 2);
	assert_int_equal(count(f, "SELECT count(*) FROM artifacts"), 2);
	assert_int_equal(count(f, "SELECT count(*) FROM job_files"), 3);
}

static void files_are_ordered_by_role_and_use(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	const struct {
		const char *path;
		uint8_t role;
		int64_t read_order;
		int64_t write_order;
	} in[] = {
		{ "/temporary", LINEAGE_TEMPORARY, 0, 1 },
		{ "/out2", LINEAGE_OUTPUT, 1, 9 },
		{ "/in2", LINEAGE_INPUT, 8, 1 },
		{ "/in1", LINEAGE_INPUT, 3, 4 },
		{ "/out1", LINEAGE_OUTPUT, 7, 2 },
		{ "/touched", LINEAGE_TOUCHED, 0, 0 },
	};
	static const char *const expected[] = { "/in1",	      "/in2",
						"/out1",      "/out2",
						"/temporary", "/touched" };
	struct store_file *out;

	for (size_t i = 0; i < 6; i++) {
		struct store_file file = a_file(id, in[i].path, in[i].role, 0);

		file.read_order = in[i].read_order;
		file.write_order = in[i].write_order;
		add_file(f, &file);
	}
	assert_int_equal(files_of(f, id, false, &out), 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(out[i].path, expected[i]);
}

static void filtered_files_are_listed_on_request_and_counted(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	const struct {
		uint8_t filter;
		uint8_t role;
	} in[] = {
		{ 0, LINEAGE_INPUT },	  { 5, LINEAGE_INPUT },
		{ 5, LINEAGE_INPUT },	  { 5, LINEAGE_OUTPUT },
		{ 9, LINEAGE_TEMPORARY }, { 9, LINEAGE_TOUCHED },
	};
	struct store_filter_count *counts;
	struct store_file *out;
	size_t n;

	for (size_t i = 0; i < 6; i++) {
		char path[16];
		struct store_file file;

		(void)snprintf(path, sizeof(path), "/p/%zu", i);
		file = a_file(id, path, in[i].role, 0);
		file.filter = in[i].filter;
		add_file(f, &file);
	}
	assert_int_equal(files_of(f, id, false, &out), 1);
	assert_int_equal(files_of(f, id, true, &out), 6);
	ok(f, store_filter_counts(f->s, &f->pool, id, &counts, &n, &f->err));
	assert_int_equal(n, 2);
	assert_int_equal(counts[0].filter, 5);
	assert_int_equal(counts[0].n_read, 2);
	assert_int_equal(counts[0].n_written, 1);
	assert_int_equal(counts[1].filter, 9);
	assert_int_equal(counts[1].n_read, 0);
	assert_int_equal(counts[1].n_written, 2);
}

static void sources_are_inputs_and_what_was_moved(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file made = a_file(id, "/p/made", LINEAGE_OUTPUT, 1);
	struct store_file moved = a_file(id, "/p/moved", LINEAGE_OUTPUT, 2);
	struct store_file in = a_file(id, "/p/in", LINEAGE_INPUT, 3);
	struct store_file hidden = a_file(id, "/etc/x", LINEAGE_INPUT, 4);
	struct store_file *out;
	size_t n;

	made.origin = "";
	moved.origin = "/p/old";
	in.origin = hidden.origin = "";
	hidden.filter = 3;
	add_file(f, &made);
	add_file(f, &moved);
	add_file(f, &in);
	add_file(f, &hidden);
	/* Only the first one begins a snapshot. */
	assert_int_equal(store_snapshot_begin(f->s, &f->err), 1);
	assert_int_equal(store_snapshot_begin(f->s, &f->err), 0);
	ok(f, store_sources(f->s, &f->pool, id, &out, &n, &f->err));
	store_snapshot_end(f->s);
	assert_int_equal(n, 2);
	assert_string_equal(out[0].path, "/p/in");
	assert_string_equal(out[1].origin, "/p/old");
	ok(f, store_begin(f->s, &f->err));
	assert_int_equal(store_snapshot_begin(f->s, &f->err), 0);
	ok(f, store_commit(f->s, &f->err));
}

static void session_files_are_kept_inputs_and_outputs_by_job(void **state)
{
	struct fixture *f = *state;
	int64_t b = add_job(f, "a1", "x", 2, 0);
	int64_t a = add_job(f, "a2", "y", 1, 0);
	struct store_session old;
	struct store_session new;
	struct store_file file;
	struct store_file *out;
	int64_t other;
	size_t n;

	file = a_file(a, "/a/out", LINEAGE_OUTPUT, 1);
	add_file(f, &file);
	file = a_file(b, "/b/in", LINEAGE_INPUT, 2);
	add_file(f, &file);
	file = a_file(b, "/b/tmp", LINEAGE_TEMPORARY, 3);
	add_file(f, &file);
	file = a_file(b, "/usr/x", LINEAGE_INPUT, 0);
	file.filter = 5;
	add_file(f, &file);
	file = a_file(b, "/b/out", LINEAGE_OUTPUT, 4);
	add_file(f, &file);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_session_reset(f->s, &old, &new, &f->err));
	ok(f, store_commit(f->s, &f->err));
	other = add_job(f, "a3", "z", 1, 0);
	file = a_file(other, "/c", LINEAGE_INPUT, 2);
	add_file(f, &file);

	ok(f, store_session_files(f->s, &f->pool, old.id, &out, &n, &f->err));
	assert_int_equal(n, 3);
	assert_string_equal(out[0].path, "/b/in");
	assert_string_equal(out[1].path, "/b/out");
	assert_string_equal(out[2].path, "/a/out");
	assert_int_equal(out[2].job_id, a);
}

static void uses_of_an_artifact_come_oldest_first(void **state)
{
	struct fixture *f = *state;
	int64_t a = add_job(f, "a1", "x", 1, 0);
	int64_t b = add_job(f, "a2", "y", 2, 0);
	struct store_file file = a_file(b, "/copy", LINEAGE_INPUT, 1);
	struct store_file *out;
	size_t n;

	add_file(f, &file);
	file = a_file(a, "/made", LINEAGE_OUTPUT, 1);
	add_file(f, &file);
	file = a_file(a, "/other", LINEAGE_OUTPUT, 2);
	add_file(f, &file);
	ok(f, store_artifact_uses(f->s, &f->pool, 1, &out, &n, &f->err));
	assert_int_equal(n, 2);
	assert_string_equal(out[0].path, "/made");
	assert_string_equal(out[1].path, "/copy");
	ok(f, store_artifact_uses(f->s, &f->pool, 99, &out, &n, &f->err));
	assert_int_equal(n, 0);
}

static void uses_of_a_path_come_newest_first(void **state)
{
	struct fixture *f = *state;
	int64_t a = add_job(f, "a1", "x", 1, 0);
	int64_t b = add_job(f, "a2", "y", 2, 0);
	struct store_file file = a_file(a, "/p", LINEAGE_OUTPUT, 1);
	struct store_file *out;
	size_t n;

	add_file(f, &file);
	file = a_file(b, "/p", LINEAGE_INPUT, 1);
	add_file(f, &file);
	file = a_file(b, "/p/below", LINEAGE_INPUT, 1);
	add_file(f, &file);
	ok(f, store_path_uses(f->s, &f->pool, "/p", &out, &n, &f->err));
	assert_int_equal(n, 2);
	assert_int_equal(out[0].job_id, b);
	assert_int_equal(out[1].job_id, a);
	ok(f, store_path_uses(f->s, &f->pool, "/none", &out, &n, &f->err));
	assert_int_equal(n, 0);
}

/* ---- artifacts ---- */

static void artifact_knows_size_digests_and_first_path(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file file = a_file(id, "/first", LINEAGE_OUTPUT, 7);
	int64_t before = clock_now_ns();
	struct store_artifact a;

	file.stamp.size = 12345;
	add_file(f, &file);
	file.path = "/second";
	add_file(f, &file);
	ok(f, store_artifact(f->s, &f->pool, 1, &a, &f->err));
	assert_int_equal(a.id, 1);
	assert_int_equal(a.size, 12345);
	assert_true(a.first_seen_ns >= before);
	assert_string_equal(a.first_path, "/first");
	assert_int_equal(a.digests.have, DIGEST_SET_BLAKE3);
	assert_memory_equal(a.digests.blake3, file.digests.blake3, 32);
	fails(f, store_artifact(f->s, &f->pool, 2, &a, &f->err), ENOENT,
	      "has no artifact 2");
}

static void digests_taken_later_are_added(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file file = a_file(id, "/f", LINEAGE_OUTPUT, 7);
	struct store_artifact a;

	add_file(f, &file);
	file.digests.have |= 1 << DIGEST_SHA256;
	memset(file.digests.sha256, 8, 32);
	add_file(f, &file);
	file.digests.have = DIGEST_SET_BLAKE3 | 1 << DIGEST_SHA512 |
			    1 << DIGEST_MD5;
	memset(file.digests.sha512, 9, 64);
	memset(file.digests.md5, 10, 16);
	add_file(f, &file);
	file.digests.have = DIGEST_SET_BLAKE3 | 1 << DIGEST_CRC64NVME |
			    1 << DIGEST_GIT_BLOB;
	memset(file.digests.crc64nvme, 11, 8);
	memset(file.digests.git_blob, 12, 20);
	add_file(f, &file);

	ok(f, store_artifact(f->s, &f->pool, 1, &a, &f->err));
	assert_int_equal(a.digests.have, (1 << DIGEST_ALGO_END) - 1);
	file.digests.have = a.digests.have;
	assert_memory_equal(&a.digests, &file.digests, sizeof(a.digests));
}

static size_t by_prefix(struct fixture *f, const char *hex, size_t limit,
			struct store_artifact **ret)
{
	size_t n = 0;

	ok(f, store_artifacts_by_prefix(f->s, &f->pool, hex, limit, ret, &n,
					&f->err));
	return n;
}

static void artifacts_are_found_by_the_start_of_any_digest(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	const uint8_t contents[] = { 0x10, 0x1f, 0x20, 0xff };
	struct store_artifact *out;
	struct store_file file;
	char hex[130];
	const struct {
		const char *hex;
		size_t n;
	} cases[] = {
		{ "1", 2 },   { "10", 1 },     { "101", 1 }, { "11", 0 },
		{ "1F", 1 },  { "2", 1 },      { "f", 1 },   { "ff", 1 },
		{ "fff", 1 }, { "ffffff", 1 }, { "0", 0 },   { "ab", 1 },
		{ "aba", 1 }, { "cd", 1 },     { "ef", 1 },  { "4b", 1 },
		{ "9d9", 1 },
	};

	for (size_t i = 0; i < 4; i++) {
		file = a_file(id, "/f", LINEAGE_INPUT, contents[i]);
		if (i == 2) {
			file.digests.have = (1 << DIGEST_ALGO_END) - 1;
			memset(file.digests.sha256, 0xab, 32);
			memset(file.digests.sha512, 0xcd, 64);
			memset(file.digests.md5, 0xef, 16);
			memset(file.digests.crc64nvme, 0x4b, 8);
			memset(file.digests.git_blob, 0x9d, 20);
		}
		add_file(f, &file);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (by_prefix(f, cases[i].hex, 10, &out) != cases[i].n)
			fail_msg("%s found something else", cases[i].hex);
	assert_int_equal(by_prefix(f, "1", 1, &out), 1);
	assert_int_equal(by_prefix(f, "1", 0, &out), 0);

	digest_hex(hex, file.digests.blake3, 32); /* ff... */
	assert_int_equal(by_prefix(f, hex, SIZE_MAX, &out), 1);
	assert_int_equal(out->id, 4);
	memcpy(hex + 64, "f", 2);
	assert_int_equal(by_prefix(f, hex, 9, &out), 0);
	memset(hex, 'c', 128);
	for (size_t i = 1; i < 128; i += 2)
		hex[i] = 'd';
	hex[128] = '\0';
	assert_int_equal(by_prefix(f, hex, 9, &out), 1);
	assert_int_equal(out->id, 3);
}

static void prefix_that_is_no_hex_is_refused(void **state)
{
	struct fixture *f = *state;
	struct store_artifact *out;
	char hex[131];
	size_t n;

	fails(f,
	      store_artifacts_by_prefix(f->s, &f->pool, "", 9, &out, &n,
					&f->err),
	      EINVAL, "'' is not a digest: use 1 to 128 hex digits");
	fails(f,
	      store_artifacts_by_prefix(f->s, &f->pool, "12x", 9, &out, &n,
					&f->err),
	      EINVAL, "'12x' is not a digest");
	memset(hex, 'a', 129);
	hex[129] = '\0';
	fails(f,
	      store_artifacts_by_prefix(f->s, &f->pool, hex, 9, &out, &n,
					&f->err),
	      EINVAL, "is not a digest");
}

/* ---- many ---- */

static void many_files_in_one_transaction_stay_cheap(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	enum { N = 5000 };
	struct store_file *out;
	int64_t start;

	ok(f, store_begin(f->s, &f->err));
	start = clock_mono_ns();
	for (int i = 0; i < N; i++) {
		char path[64];
		struct store_file file;

		(void)snprintf(path, sizeof(path), "/p/data/%06d.bin", i);
		file = a_file(id, path, LINEAGE_INPUT, 1);
		memcpy(file.digests.blake3, &i, sizeof(i));
		file.read_order = N - i;
		ok(f, store_file_add(f->s, &file, &f->err));
	}
	print_message("%.1f us a file\n",
		      (double)(clock_mono_ns() - start) / 1000 / N);
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(files_of(f, id, false, &out), N);
	assert_string_equal(out[0].path, "/p/data/004999.bin");
	assert_int_equal(count(f, "SELECT count(*) FROM artifacts"), N);
}

/* Adds the files /p/`first` to /p/`last`, each with a content of its own. */
static void add_range(struct fixture *f, int64_t job_id, int first, int last)
{
	for (int i = first; i <= last; i++) {
		struct store_file file;
		char path[32];

		(void)snprintf(path, sizeof(path), "/p/%d", i);
		file = a_file(job_id, path, LINEAGE_OUTPUT, 1);
		memcpy(file.digests.blake3, &i, sizeof(i));
		file.write_order = i;
		ok(f, store_file_add(f->s, &file, &f->err));
	}
}

static void files_that_wait_are_seen_at_once(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file *out;

	ok(f, store_begin(f->s, &f->err));
	for (int i = 1; i <= 2 * STORE_FILE_BATCH + 1; i++) {
		add_range(f, id, i, i);
		assert_int_equal(files_of(f, id, false, &out), i);
	}
	add_range(f, id, 100, 102);
	assert_int_equal(count(f, "SELECT max(n) FROM job_files"),
			 2 * STORE_FILE_BATCH + 4);
	add_range(f, id, 103, 103);
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(files_of(f, id, false, &out),
			 2 * STORE_FILE_BATCH + 5);
	assert_string_equal(out[2 * STORE_FILE_BATCH + 4].path, "/p/103");
}

static void every_number_of_files_is_kept(void **state)
{
	struct fixture *f = *state;
	struct store_file *out;
	char uid[9];

	for (int n = 0; n <= 2 * STORE_FILE_BATCH + 1; n++) {
		int64_t id;

		(void)snprintf(uid, sizeof(uid), "%08x", n);
		id = add_job(f, uid, "x", 1, 0);
		ok(f, store_begin(f->s, &f->err));
		add_range(f, id, 1, n);
		ok(f, store_commit(f->s, &f->err));
		reopen(f, 0);
		assert_int_equal(files_of(f, id, false, &out), n);
		for (int i = 0; i < n; i++)
			assert_int_equal(out[i].write_order, i + 1);
	}
	ok(f, store_check(f->s, &f->err));
}

static void files_that_wait_are_rolled_back(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file *out;

	ok(f, store_begin(f->s, &f->err));
	add_range(f, id, 1, STORE_FILE_BATCH + 3);
	store_rollback(f->s);
	assert_int_equal(files_of(f, id, false, &out), 0);
	ok(f, store_begin(f->s, &f->err));
	add_range(f, id, 50, 50);
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(files_of(f, id, false, &out), 1);
	assert_string_equal(out->path, "/p/50");
	assert_int_equal(count(f, "SELECT count(*) FROM paths"), 1);
}

static void new_and_known_files_may_alternate(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file *out;

	ok(f, store_begin(f->s, &f->err));
	for (int i = 1; i <= 20; i++) {
		add_range(f, id, i, i + 2);
		add_range(f, id, 1, 1);
	}
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM paths"), 22);
	assert_int_equal(count(f, "SELECT count(*) FROM artifacts"), 22);
	assert_int_equal(files_of(f, id, false, &out), 80);
	for (int i = 0; i < 80; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/p/%d",
			       (int)out[i].write_order);
		assert_string_equal(out[i].path, path);
		assert_memory_equal(out[i].digests.blake3, &out[i].write_order,
				    sizeof(int));
	}
}

static void a_job_that_is_removed_takes_files_that_wait(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);

	ok(f, store_begin(f->s, &f->err));
	add_range(f, id, 1, 5);
	ok(f, store_job_remove(f->s, id, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM job_files"), 0);
	assert_int_equal(count(f, "SELECT count(*) FROM artifacts"), 0);
	ok(f, store_check(f->s, &f->err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(all_fields_come_back),
		STORE_TEST(unidentified_file_has_no_artifact),
		STORE_TEST(bytes_that_nobody_counted_are_not_known),
		STORE_TEST(path_of_4096_bytes_is_kept),
		STORE_TEST(paths_and_contents_are_stored_once),
		STORE_TEST(files_are_ordered_by_role_and_use),
		STORE_TEST(filtered_files_are_listed_on_request_and_counted),
		STORE_TEST(sources_are_inputs_and_what_was_moved),
		STORE_TEST(session_files_are_kept_inputs_and_outputs_by_job),
		STORE_TEST(uses_of_an_artifact_come_oldest_first),
		STORE_TEST(uses_of_a_path_come_newest_first),
		STORE_TEST(artifact_knows_size_digests_and_first_path),
		STORE_TEST(digests_taken_later_are_added),
		STORE_TEST(artifacts_are_found_by_the_start_of_any_digest),
		STORE_TEST(prefix_that_is_no_hex_is_refused),
		STORE_TEST(many_files_in_one_transaction_stay_cheap),
		STORE_TEST(files_that_wait_are_seen_at_once),
		STORE_TEST(every_number_of_files_is_kept),
		STORE_TEST(files_that_wait_are_rolled_back),
		STORE_TEST(new_and_known_files_may_alternate),
		STORE_TEST(a_job_that_is_removed_takes_files_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
