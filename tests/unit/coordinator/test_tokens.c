/* test_tokens.c - the file of tokens. */
#include "test.h"

#include "alloc_fail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "rpc/tokens.h"

static char path[] = "/tmp/test-tokens-XXXXXX";
static struct roar_error err;

static int load(const char *text, struct tokens **ret)
{
	assert_int_equal(
		fd_replace_file(AT_FDCWD, path, text, strlen(text), 0600), 0);
	err.text[0] = '\0';
	return tokens_load(path, ret, &err);
}

static const char *find(const struct tokens *t, const char *token)
{
	const struct token *found = tokens_find(t, token, strlen(token));

	return found ? found->job : NULL;
}

static void a_token_leads_to_its_job(void **state)
{
	CLEANUP(tokens_freep) struct tokens *t = NULL;

	(void)state;
	assert_int_equal(load("# comment\n\na secret-of-a\r\n"
			      "b\tsecret-of-b  \na second-of-a\n* administrator",
			      &t),
			 0);
	assert_string_equal(find(t, "secret-of-a"), "a");
	assert_string_equal(find(t, "second-of-a"), "a");
	assert_string_equal(find(t, "secret-of-b"), "b");
	assert_string_equal(find(t, "administrator"), "*");
}

static void other_tokens_lead_nowhere(void **state)
{
	CLEANUP(tokens_freep) struct tokens *t = NULL;
	char longest[TOKEN_MAX + 2];

	(void)state;
	assert_int_equal(load("a secret-of-a\n", &t), 0);
	assert_null(find(t, ""));
	assert_null(find(t, "secret-of-"));
	assert_null(find(t, "secret-of-ab"));
	assert_null(find(t, "secret-of-a "));
	assert_null(find(t, "# comment"));
	memset(longest, 'x', sizeof(longest));
	assert_null(tokens_find(t, longest, sizeof(longest)));
}

static void lines_that_are_none_are_named_without_their_token(void **state)
{
	struct tokens *t = NULL;

	(void)state;
	assert_int_equal(load("a secret-of-a\na/b secret-of-b\n", &t), -EINVAL);
	assert_non_null(strstr(err.text, "line 2 of "));
	assert_null(strstr(err.text, "secret"));
	assert_int_equal(load("a short\n", &t), -EINVAL);
	assert_int_equal(load("a\n", &t), -EINVAL);
	assert_int_equal(load("a two secrets-in-a-line\n", &t), -EINVAL);
	assert_int_equal(load("a secret\xff-of-a\n", &t), -EINVAL);
	assert_int_equal(load("** secret-of-a\n", &t), -EINVAL);
	assert_int_equal(load("a secret-of-a\nb secret-of-a\n", &t), -EINVAL);
	assert_non_null(strstr(err.text, "repeats a token"));
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0601 };
	CLEANUP(tokens_freep) struct tokens *t = NULL;

	(void)state;
	assert_int_equal(load("a secret-of-a\n", &t), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(tokens_load(path, &t, &err), -EACCES);
		assert_non_null(strstr(err.text, "chmod 600"));
	}
}

/* What a process of that user and group gets. */
static int load_as(unsigned id)
{
	pid_t child = fork();
	struct tokens *t = NULL;
	int status = 0;

	assert_true(child >= 0);
	if (child == 0) {
		if (setgroups(0, NULL) < 0 || setgid(id) < 0 || setuid(id) < 0)
			_exit(255);
		_exit(-tokens_load(path, &t, NULL));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void lend(unsigned user, unsigned group, mode_t mode)
{
	assert_int_equal(chown(path, user, group), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* As the unit of systemd runs the server: root's file, and a group of its own. */
static void a_file_of_root_may_be_lent_to_the_own_group(void **state)
{
	enum { ME = 64001, OTHER = 64002 };
	CLEANUP(tokens_freep) struct tokens *t = NULL;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(load("a secret-of-a\n", &t), 0);
	lend(0, ME, 0640);
	assert_int_equal(load_as(ME), 0);
	assert_int_equal(load_as(OTHER), -EACCES);
	lend(0, ME, 0660);
	assert_int_equal(load_as(ME), -EACCES);
	lend(0, ME, 0644);
	assert_int_equal(load_as(ME), -EACCES);
	lend(OTHER, ME, 0640);
	assert_int_equal(load_as(ME), -EACCES);
	lend(ME, OTHER, 0640);
	assert_int_equal(load_as(ME), -EACCES);
	lend(0, 0, 0600);
}

static void what_is_no_file_is_refused(void **state)
{
	struct tokens *t = NULL;

	(void)state;
	assert_int_equal(tokens_load("/nonexistent", &t, &err), -ENOENT);
	assert_int_equal(tokens_load("/tmp", &t, &err), -EINVAL);
	assert_int_equal(tokens_load("/dev/null", &t, &err), -EINVAL);
}

static void a_set_tells_whether_it_holds_a_token_of_another(void **state)
{
	CLEANUP(tokens_freep) struct tokens *ab = NULL;
	CLEANUP(tokens_freep) struct tokens *a = NULL;
	CLEANUP(tokens_freep) struct tokens *moved = NULL;
	const struct token *of_b;
	const struct token *of_a;

	(void)state;
	assert_int_equal(load("a secret-of-a\nb secret-of-b\n", &ab), 0);
	assert_int_equal(load("a secret-of-a\n", &a), 0);
	assert_int_equal(load("b secret-of-a\n", &moved), 0);
	of_a = tokens_find(ab, "secret-of-a", 11);
	of_b = tokens_find(ab, "secret-of-b", 11);
	assert_true(tokens_hold(a, of_a->digest, "a"));
	assert_false(tokens_hold(a, of_b->digest, "b"));
	assert_false(tokens_hold(moved, of_a->digest, "a"));
}

static void without_memory_nothing_is_loaded(void **state)
{
	struct tokens *t = NULL;
	int r = -ENOMEM;

	(void)state;
	assert_int_equal(load("a secret-of-a\nb secret-of-b\n", &t), 0);
	tokens_free(t);
	t = NULL;
	for (int i = 0; r == -ENOMEM; i++) {
		alloc_fail_after(i);
		r = tokens_load(path, &t, &err);
		alloc_fail_never();
		assert_true(r == 0 || !t);
	}
	assert_int_equal(r, 0);
	tokens_free(t);
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
		cmocka_unit_test(a_token_leads_to_its_job),
		cmocka_unit_test(other_tokens_lead_nowhere),
		cmocka_unit_test(
			lines_that_are_none_are_named_without_their_token),
		cmocka_unit_test(a_file_that_others_may_read_is_refused),
		cmocka_unit_test(a_file_of_root_may_be_lent_to_the_own_group),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(
			a_set_tells_whether_it_holds_a_token_of_another),
		cmocka_unit_test(without_memory_nothing_is_loaded),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
