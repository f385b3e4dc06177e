/* test_object_fold.c - requests to an object store, and what they mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/str.h"
#include "lineage/fold.h"
#include "lineage/object_fold.h"

struct scene {
	struct object_fold *fold;
	struct str text; /* the facts, see expect() */
};

static int make_scene(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_int_equal(object_fold_new(&s->fold), 0);
	*state = s;
	return 0;
}

static int remove_scene(void **state)
{
	struct scene *s = *state;

	object_fold_free(s->fold);
	str_release(&s->text);
	free(s);
	return 0;
}

/* ---- operations ---- */

/* A successful operation on the object "b/KEY" with this ETag. */
static struct object_op op(enum object_op_kind kind, const char *key,
			   const char *etag)
{
	struct object_op op = OBJECT_OP_INIT;

	op.kind = kind;
	op.status = 200;
	op.endpoint = "http://h";
	op.bucket = "b";
	op.key = key;
	op.etag = etag;
	op.pid = 7;
	op.size = 100;
	return op;
}

static void add(struct scene *s, const struct object_op *op)
{
	assert_int_equal(object_fold_add(s->fold, op), 0);
}

/* A content of 32 equal bytes; 0: not known. */
static void add_whole(struct scene *s, enum object_op_kind kind,
		      const char *key, const char *etag, uint8_t content)
{
	struct object_op o = op(kind, key, etag);

	o.whole = true;
	o.has_blake3 = content != 0;
	memset(o.blake3, content, sizeof(o.blake3));
	add(s, &o);
}

static void get_range(struct scene *s, const char *key, const char *etag,
		      int64_t first, int64_t last)
{
	struct object_op o = op(OBJECT_GET, key, etag);

	o.status = 206;
	o.first = first;
	o.last = last;
	add(s, &o);
}

static void copy(struct scene *s, const char *key, const char *source)
{
	struct object_op o = op(OBJECT_COPY, key, "copied");

	o.size = -1;
	o.copy_source = source;
	add(s, &o);
}

/* ---- facts ---- */

static const char *role_name(unsigned role)
{
	if (role == LINEAGE_INPUT)
		return "in";
	return role == LINEAGE_OUTPUT ? "out" : "tmp";
}

/* A line for each fact: role, path, ETag, content, ranges. */
static void expect(struct scene *s, const char *expected)
{
	struct object_fact *const *facts;
	size_t n;

	str_clear(&s->text);
	facts = object_fold_facts(s->fold, &n);
	for (size_t i = 0; i < n; i++) {
		const struct object_fact *f = facts[i];

		str_addf(&s->text, "%s%s %s %s", role_name(f->role),
			 f->intermediate ? "*" : "", f->path,
			 f->etag[0] ? f->etag : "-");
		if (f->has_blake3)
			str_addf(&s->text, " #%x", f->blake3[0]);
		str_addc(&s->text, ' ');
		object_ranges(&s->text, f, 3);
		str_addc(&s->text, '\n');
	}
	assert_string_equal(str_cstr(&s->text), expected);
}

static const struct object_fact *fact(struct scene *s, size_t i)
{
	size_t n;
	struct object_fact *const *facts = object_fold_facts(s->fold, &n);

	assert_true(i < n);
	return facts[i];
}

/* ---- reading ---- */

static void what_was_read_is_an_input(void **state)
{
	struct scene *s = *state;

	add_whole(s, OBJECT_GET, "a/x y", "e", 1);
	expect(s, "in s3://b/a/x y e #1 whole\n");
	assert_int_equal(fact(s, 0)->size, 100);
	assert_int_equal(fact(s, 0)->n_bytes, 100);
	assert_int_equal(fact(s, 0)->pid, 7);
	assert_int_equal(fact(s, 0)->op, OBJECT_GET);
}

static void ranges_are_merged(void **state)
{
	struct scene *s = *state;

	get_range(s, "k", "e", 10, 19);
	get_range(s, "k", "e", 40, 49);
	get_range(s, "k", "e", 20, 29);
	expect(s, "in s3://b/k e 10-29,40-49\n");
	assert_int_equal(fact(s, 0)->n_requests, 3);
	assert_int_equal(fact(s, 0)->n_bytes, 30);
	get_range(s, "k", "e", 60, 60);
	get_range(s, "k", "e", 80, 80);
	expect(s, "in s3://b/k e 10-29,40-49,60-60,...\n");
	get_range(s, "k", "e", 0, 99);
	expect(s, "in s3://b/k e whole\n");
}

