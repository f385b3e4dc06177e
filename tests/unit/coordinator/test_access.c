/* test_access.c - what a call may see and change. */
#include "test.h"

#include "alloc_fail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "rpc/access.h"

static char path[] = "/tmp/test-access-XXXXXX";

static void write_tokens(const char *text)
{
	assert_int_equal(
		fd_replace_file(AT_FDCWD, path, text, strlen(text), 0600), 0);
}

static void check(struct access *a, const char *authorization, const char *job,
		  const char *expected_job, bool admin)
{
	struct scope *s = NULL;

	assert_int_equal(access_check(a, authorization, job, &s),
			 ACCESS_GRANTED);
	if (expected_job)
		assert_string_equal(s->job, expected_job);
	else
		assert_null(s->job);
	assert_int_equal(s->admin, admin);
	access_done(a, s);
}

static void without_tokens_everybody_is_the_administrator(void **state)
{
	CLEANUP(access_close) struct access a;
	struct scope *s = NULL;

	(void)state;
	assert_int_equal(access_open(&a, NULL, NULL), 0);
	check(&a, NULL, NULL, NULL, true);
	check(&a, "Bearer whatever", "", NULL, true);
	check(&a, NULL, "j", "j", true);
	assert_int_equal(access_check(&a, NULL, "a/b", &s), ACCESS_INVALID);
}

static void a_token_is_for_its_job_alone(void **state)
{
	CLEANUP(access_close) struct access a;
	struct scope *s = NULL;

	(void)state;
	write_tokens("a secret-of-a\n* administrator\n");
	assert_int_equal(access_open(&a, path, NULL), 0);
	check(&a, "Bearer secret-of-a", NULL, "a", false);
	check(&a, "bearer  secret-of-a", "a", "a", false);
	check(&a, "secret-of-a", NULL, "a", false);
	check(&a, "Bearer administrator", NULL, NULL, true);
	check(&a, "Bearer administrator", "b", "b", true);
	assert_int_equal(access_check(&a, "Bearer secret-of-a", "b", &s),
			 ACCESS_DENIED);
	assert_null(s);
}

static void without_a_known_token_nothing_is_granted(void **state)
{
	static const char *const bad[] = { NULL,
					   "",
					   "Bearer",
					   "Bearer ",
					   "Bearer secret-of-b",
					   "Basic secret-of-a",
					   "Bearer secret-of-a x" };
	CLEANUP(access_close) struct access a;
	struct scope *s = NULL;

	(void)state;
	write_tokens("a secret-of-a\n");
	assert_int_equal(access_open(&a, path, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(access_check(&a, bad[i], NULL, &s),
				 ACCESS_UNKNOWN);
	assert_null(s);
	assert_string_not_equal(access_sentence(ACCESS_UNKNOWN), "");
}

static void a_token_leaves_room_for_others(void **state)
{
	CLEANUP(access_close) struct access a;
	struct scope *s = NULL;

	(void)state;
	write_tokens("a secret-of-a\nb secret-of-b\n* administrator\n");
	assert_int_equal(access_open(&a, path, NULL), 0);
	a.max_calls = 2;
	for (int i = 0; i < 2; i++)
		assert_int_equal(access_check(&a, "secret-of-a", NULL, &s),
				 ACCESS_GRANTED);
	assert_int_equal(access_check(&a, "secret-of-a", NULL, &s),
			 ACCESS_BUSY);
	assert_string_not_equal(access_sentence(ACCESS_BUSY), "");
	check(&a, "secret-of-b", NULL, "b", false);
	access_done(&a, s);
	check(&a, "secret-of-a", NULL, "a", false);
	for (int i = 0; i < 3; i++)
		assert_int_equal(access_check(&a, "administrator", NULL, &s),
				 ACCESS_GRANTED);
}

static void calls_with_the_same_token_share_a_scope(void **state)
{
	CLEANUP(access_close) struct access a;
	struct scope *one = NULL;
	struct scope *two = NULL;

	(void)state;
	assert_int_equal(access_open(&a, NULL, NULL), 0);
	assert_int_equal(access_check(&a, NULL, "j", &one), ACCESS_GRANTED);
	assert_int_equal(access_check(&a, NULL, "j", &two), ACCESS_GRANTED);
	assert_ptr_equal(one, two);
	access_done(&a, one);
	access_done(&a, two);
	assert_int_equal(a.scopes.count, 1);
}

static void names_that_nobody_uses_are_forgotten(void **state)
{
	CLEANUP(access_close) struct access a;
	struct scope *held = NULL;
	struct scope *s = NULL;
	char name[16];

	(void)state;
	assert_int_equal(access_open(&a, NULL, NULL), 0);
	assert_int_equal(access_check(&a, NULL, "held", &held), ACCESS_GRANTED);
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "job-%d", i);
		assert_int_equal(access_check(&a, NULL, name, &s),
				 ACCESS_GRANTED);
		access_done(&a, s);
	}
	assert_true(a.scopes.count <= 257);
	assert_string_equal(held->job, "held");
	access_done(&a, held);
}

