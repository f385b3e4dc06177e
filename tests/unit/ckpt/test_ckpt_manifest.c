/* test_ckpt_manifest.c - manifests that are written, read, merged and refused */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "ckpt/ckpt_manifest.h"

#define DIGEST \
	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define DATA(rank) "data-0000" #rank "-of-00002-9f3ac2d1.safetensors"
#define FILE_OF(rank)                                                                    \
	"{\"rank\":" #rank ",\"name\":\"" DATA(                                          \
		rank) "\",\"size\":4112,"                                                \
		      "\"blake3\":\"" DIGEST "\",\"tree\":\"data-0000" #rank             \
		      "-of-00002-9f3ac2d1.tree\",\"leaf_bytes\":1048576,"                \
		      "\"data_bytes\":4112,\"extents\":[[0,1,\"step-000000000100/" DATA( \
			      rank) "\",0]]}"

/* A tensor of 2 x 4 floats, of which each rank has a row. */
static const char manifest[] =
	"{\"roar_checkpoint\":1,\"step\":100,\"epoch\":3,\"save\":\"9f3ac2d1\","
	"\"created\":\"2026-11-18T05:00:00Z\",\"world_size\":2,"
	"\"world_epoch\":7,\"fencing_token\":5,\"job\":\"ab12cd34\","
	"\"parent\":null,\"metrics\":{\"loss\":0.25},\"tags\":[\"best\"],"
	"\"state\":{\"model\":{\"w\":{\"$tensor\":\"w\"}}},"
	"\"data_position\":[1,2],\"rng\":null,"
	"\"files\":[" FILE_OF(0) "," FILE_OF(
		1) "],"
		   "\"tensors\":{\"w\":{\"dtype\":\"F32\",\"shape\":[2,4],\"parts\":["
		   "{\"file\":0,\"offset\":[0,0],\"shape\":[1,4],\"at\":4096},"
		   "{\"file\":1,\"offset\":[1,0],\"shape\":[1,4],\"at\":4096}]}}}\n";

static void a_manifest_is_written_as_it_was_read(void **state)
{
	CLEANUP(ckpt_manifest_release) struct ckpt_manifest m;
	CLEANUP(str_release) struct str text = STR_INIT;
	const struct ckpt_tensor *w;
	struct roar_error err = { "" };

	(void)state;
	assert_int_equal(ckpt_manifest_read(&m, manifest, strlen(manifest),
					    false, "m", &err),
			 0);
	assert_int_equal(m.step, 100);
	assert_int_equal(m.fencing_token, 5);
	assert_string_equal(m.tags[0], "best");
	assert_true(m.metrics[0].value == 0.25);
	assert_string_equal(m.data_position, "[1,2]");
	assert_null(m.parent);
	w = ckpt_manifest_tensor(&m, "w");
	assert_non_null(w);
	assert_int_equal(w->parts[1].offset[0], 1);
	assert_int_equal(ckpt_part_bytes(w, &w->parts[1]), 16);
	assert_null(ckpt_manifest_tensor(&m, "v"));
	ckpt_manifest_write(&m, &text);
	assert_string_equal(str_cstr(&text), manifest);
}

/* The manifest with one text replaced by another. */
static void change(struct str *out, const char *from, const char *to)
{
	const char *at = strstr(manifest, from);

	assert_non_null(at);
	str_add(out, manifest, (size_t)(at - manifest));
	str_adds(out, to);
	str_adds(out, at + strlen(from));
}

