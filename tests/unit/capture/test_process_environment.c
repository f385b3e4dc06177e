/* test_process_environment.c - what processes were started with, without its secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/json.h"
#include "base/str.h"
#include "capture/process_environment.h"
#include "lineage/redact.h"

struct fixture {
	struct redact *redact;
	struct process_environments *set;
};

static int setup(void **state)
{
	static char *environment[] = { "HF_TOKEN=hf-secret-of-the-command",
				       NULL };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(redact_new(environment, NULL, 0, &f->redact), 0);
	assert_int_equal(process_environments_new(f->redact, &f->set), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	process_environments_free(f->set);
	redact_free(f->redact);
	free(f);
	return 0;
}

#define ADD(f, pid, program, block) \
	process_environments_add((f)->set, pid, program, block, sizeof(block))

static void check_document(const struct fixture *f, const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json json = json_writer(&out, false);

	process_environments_write(f->set, &json);
	assert_string_equal(str_cstr(&out), expected);
}

static void equal_environments_are_one_entry(void **state)
{
	struct fixture *f = *state;

	ADD(f, 10, "/bin/sh", "B=2\0A=1\0_=/bin/sh");
	ADD(f, 11, "/usr/bin/python3", "A=1\0B=2\0_=/usr/bin/python3");
	ADD(f, 12, "/bin/sh", "B=2\0A=1");
	assert_int_equal(process_environments_count(f->set), 1);
	check_document(f, "{\"environments\":[{\"n_processes\":3,\"programs\":"
			  "[\"sh\",\"python3\"],\"variables\":{\"A\":\"1\","
			  "\"B\":\"2\"}}],\"n_unknown\":0,\"n_left_out\":0}");
}

static void others_are_written_as_differences(void **state)
{
	struct fixture *f = *state;

	ADD(f, 10, "sh", "A=1\0B=2\0C=3");
	ADD(f, 11, "worker", "A=1\0B=4\0RANK=0");
	check_document(
		f,
		"{\"environments\":[{\"n_processes\":1,\"programs\":[\"sh\"],"
		"\"variables\":{\"A\":\"1\",\"B\":\"2\",\"C\":\"3\"}},"
		"{\"n_processes\":1,\"programs\":[\"worker\"],\"changed\":"
		"{\"B\":\"4\",\"RANK\":\"0\"},\"unset\":[\"C\"]}],"
		"\"n_unknown\":0,\"n_left_out\":0}");
}

static void a_variable_is_found_by_process_and_name(void **state)
{
	struct fixture *f = *state;

	ADD(f, 10, "rank", "RANK=3\0WORLD_SIZE=8\0EMPTY=");
	process_environments_fork(f->set, 20, 10);
	process_environments_fork(f->set, 21, 99);
	assert_string_equal(process_environments_get(f->set, 10, "RANK"), "3");
	assert_string_equal(process_environments_get(f->set, 20, "WORLD_SIZE"),
			    "8");
	assert_string_equal(process_environments_get(f->set, 10, "EMPTY"), "");
	assert_null(process_environments_get(f->set, 10, "RAN"));
	assert_null(process_environments_get(f->set, 21, "RANK"));
	ADD(f, 10, "again", "RANK=4");
	assert_string_equal(process_environments_get(f->set, 10, "RANK"), "4");
	assert_string_equal(process_environments_get(f->set, 20, "RANK"), "3");
}

static void secrets_are_redacted(void **state)
{
	struct fixture *f = *state;
	static const char *const secret[] = { "WANDB_API_KEY", "my_key",
					      "db_password", "HF_TOKEN" };

	ADD(f, 10, "x",
	    "WANDB_API_KEY=0123456789\0my_key=abc def\0db_password=x y z\0"
	    "HF_TOKEN=hf-secret-of-the-command\0"
	    "ARGS=--lr 1 --hub hf-secret-of-the-command\0"
	    "URL=https://me:hunter22@host/x\0"
	    "TOKENIZERS_PARALLELISM=false\0"
	    "GOOGLE_APPLICATION_CREDENTIALS=/etc/key.json");
	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
		assert_string_equal(process_environments_get(f->set, 10,
							     secret[i]),
				    REDACTED);
	assert_string_equal(process_environments_get(f->set, 10, "ARGS"),
			    "--lr 1 --hub " REDACTED);
	assert_null(strstr(process_environments_get(f->set, 10, "URL"),
			   "hunter22"));
	assert_string_equal(process_environments_get(f->set, 10,
						     "TOKENIZERS_PARALLELISM"),
			    "false");
	assert_string_equal(
		process_environments_get(f->set, 10,
					 "GOOGLE_APPLICATION_CREDENTIALS"),
		"/etc/key.json");
}

static void what_roar_preloads_is_left_out(void **state)
{
	struct fixture *f = *state;

	ADD(f, 10, "x",
	    "A=1\0LD_PRELOAD=/usr/lib/roar/libroar-preload.so\0"
	    "ROAR_PRELOAD_LOG=/memfd:1\0");
	ADD(f, 11, "y", "A=1\0\0\0\0");
	assert_int_equal(process_environments_count(f->set), 1);
	ADD(f, 12, "z", "LD_PRELOAD=/lib/mine.so:/x/libroar-preload.so");
	assert_string_equal(process_environments_get(f->set, 12, "LD_PRELOAD"),
			    "/lib/mine.so");
}

static void a_process_that_is_gone_is_counted(void **state)
{
	struct fixture *f = *state;

	ADD(f, 10, "x", "A=1");
	process_environments_add(f->set, 11, "y", "", 0);
	process_environments_read(f->set, INT32_MAX, "z");
	assert_null(process_environments_get(f->set, 11, "A"));
	check_document(f, "{\"environments\":[{\"n_processes\":1,\"programs\":"
			  "[\"x\"],\"variables\":{\"A\":\"1\"}}],\"n_unknown\""
			  ":2,\"n_left_out\":0}");
}

static void the_environment_of_a_process_is_read(void **state)
{
	struct fixture *f = *state;

	process_environments_read(f->set, getpid(), "test");
	assert_int_equal(process_environments_count(f->set), 1);
}

/* 100,000 variables, each of its own, in a hundred processes. */
static void a_secret_of_a_process_is_known_on_command_lines(void **state)
{
	static const char command[] = "curl -H 'X: made-by-the-script' x";
	struct fixture *f = *state;
	CLEANUP(str_release) struct str out = STR_INIT;

	ADD(f, 1, "sh", "INNER_PASSWORD=made-by-the-script\0DIR=/a/directory");
	redact_text(f->redact, command, sizeof(command) - 1, &out);
	assert_string_equal(str_cstr(&out), "curl -H 'X: [REDACTED]' x");
}