static void reading_again_tells_whose_token_is_gone(void **state)
{
	CLEANUP(access_close) struct access a;
	struct roar_error err;
	struct scope *s = NULL;
	struct scope *first = NULL;
	struct scope *second = NULL;

	(void)state;
	write_tokens("a secret-of-a\na second-of-a\n");
	assert_int_equal(access_open(&a, path, NULL), 0);
	assert_int_equal(access_check(&a, "secret-of-a", NULL, &first),
			 ACCESS_GRANTED);
	assert_int_equal(access_check(&a, "second-of-a", NULL, &second),
			 ACCESS_GRANTED);
	assert_ptr_not_equal(first, second);
	write_tokens("a secret-of-a\na second-of-a\nb secret-of-b\n");
	assert_int_equal(access_reload(&a, &err), 0);
	assert_false(first->withdrawn);
	write_tokens("b secret-of-a\na second-of-a\nb secret-of-b\n");
	assert_int_equal(access_reload(&a, &err), 0);
	assert_true(first->withdrawn); /* it is for another job now */
	write_tokens("a second-of-a\nb secret-of-b\n");
	assert_int_equal(access_reload(&a, &err), 0);
	assert_true(first->withdrawn);
	assert_false(second->withdrawn);
	assert_int_equal(access_check(&a, "secret-of-a", NULL, &s),
			 ACCESS_UNKNOWN);
	check(&a, "secret-of-b", NULL, "b", false);
	write_tokens("a secret-of-a\n");
	assert_int_equal(access_reload(&a, &err), 0);
	assert_false(first->withdrawn);
	access_done(&a, first);
	access_done(&a, second);
}

static void a_bad_file_leaves_the_tokens_as_they_were(void **state)
{
	CLEANUP(access_close) struct access a;
	struct roar_error err;

	(void)state;
	write_tokens("a secret-of-a\n");
	assert_int_equal(access_open(&a, path, NULL), 0);
	write_tokens("nonsense\n");
	assert_int_equal(access_reload(&a, &err), -EINVAL);
	check(&a, "secret-of-a", NULL, "a", false);
}

static void without_memory_nothing_is_granted(void **state)
{
	CLEANUP(access_close) struct access a;
	struct scope *s = NULL;
	enum access_verdict verdict;

	(void)state;
	assert_int_equal(access_open(&a, NULL, NULL), 0);
	for (int i = 0; i < 2; i++) {
		alloc_fail_after(i);
		verdict = access_check(&a, NULL, "j", &s);
		alloc_fail_never();
		assert_int_equal(verdict, ACCESS_NO_MEMORY);
	}
	check(&a, NULL, "j", "j", true);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	closep(&fd);
	return fd < 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_tokens_everybody_is_the_administrator),
		cmocka_unit_test(a_token_is_for_its_job_alone),
		cmocka_unit_test(without_a_known_token_nothing_is_granted),
		cmocka_unit_test(a_token_leaves_room_for_others),
		cmocka_unit_test(calls_with_the_same_token_share_a_scope),
		cmocka_unit_test(names_that_nobody_uses_are_forgotten),
		cmocka_unit_test(reading_again_tells_whose_token_is_gone),
		cmocka_unit_test(a_bad_file_leaves_the_tokens_as_they_were),
		cmocka_unit_test(without_memory_nothing_is_granted),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
