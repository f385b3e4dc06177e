/* test_head.c - finding repositories and reading refs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "fixture.h"
#include "git/git_head.h"
#include "git/git_repo.h"

#define HEAD_TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#define ID "0123456789abcdef0123456789abcdef01234567"

static int read_head(const struct fixture *f, struct git_head *ret_head)
{
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };

	assert_int_equal(git_repo_find(f->work, &repo), 1);
	return git_head_read(&repo, ret_head);
}

static int read_ref(const struct fixture *f, const char *ref,
		    char hex[GIT_HEX_MAX + 1])
{
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };

	assert_int_equal(git_repo_find(f->work, &repo), 1);
	return git_ref_read(&repo, ref, hex);
}

static void object_ids_have_40_or_64_digits(void **state)
{
	(void)state;
	assert_true(git_hex_valid(ID, 40));
	assert_true(git_hex_valid(ID ID, 64));
	assert_false(git_hex_valid(ID, 39));
	assert_false(
		git_hex_valid("0123456789ABCDEF0123456789abcdef01234567", 40));
	assert_false(git_hex_valid("", 0));
}

static void nearest_repository_is_found(void **state)
{
	const struct fixture *f = *state;
	struct git_repo repo;
	char dir[128];

	(void)snprintf(dir, sizeof(dir), "%s//lib/./../lib/", f->work);
	assert_int_equal(git_repo_find(dir, &repo), 1);
	assert_string_equal(repo.root, f->work);
	assert_string_equal(repo.git_dir, repo.common_dir);
	git_repo_release(&repo);
	/* A `.git` that is no repository hides nothing. */
	sh(f, "mkdir lib/.git");
	assert_int_equal(git_repo_find(dir, &repo), 1);
	assert_string_equal(repo.root, f->work);
	git_repo_release(&repo);
	sh(f, "rmdir lib/.git; echo 'gitdir: /nonexistent' > lib/.git");
	assert_int_equal(git_repo_find(dir, &repo), 1);
	assert_string_equal(repo.root, f->work);
	git_repo_release(&repo);
	assert_int_equal(git_repo_find("lib", &repo), -EINVAL);
	assert_int_equal(git_repo_find("/proc/self", &repo), 0);
}

static void linked_worktree_shares_the_common_folder(void **state)
{
	const struct fixture *f = *state;
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	CLEANUP(freep) char *common = sh_out(f, "echo $PWD/.git");
	char dir[128];

	sh(f, "git worktree add -q ../linked");
	(void)snprintf(dir, sizeof(dir), "%s/linked/lib", f->top);
	assert_int_equal(git_repo_find(dir, &repo), 1);
	assert_string_equal(repo.common_dir, common);
	assert_non_null(strstr(repo.git_dir, "/.git/worktrees/linked"));
}

static void read_file_refuses_what_is_no_file(void **state)
{
	const struct fixture *f = *state;
	CLEANUP(str_release) struct str out = STR_INIT;

	sh(f, "mkfifo fifo");
	assert_int_equal(git_read_file(f->work, "fifo", 100, &out), -ENOENT);
	assert_int_equal(git_read_file(f->work, "lib", 100, &out), -ENOENT);
	assert_int_equal(git_read_file(f->work, "none", 100, &out), -ENOENT);
	assert_int_equal(git_read_file(f->work, "a.py", 3, &out), -EFBIG);
	assert_int_equal(git_read_file(f->work, "a.py", 9, &out), 0);
	assert_string_equal(out.data, "print(1)\n");
}