static void a_digest_may_come_with_the_last_piece(void **state)
{
	struct scene *s = *state;
	struct object_op o = op(OBJECT_GET, "k", "e");

	get_range(s, "k", "e", 0, 49);
	o.first = 50;
	o.last = 99;
	o.has_blake3 = true;
	memset(o.blake3, 9, sizeof(o.blake3));
	add(s, &o);
	expect(s, "in s3://b/k e #9 whole\n");
}

static void two_contents_of_a_place_are_two_inputs(void **state)
{
	struct scene *s = *state;

	add_whole(s, OBJECT_GET, "k", "e1", 1);
	add_whole(s, OBJECT_GET, "k", "e2", 2);
	add_whole(s, OBJECT_GET, "k", "e1", 1);
	expect(s, "in s3://b/k e1 #1 whole\nin s3://b/k e2 #2 whole\n");
	assert_int_equal(fact(s, 0)->n_requests, 2);
}

static void what_delivers_nothing_is_nothing(void **state)
{
	struct scene *s = *state;
	struct object_op failed = op(OBJECT_GET, "k", "e");
	struct object_op cut = op(OBJECT_GET, "k", "e");
	struct object_op bucket = op(OBJECT_GET, "", "e");

	failed.whole = true;
	failed.status = 404;
	bucket.whole = true;
	add(s, &failed);
	add(s, &cut);
	add(s, &bucket);
	add_whole(s, OBJECT_HEAD, "k", "e", 0);
	add_whole(s, OBJECT_LIST, "k", "e", 0);
	add_whole(s, OBJECT_OTHER, "k", "e", 0);
	expect(s, "");
}

static void stores_with_the_same_names_are_apart(void **state)
{
	struct scene *s = *state;
	struct object_op other = op(OBJECT_GET, "k", "e");

	other.endpoint = "http://i";
	other.whole = true;
	add_whole(s, OBJECT_GET, "k", "e", 1);
	add(s, &other);
	expect(s, "in s3://b/k e #1 whole\nin s3://b/k e whole\n");
}

/* ---- storing ---- */

static void the_last_content_stored_is_the_output(void **state)
{
	struct scene *s = *state;

	add_whole(s, OBJECT_PUT, "k", "e1", 1);
	add_whole(s, OBJECT_PUT, "k", "e2", 2);
	expect(s, "out s3://b/k e2 #2 \n");
	assert_int_equal(fact(s, 0)->n_requests, 2);
	assert_int_equal(fact(s, 0)->n_bytes, 200);
}

static void content_that_is_read_and_replaced_is_both(void **state)
{
	struct scene *s = *state;

	add_whole(s, OBJECT_GET, "k", "e1", 1);
	add_whole(s, OBJECT_PUT, "k", "e2", 2);
	expect(s, "in s3://b/k e1 #1 whole\nout s3://b/k e2 #2 \n");
}

static void what_the_run_stored_is_not_an_input(void **state)
{
	struct scene *s = *state;

	add_whole(s, OBJECT_PUT, "k", "e1", 0);
	get_range(s, "k", "e1", 0, 9);
	expect(s, "out* s3://b/k e1 \n");
	/* Reading all of it tells what was stored. */
	add_whole(s, OBJECT_GET, "k", "e1", 3);
	expect(s, "out* s3://b/k e1 #3 \n");
	/* Somebody else stored this one. */
	add_whole(s, OBJECT_GET, "k", "e2", 4);
	expect(s, "out* s3://b/k e1 #3 \nin s3://b/k e2 #4 whole\n");
}

static void versions_count_for_more_than_etags(void **state)
{
	struct scene *s = *state;
	struct object_op put = op(OBJECT_PUT, "k", "e");
	struct object_op get = op(OBJECT_GET, "k", "e");

	put.version = "v2";
	get.version = "v1";
	get.whole = true;
	add(s, &put);
	add(s, &get);
	expect(s, "out s3://b/k e \nin s3://b/k e whole\n");
	assert_string_equal(fact(s, 1)->version, "v1");
}