static void many_variables_stay_bounded(void **state)
{
	struct fixture *f = *state;
	CLEANUP(str_release) struct str block = STR_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json json = json_writer(&out, false);

	for (int i = 0; i < 100000; i++) {
		str_addf(&block, "VARIABLE_%d=%0100d", i, i);
		str_addc(&block, '\0');
	}
	for (int pid = 1; pid <= 100; pid++)
		process_environments_add(f->set, pid, "x", block.data,
					 block.len);
	process_environments_write(f->set, &json);
	assert_int_equal(process_environments_count(f->set), 1);
	assert_true(out.len < 2 * 1024 * 1024);
	assert_non_null(strstr(str_cstr(&out), "\"n_processes\":100"));
	assert_null(strstr(str_cstr(&out), "\"n_left_out\":0}"));
}

static void a_long_value_is_cut(void **state)
{
	struct fixture *f = *state;
	CLEANUP(str_release) struct str block = STR_INIT;

	str_adds(&block, "LONG=");
	str_pad(&block, 'x', 1000000);
	process_environments_add(f->set, 1, "x", block.data, block.len);
	assert_int_equal(strlen(process_environments_get(f->set, 1, "LONG")),
			 PROCESS_ENVIRONMENT_VALUE);
}

static void without_memory_a_process_is_unknown(void **state)
{
	struct fixture *f = *state;

	for (int n = 0; n < 12; n++) {
		alloc_fail_after(n);
		ADD(f, n + 1, "x", "A=1\0B=2");
		alloc_fail_never();
		(void)process_environments_get(f->set, n + 1, "A");
	}
	ADD(f, 100, "x", "A=1\0B=2");
	assert_string_equal(process_environments_get(f->set, 100, "B"), "2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_environments_are_one_entry),
		TEST(others_are_written_as_differences),
		TEST(a_variable_is_found_by_process_and_name),
		TEST(secrets_are_redacted),
		TEST(what_roar_preloads_is_left_out),
		TEST(a_process_that_is_gone_is_counted),
		TEST(the_environment_of_a_process_is_read),
		TEST(a_secret_of_a_process_is_known_on_command_lines),
		TEST(many_variables_stay_bounded),
		TEST(a_long_value_is_cut),
		TEST(without_memory_a_process_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