static void head_is_a_branch_or_a_commit(void **state)
{
	const struct fixture *f = *state;
	struct git_head head;

	assert_int_equal(read_head(f, &head), 0);
	assert_string_equal(head.ref, "refs/heads/main");
	assert_sh(f, head.commit, "git rev-parse HEAD");
	git_head_release(&head);
	sh(f, "echo " ID " > .git/HEAD");
	assert_int_equal(read_head(f, &head), 0);
	assert_null(head.ref);
	assert_string_equal(head.commit, ID);
	git_head_release(&head);
	sh(f, "echo 'ref: refs/heads/unborn' > .git/HEAD");
	assert_int_equal(read_head(f, &head), 0);
	assert_string_equal(head.ref, "refs/heads/unborn");
	assert_null(head.commit);
	git_head_release(&head);
}

static void reftable_is_left_to_git(void **state)
{
	const struct fixture *f = *state;
	struct git_head head;

	sh(f, "echo 'ref: refs/heads/.invalid' > .git/HEAD");
	assert_int_equal(read_head(f, &head), 0);
	assert_true(head.foreign);
	git_head_release(&head);
}

static void broken_heads_are_errors(void **state)
{
	static const char *const bad[] = { "",
					   "hello",
					   "ref: ../../../etc/passwd",
					   "ref: refs/../../x",
					   "ref:",
					   "0123456789" };
	const struct fixture *f = *state;
	struct git_head head;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sh(f, "echo '%s' > .git/HEAD", bad[i]);
		assert_int_equal(read_head(f, &head), -EBADMSG);
	}
	sh(f, "head -c 100000 /dev/zero > .git/HEAD");
	assert_int_equal(read_head(f, &head), -EFBIG);
}

static void refs_are_loose_packed_or_symbolic(void **state)
{
	const struct fixture *f = *state;
	char hex[GIT_HEX_MAX + 1];

	sh(f, "git tag v1; git tag -a v2 -m two; git pack-refs --all;"
	      "git symbolic-ref refs/heads/alias refs/heads/main");
	assert_int_equal(read_ref(f, "refs/heads/main", hex), 1);
	assert_sh(f, hex, "git rev-parse main");
	assert_int_equal(read_ref(f, "refs/heads/alias", hex), 1);
	assert_sh(f, hex, "git rev-parse main");
	assert_int_equal(read_ref(f, "refs/tags/v2", hex), 1);
	assert_sh(f, hex, "git rev-parse v2");
	assert_int_equal(read_ref(f, "refs/heads/mai", hex), 0);
	assert_int_equal(read_ref(f, "refs/heads", hex), 0);
	assert_int_equal(read_ref(f, "HEAD", hex), -EINVAL);
	assert_int_equal(read_ref(f, "refs/../HEAD", hex), -EINVAL);
	/* A loose ref wins over the packed one. */
	sh(f, "echo " ID " > .git/refs/heads/main");
	assert_int_equal(read_ref(f, "refs/heads/main", hex), 1);
	assert_string_equal(hex, ID);
}

static void circular_refs_end(void **state)
{
	const struct fixture *f = *state;
	char hex[GIT_HEX_MAX + 1];

	sh(f, "echo 'ref: refs/heads/b' > .git/refs/heads/a;"
	      "echo 'ref: refs/heads/a' > .git/refs/heads/b");
	assert_int_equal(read_ref(f, "refs/heads/a", hex), -ELOOP);
}

static void short_names_drop_only_the_branch_prefix(void **state)
{
	(void)state;
	assert_string_equal(git_ref_short("refs/heads/a/b"), "a/b");
	assert_string_equal(git_ref_short("refs/remotes/o/m"),
			    "refs/remotes/o/m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(object_ids_have_40_or_64_digits),
		HEAD_TEST(nearest_repository_is_found),
		HEAD_TEST(linked_worktree_shares_the_common_folder),
		HEAD_TEST(read_file_refuses_what_is_no_file),
		HEAD_TEST(head_is_a_branch_or_a_commit),
		HEAD_TEST(reftable_is_left_to_git),
		HEAD_TEST(broken_heads_are_errors),
		HEAD_TEST(refs_are_loose_packed_or_symbolic),
		HEAD_TEST(circular_refs_end),
		cmocka_unit_test(short_names_drop_only_the_branch_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