static void what_is_deleted_again_is_temporary(void **state)
{
	struct scene *s = *state;
	struct object_op del = op(OBJECT_DELETE, "k", "");
	struct object_op other = op(OBJECT_DELETE, "other", "");

	del.status = 204;
	add_whole(s, OBJECT_PUT, "k", "e1", 1);
	add(s, &del);
	add(s, &other);
	expect(s, "tmp s3://b/k e1 #1 \n");
	add_whole(s, OBJECT_PUT, "k", "e1", 1);
	expect(s, "out s3://b/k e1 #1 \n");
}

static void a_deletion_of_another_version_leaves_the_output(void **state)
{
	struct scene *s = *state;
	struct object_op put = op(OBJECT_PUT, "k", "e1");
	struct object_op del = op(OBJECT_DELETE, "k", "");
	size_t n;

	put.version = "v2";
	add(s, &put);
	del.version = "v1";
	add(s, &del);
	assert_int_equal(object_fold_facts(s->fold, &n)[0]->role,
			 LINEAGE_OUTPUT);
	del.version = "v2";
	add(s, &del);
	assert_int_equal(object_fold_facts(s->fold, &n)[0]->role,
			 LINEAGE_TEMPORARY);
}

static void a_stored_form_is_reported(void **state)
{
	struct scene *s = *state;
	struct object_op form = op(OBJECT_PUT, "", "");

	form.status = 204;
	assert_int_equal(object_fold_add(s->fold, &form), 1);
	form.status = 403;
	assert_int_equal(object_fold_add(s->fold, &form), 0);
}

static void requests_without_an_answer_are_reported(void **state)
{
	struct scene *s = *state;
	struct object_op put = op(OBJECT_PUT, "k", "e");
	struct object_op get = op(OBJECT_GET, "k", "e");

	put.flags = OBJECT_UNFINISHED;
	assert_int_equal(object_fold_add(s->fold, &put), 1);
	put.flags = 0;
	put.status = 0;
	assert_int_equal(object_fold_add(s->fold, &put), 1);
	/* The proxy did not let it happen. */
	put.flags = OBJECT_ABORTED;
	assert_int_equal(object_fold_add(s->fold, &put), 0);
	put.flags = 0;
	put.status = 503;
	assert_int_equal(object_fold_add(s->fold, &put), 0);
	/* A client may read as much as it wants. */
	get.flags = OBJECT_UNFINISHED;
	get.last = 4;
	assert_int_equal(object_fold_add(s->fold, &get), 0);
	expect(s, "in s3://b/k e 0-4\n");
}

/* ---- uploads in parts ---- */

static void upload(struct scene *s, const char *id, int n_parts)
{
	struct object_op o = op(OBJECT_CREATE_UPLOAD, "k", "");

	o.upload_id = id;
	add(s, &o);
	o.kind = OBJECT_UPLOAD_PART;
	o.last = 9;
	o.size = -1;
	for (o.part = 1; o.part <= n_parts; o.part++)
		add(s, &o);
}

static void an_upload_is_an_output_once_it_is_complete(void **state)
{
	struct scene *s = *state;
	struct object_op done = op(OBJECT_COMPLETE_UPLOAD, "k", "e-3");

	done.upload_id = "id";
	done.size = -1;
	done.part = 3;
	upload(s, "id", 3);
	expect(s, "");
	add(s, &done);
	expect(s, "out s3://b/k e-3 \n");
	assert_int_equal(fact(s, 0)->n_parts, 3);
	assert_int_equal(fact(s, 0)->n_requests, 5);
	assert_int_equal(fact(s, 0)->size, 30);
	assert_int_equal(fact(s, 0)->n_bytes, 30);
	assert_int_equal(fact(s, 0)->op, OBJECT_COMPLETE_UPLOAD);
	/* Of one that began before the run, nobody knows. */
	done.upload_id = "other";
	done.key = "other";
	upload(s, "other", 2);
	add(s, &done);
	assert_int_equal(fact(s, 1)->size, -1);
}

static void an_aborted_upload_is_nothing(void **state)
{
	struct scene *s = *state;
	struct object_op abort = op(OBJECT_ABORT_UPLOAD, "k", "");

	abort.upload_id = "id";
	upload(s, "id", 2);
	add(s, &abort);
	expect(s, "");
}