static void what_does_not_agree_is_refused_by_name(void **state)
{
	static const struct {
		const char *from, *to, *words;
		int r;
	} changes[] = {
		{ "{\"roar", "[\"roar", "not the manifest", -EBADMSG },
		{ "checkpoint\":1", "checkpoint\":2", "use a newer roar",
		  -ENOTSUP },
		{ "checkpoint\":1", "checkpoint\":0", "version", -EBADMSG },
		{ "\"step\":100", "\"step\":-1", "step is not a number",
		  -EBADMSG },
		{ "\"step\":100", "\"step\":1e2", "step is not a number",
		  -EBADMSG },
		{ "\"step\":100", "\"step\":101", "no extent needs", -EBADMSG },
		{ "\"save\":\"9", "\"save\":\"../", "save is not", -EBADMSG },
		{ "\"world_size\":2", "\"world_size\":3",
		  "2 files for 3 writers", -EBADMSG },
		{ "\"parent\":null", "\"parent\":\"../x\"", "parent", -EBADMSG },
		{ "0.25", "\"x\"", "metrics", -EBADMSG },
		{ "[\"best\"]", "[5]", "tags", -EBADMSG },
		{ "\"rank\":1", "\"rank\":0", "files[1] has the wrong rank",
		  -EBADMSG },
		{ "\"name\":\"data-00000", "\"name\":\"data-00001",
		  "files[0] has a name", -EBADMSG },
		{ "\"name\":\"data-00000-of-00002-9f3ac2d1",
		  "\"name\":\"data-00000-of-00002-9f3ac2d2",
		  "files[0] has a name", -EBADMSG },
		{ "\"tree\":\"data-", "\"tree\":\"../data-",
		  "files[0] has a tree", -EBADMSG },
		{ "\"size\":4112", "\"size\":1048577",
		  "beyond the end of its data file", -EBADMSG },
		{ "\"size\":4112", "\"size\":7", "impossible size", -EBADMSG },
		{ "\"size\":4112", "\"size\":4111",
		  "beyond the end of its file", -EBADMSG },
		{ "\"blake3\":\"00", "\"blake3\":\"0", "64 hex digits",
		  -EBADMSG },
		{ "\"leaf_bytes\":1048576", "\"leaf_bytes\":1048577",
		  "leaf_bytes", -EBADMSG },
		{ "\"data_bytes\":4112", "\"data_bytes\":4111",
		  "beyond the end of its data file", -EBADMSG },
		{ "\"data_bytes\":4112", "\"data_bytes\":0", "data_bytes",
		  -EBADMSG },
		{ "[[0,1,", "[[0,2,", "cover", -EBADMSG },
		{ "[[0,1,", "[[1,1,", "cover", -EBADMSG },
		{ "[[0,1,", "[[0,0,", "cover", -EBADMSG },
		{ "[[0,1,\"step-000000000100/data-",
		  "[[0,1,\"step-000000000100/../data-", "path is not",
		  -EBADMSG },
		{ "[[0,1,\"step-000000000100/", "[[0,1,\"step-000000000099/",
		  "no extent needs", -EBADMSG },
		{ "[[0,1,\"step-000000000100/data-00000-of-00002-9f",
		  "[[0,1,\"step-000000000100/data-00000-of-00002-8f",
		  "another file of its own step", -EBADMSG },
		{ "\"dtype\":\"F32\"", "\"dtype\":\"Q4\"", "tensors[w].dtype",
		  -EBADMSG },
		{ "\"dtype\":\"F32\"", "\"dtype\":\"F64\"", "beyond the end",
		  -EBADMSG },
		{ "\"shape\":[2,4]", "\"shape\":[3,4]", "not all of it",
		  -EBADMSG },
		{ "\"shape\":[2,4]", "\"shape\":[2]", "parts.offset", -EBADMSG },
		{ "\"shape\":[2,4]", "\"shape\":[1152921504606846976,4]",
		  "too large", -EBADMSG },
		{ "\"offset\":[1,0]", "\"offset\":[0,0]", "overlap", -EBADMSG },
		{ "\"offset\":[1,0]", "\"offset\":[2,0]", "within its shape",
		  -EBADMSG },
		{ "\"file\":1", "\"file\":2", "not listed", -EBADMSG },
		{ "\"at\":4096", "\"at\":4097", "beyond the end", -EBADMSG },
		{ "\"at\":4096", "\"at\":7", "beyond the end", -EBADMSG },
		{ "\"tensors\":{",
		  "\"tensors\":{\"\":{\"dtype\":\"U8\","
		  "\"shape\":[0],\"parts\":[]},",
		  "valid name", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		CLEANUP(ckpt_manifest_release) struct ckpt_manifest m;
		CLEANUP(str_release) struct str text = STR_INIT;
		struct roar_error err = { "" };
		int r;

		change(&text, changes[i].from, changes[i].to);
		r = ckpt_manifest_read(&m, text.data, text.len, false,
				       "step-1/manifest.json", &err);
		if (r != changes[i].r || !strstr(err.text, changes[i].words))
			print_message("%s: %d %s\n", changes[i].to, r,
				      err.text);
		assert_int_equal(r, changes[i].r);
		assert_non_null(strstr(err.text, changes[i].words));
		assert_non_null(strstr(err.text, "'step-1/manifest.json'"));
	}
}

static void members_of_later_versions_are_ignored(void **state)
{
	CLEANUP(ckpt_manifest_release) struct ckpt_manifest m;
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	change(&text, "\"metrics\":{\"loss\":0.25}",
	       "\"new\":{\"x\":1},\"metrics\":{\"loss\":null}");
	assert_int_equal(ckpt_manifest_read(&m, text.data, text.len, false, "m",
					    NULL),
			 0);
	assert_true(m.metrics[0].value != m.metrics[0].value);
}

/* ---- parts ---- */

/* The part of a rank: its own file and row. */
static void make_part(struct str *out, int rank)
{
	const char *rest = strstr(manifest, "\"step\"");
	const char *files = strstr(manifest, "\"files\"");

	str_adds(out, "{\"roar_checkpoint_part\":1,");
	str_add(out, rest, (size_t)(files - rest));
	str_adds(out, "\"files\":[");
	str_adds(out, rank ? FILE_OF(1) : FILE_OF(0));
	str_addf(out,
		 "],\"tensors\":{\"w\":{\"dtype\":\"F32\",\"shape\":[2,4],"
		 "\"parts\":[{\"file\":0,\"offset\":[%d,0],\"shape\":[1,4],"
		 "\"at\":4096}]}}}\n",
		 rank);
}

static void read_part(struct ckpt_manifest *ret, int rank)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct roar_error err = { "" };
	int r;

	make_part(&text, rank);
	r = ckpt_manifest_read(ret, text.data, text.len, true, "p", &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}

static void parts_are_merged_in_the_order_of_ranks(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct ckpt_manifest parts[2];
	struct ckpt_manifest m;
	struct roar_error err = { "" };

	(void)state;
	read_part(&parts[0], 1);
	read_part(&parts[1], 0);
	assert_int_equal(ckpt_manifest_merge(&m, parts, 2, &err), 0);
	ckpt_manifest_write(&m, &text);
	assert_string_equal(str_cstr(&text), manifest);
	ckpt_manifest_release(&m);
	ckpt_manifest_release(&parts[0]);
	ckpt_manifest_release(&parts[1]);
}

static void parts_that_do_not_belong_together_are_refused(void **state)
{
	struct ckpt_manifest parts[2], m;
	struct roar_error err = { "" };

	(void)state;
	read_part(&parts[0], 0);
	read_part(&parts[1], 0);
	assert_int_equal(ckpt_manifest_merge(&m, parts, 2, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "rank 0 is there twice"));
	assert_int_equal(ckpt_manifest_merge(&m, parts, 1, &err), -EBADMSG);
	ckpt_manifest_release(&parts[1]);
	read_part(&parts[1], 1);
	parts[1].save[0] = 'a';
	assert_int_equal(ckpt_manifest_merge(&m, parts, 2, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "af3ac2d1"));
	parts[1].save[0] = '9';
	parts[1].world_epoch = 8;
	assert_int_equal(ckpt_manifest_merge(&m, parts, 2, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "world epoch 8"));
	parts[1].world_epoch = 7;
	parts[1].tensors[0].dtype = CKPT_I32;
	assert_int_equal(ckpt_manifest_merge(&m, parts, 2, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "another type or shape"));
	parts[1].tensors[0].dtype = CKPT_F32;
	parts[1].tensors[0].n_parts = 0;
	assert_int_equal(ckpt_manifest_merge(&m, parts, 2, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "not all of it"));
	ckpt_manifest_release(&parts[0]);
	ckpt_manifest_release(&parts[1]);
}

static void a_part_is_not_a_manifest(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct ckpt_manifest m;

	(void)state;
	make_part(&text, 0);
	assert_int_equal(ckpt_manifest_read(&m, text.data, text.len, false, "m",
					    NULL),
			 -EBADMSG);
	assert_int_equal(ckpt_manifest_read(&m, manifest, strlen(manifest),
					    true, "m", NULL),
			 -EBADMSG);
}

/* jansson's own allocations do not go through the counter. */
static void lack_of_memory_is_reported(void **state)
{
	struct ckpt_manifest m;
	int r = -ENOMEM;
	int n = 0;

	(void)state;
	for (; r < 0 && n < 1000; n++) {
		alloc_fail_after(n);
		r = ckpt_manifest_read(&m, manifest, strlen(manifest), false,
				       "m", NULL);
		alloc_fail_never();
		assert_true(r == 0 || r == -ENOMEM || r == -EBADMSG);
	}
	assert_int_equal(r, 0);
	assert_true(n > 2);
	ckpt_manifest_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manifest_is_written_as_it_was_read),
		cmocka_unit_test(what_does_not_agree_is_refused_by_name),
		cmocka_unit_test(members_of_later_versions_are_ignored),
		cmocka_unit_test(parts_are_merged_in_the_order_of_ranks),
		cmocka_unit_test(parts_that_do_not_belong_together_are_refused),
		cmocka_unit_test(a_part_is_not_a_manifest),
		cmocka_unit_test(lack_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
