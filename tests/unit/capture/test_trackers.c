/* test_trackers.c - experiment trackers, by the names of what was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/trackers.h"
#include "tree.h"

static const char *variable(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "WANDB_PROJECT") == 0 ? "from-variable" : NULL;
}

/* The document for files in the directory, separated by blanks, without "DIR". */
static const char *document(struct tree *t, const char *files)
{
	CLEANUP(trackers_freep) struct trackers *k = NULL;
	CLEANUP(freep) char *copy = strdup(files);
	struct json json = json_writer(&t->text, false);

	str_clear(&t->text);
	assert_int_equal(trackers_new(&k), 0);
	for (char *rest = copy; rest;) {
		const char *path = tree_path(t, strsep(&rest, " "));

		trackers_add(k, path, strlen(path));
	}
	return trackers_write(k, variable, NULL, &json) ? t->text.data : "";
}

static void check_has(struct tree *t, const char *part)
{
	if (!strstr(str_cstr(&t->text), part))
		fail_msg("no %s in %s", part, str_cstr(&t->text));
}

static void nothing_is_not_a_tracker(void **state)
{
	assert_string_equal(document(*state,
				     "model.pt wandb/settings "
				     "wandb/run-20240101_000000-abc "
				     "mlruns/0/meta.yaml mlruns/models/x/y "
				     ".neptune/x .aim/lock events.out"),
			    "");
}

static void a_run_of_wandb_has_an_id(void **state)
{
	struct tree *t = *state;

	document(t, "wandb/run-20240101_000000-abc/files/x "
		    "wandb/run-20240101_000000-abc/run-abc.wandb "
		    "wandb/offline-run-20240101_000001-def/logs/y");
	check_has(t, "{\"name\":\"wandb\",\"run_id\":\"abc\",\"project\":"
		     "\"from-variable\",\"folder\":\"");
	check_has(t, "\"run_id\":\"def\"");
}

static void the_project_is_read_from_wandbs_log(void **state)
{
	struct tree *t = *state;
	/* header; chunk: checksum, length 15, type; record: field 1 = 5, field 17 of
	 * 10 bytes: run id "abc" (1), project "mine" (3) */
	static const char log[] = ":W&B\0\0\0"
				  "\0\0\0\0\x10\0\1"
				  "\x08\x05\x8a\x01\x0b\x0a\x03"
				  "abc\x1a\x04"
				  "mine";

	tree_write_bytes(t, "wandb/run-1-abc/run-abc.wandb", log,
			 sizeof(log) - 1);
	document(t, "wandb/run-1-abc/run-abc.wandb");
	check_has(t, "\"project\":\"mine\"");
}

static void a_damaged_log_has_no_project(void **state)
{
	static const char log[] = ":W&B\0\0\0\0\0\0\0\xff\xff\1"
				  "\x8a\x01\xff\xff\xff\xff\xff";
	size_t len;

	(void)state;
	for (size_t n = 0; n < sizeof(log); n++)
		assert_string_equal(trackers_wandb_project(log, n, &len), "");
}

static void an_experiment_of_mlflow_has_a_name(void **state)
{
	struct tree *t = *state;

	tree_write(t, "mlruns/7/meta.yaml",
		   "artifact_location: x\nname: bert\n");
	document(t, "mlruns/7/0123456789abcdef0123456789abcdef/metrics/loss");
	check_has(t, "\"run_id\":\"0123456789abcdef0123456789abcdef\","
		     "\"project\":\"bert\"");
}

static void other_trackers_are_recognised(void **state)
{
	struct tree *t = *state;

	document(t, "logs/a/events.out.tfevents.17.host.1 "
		    ".neptune/async/run__u/exec-1/data "
		    ".aim/meta/chunks/5a5a/x .aim/seqs/chunks/5a5a/y "
		    "trackio/mine.db mlflow.db");
	check_has(t, "{\"name\":\"tensorboard\",\"folder\":\"");
	check_has(t, "/logs/a\"}");
	check_has(t, "{\"name\":\"neptune\",\"run_id\":\"run__u\",");
	check_has(t, "{\"name\":\"aim\",\"run_id\":\"5a5a\",");
	check_has(t, "{\"name\":\"trackio\",\"project\":\"mine\",");
	check_has(t, "{\"name\":\"mlflow\",\"folder\":");
	assert_null(strstr(t->text.data, "seqs"));
}

static void many_trackers_stay_bounded(void **state)
{
	struct tree *t = *state;
	CLEANUP(str_release) struct str files = STR_INIT;

	for (int i = 0; i < 5000; i++)
		str_addf(&files, "wandb/run-1-%d/x ", i);
	str_addc(&files, 'x');
	document(t, files.data);
	assert_true(t->text.len < 100000);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_not_a_tracker),
		TEST(a_run_of_wandb_has_an_id),
		TEST(the_project_is_read_from_wandbs_log),
		TEST(a_damaged_log_has_no_project),
		TEST(an_experiment_of_mlflow_has_a_name),
		TEST(other_trackers_are_recognised),
		TEST(many_trackers_stay_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