static void parts_may_be_copied(void **state)
{
	struct scene *s = *state;
	struct object_op part = op(OBJECT_UPLOAD_PART_COPY, "k", "");
	struct object_op done = op(OBJECT_COMPLETE_UPLOAD, "k", "e-1");

	part.upload_id = "id";
	part.copy_source = "b/from";
	part.first = 5;
	part.last = 9;
	done.upload_id = "id";
	add(s, &part);
	add(s, &done);
	expect(s, "in s3://b/from - 5-9\nout s3://b/k e-1 \n");
	assert_string_equal(fact(s, 1)->copy_source, "b/from");
	assert_int_equal(fact(s, 1)->n_parts, 1);
}

/* ---- copies ---- */

static void the_source_of_a_copy_is_an_input(void **state)
{
	struct scene *s = *state;

	copy(s, "to", "/c/dir/from?versionId=v7");
	expect(s, "in s3://c/dir/from - whole\nout s3://b/to copied \n");
	assert_string_equal(fact(s, 0)->version, "v7");
	assert_int_equal(fact(s, 0)->op, OBJECT_COPY);
	assert_int_equal(fact(s, 0)->n_bytes, 0);
}

static void a_head_before_the_copy_names_its_content(void **state)
{
	struct scene *s = *state;

	add_whole(s, OBJECT_HEAD, "from", "e9", 0);
	copy(s, "to", "b/from");
	expect(s, "in s3://b/from e9 whole\nout s3://b/to copied \n");
}

static void a_copy_has_the_content_of_its_source(void **state)
{
	struct scene *s = *state;

	add_whole(s, OBJECT_PUT, "mine", "e1", 1);
	add_whole(s, OBJECT_GET, "theirs", "e2", 2);
	copy(s, "c1", "b/mine");
	copy(s, "c2", "b/theirs");
	copy(s, "c3", "nothing");
	expect(s, "out* s3://b/mine e1 #1 \n"
		  "in s3://b/theirs e2 #2 whole\n"
		  "out s3://b/c1 copied #1 \n"
		  "out s3://b/c2 copied #2 \n"
		  "out s3://b/c3 copied \n");
	assert_int_equal(fact(s, 2)->size, 100);
}

static void a_copy_onto_itself_keeps_its_content(void **state)
{
	struct scene *s = *state;

	add_whole(s, OBJECT_PUT, "k", "e1", 1);
	copy(s, "k", "b/k");
	expect(s, "out* s3://b/k copied #1 \n");
	assert_int_equal(fact(s, 0)->size, 100);
}

/* ---- memory ---- */

static int play(struct object_fold *fold)
{
	struct object_op o = op(OBJECT_COPY, "k", "e");
	int r;

	o.copy_source = "b/from?versionId=v";
	r = object_fold_add(fold, &o);
	o.kind = OBJECT_UPLOAD_PART;
	o.upload_id = "id";
	if (r == 0)
		r = object_fold_add(fold, &o);
	o.kind = OBJECT_GET;
	o.key = "other";
	o.last = 5;
	return r == 0 ? object_fold_add(fold, &o) : r;
}

static void every_allocation_may_fail(void **state)
{
	int r = -1;

	(void)state;
	for (int n = 0; r != 0 && n < 100; n++) {
		struct object_fold *fold = NULL;

		alloc_fail_after(n);
		r = object_fold_new(&fold);
		if (r == 0)
			r = play(fold);
		alloc_fail_never();
		object_fold_free(fold);
		if (r != 0)
			assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_scene, remove_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_was_read_is_an_input),
		T(ranges_are_merged),
		T(a_digest_may_come_with_the_last_piece),
		T(two_contents_of_a_place_are_two_inputs),
		T(what_delivers_nothing_is_nothing),
		T(stores_with_the_same_names_are_apart),
		T(the_last_content_stored_is_the_output),
		T(content_that_is_read_and_replaced_is_both),
		T(what_the_run_stored_is_not_an_input),
		T(versions_count_for_more_than_etags),
		T(what_is_deleted_again_is_temporary),
		T(a_deletion_of_another_version_leaves_the_output),
		T(a_stored_form_is_reported),
		T(requests_without_an_answer_are_reported),
		T(an_upload_is_an_output_once_it_is_complete),
		T(an_aborted_upload_is_nothing),
		T(parts_may_be_copied),
		T(the_source_of_a_copy_is_an_input),
		T(a_head_before_the_copy_names_its_content),
		T(a_copy_has_the_content_of_its_source),
		T(a_copy_onto_itself_keeps_its_content),
		T(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
