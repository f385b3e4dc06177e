/* test_dir_walk.c - folders of all shapes, at rest. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "seen_walk.h"

static void leaves_come_in_the_order_of_their_paths(void **state)
{
	struct temp_dir *dir = *state;

	folder(dir, "a");
	folder(dir, "a/b");
	folder(dir, "a/empty");
	file(dir, "a/b/c");
	file(dir, "a/b.c");
	file(dir, "a/b0");
	file(dir, "a.txt");
	file(dir, "a-z");
	file(dir, "a0");
	file(dir, "\xc3\xa4");
	file(dir, "Z");
	assert_walk(dir, 0, "Z a-z a.txt a/b.c a/b/c a/b0 a0 \xc3\xa4 ");
}

static void an_empty_folder_has_no_leaves(void **state)
{
	assert_walk(*state, 0, "");
}

static void odd_names_are_names(void **state)
{
	struct temp_dir *dir = *state;
	char expected[300] = "\n \\ a\nb  ";
	char longest[256];

	memset(longest, 'x', 255);
	longest[255] = '\0';
	file(dir, "\n");
	file(dir, "\\");
	file(dir, "a\nb ");
	file(dir, longest);
	strcat(strcat(expected, longest), " ");
	assert_walk(dir, 0, expected);
}

static void a_name_that_is_no_utf8_is_an_error_of_it(void **state)
{
	struct temp_dir *dir = *state;

	file(dir, "a");
	file(dir, "b\xff");
	folder(dir, "c\xff");
	file(dir, "c\xff/inside");
	file(dir, "d");
	assert_walk(dir, -EILSEQ, "a b\xff:EILSEQ c\xff:EILSEQ d ");
}

static int see_name(void *ctx, const struct dir_walk_entry *found)
{
	assert_int_equal(found->stamp.ino, 0);
	str_addf(ctx, "%s%s ", found->path,
		 found->kind == DIR_WALK_LINK ? "@" : "");
	return 0;
}

static void note_name(void *ctx, const char *path, int error)
{
	str_addf(ctx, "%s:%s ", path, strerrorname_np(-error));
}

static void a_bare_walk_takes_any_name_and_looks_at_nothing(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const struct dir_walk_visitor visitor = { .leaf = see_name,
						  .error = note_name,
						  .ctx = &text,
						  .bare = true };
	struct temp_dir *dir = *state;

	file(dir, "a");
	file(dir, "b\xff");
	folder(dir, "c\xff");
	file(dir, "c\xff/inside");
	assert_int_equal(symlinkat("a", dir->fd, "d"), 0);
	assert_int_equal(mkfifoat(dir->fd, "e", 0600), 0);
	assert_int_equal(dir_walk(dir->fd, ".", &visitor), -EINVAL);
	assert_string_equal(str_cstr(&text),
			    "a b\xff c\xff/inside d@ e:EINVAL ");
}

static int see_inode(void *ctx, const struct dir_walk_entry *found)
{
	struct stat st;

	assert_int_equal(fstatat(found->dirfd, found->name, &st,
				 AT_SYMLINK_NOFOLLOW),
			 0);
	assert_int_equal(found->stamp.ino, st.st_ino);
	assert_int_equal(found->stamp.dev, st.st_dev);
	assert_int_equal(found->stamp.mtime_ns, 0);
	str_addf(ctx, "%s%s ", found->path,
		 found->kind == DIR_WALK_LINK ? "@" : "");
	return 0;
}

static void a_lazy_walk_has_inodes_from_the_folder_alone(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const struct dir_walk_visitor visitor = { .leaf = see_inode,
						  .error = note_name,
						  .ctx = &text,
						  .lazy = true };
	struct temp_dir *dir = *state;

	file(dir, "a");
	file(dir, "b\xff");
	folder(dir, "c");
	file(dir, "c/inside");
	assert_int_equal(symlinkat("a", dir->fd, "d"), 0);
	assert_int_equal(mkfifoat(dir->fd, "e", 0600), 0);
	assert_int_equal(dir_walk(dir->fd, ".", &visitor), -EILSEQ);
	assert_string_equal(str_cstr(&text),
			    "a b\xff:EILSEQ c/inside d@ e:EINVAL ");
}

static void a_look_follows_no_link_below_the_top(void **state)
{
	struct temp_dir *dir = *state;
	struct stamp stamp = { 0 };
	char link[80];
	struct stat st;

	folder(dir, "d");
	folder(dir, "d/e");
	file(dir, "d/e/f");
	assert_int_equal(symlinkat("d", dir->fd, "into"), 0);
	assert_int_equal(symlinkat("e/f", dir->fd, "d/l"), 0);
	assert_int_equal(fstatat(dir->fd, "d/e/f", &st, 0), 0);

	assert_int_equal(dir_walk_stat(dir->path, "into/e/f", &stamp),
			 -ENOTDIR);
	assert_int_equal(dir_walk_stat(dir->path, "d/l", &stamp), -EINVAL);
	assert_int_equal(dir_walk_stat(dir->path, "d/e", &stamp), -EINVAL);
	assert_int_equal(dir_walk_stat(dir->path, "d/none/f", &stamp), -ENOENT);
	assert_int_equal(stamp.ino, 0);
	assert_int_equal(dir_walk_stat(dir->path, "d/e/f", &stamp), 0);
	assert_int_equal(stamp.ino, st.st_ino);
	(void)snprintf(link, sizeof(link), "%s/into", dir->path);
	assert_int_equal(dir_walk_stat(link, "e/f", &stamp), 0);
}

static void links_are_leaves_and_never_followed(void **state)
{
	struct temp_dir *dir = *state;

	folder(dir, "d");
	file(dir, "d/f");
	assert_int_equal(symlinkat("..", dir->fd, "d/up"), 0);
	assert_int_equal(symlinkat("d", dir->fd, "into"), 0);
	assert_int_equal(symlinkat("self", dir->fd, "self"), 0);
	assert_int_equal(symlinkat("nowhere", dir->fd, "dangling"), 0);
	assert_int_equal(symlinkat("/dev/zero", dir->fd, "zero"), 0);
	assert_walk(dir, 0, "d/f d/up@ dangling@ into@ self@ zero@ ");
}

static void the_top_may_be_a_link(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(release_seen) struct seen seen = { .text = STR_INIT };
	const struct dir_walk_visitor visitor = { .leaf = see_leaf,
						  .error = see_error,
						  .ctx = &seen };

	folder(dir, "d");
	file(dir, "d/f");
	assert_int_equal(symlinkat("d", dir->fd, "link"), 0);
	assert_int_equal(dir_walk(dir->fd, "link", &visitor), 0);
	assert_string_equal(str_cstr(&seen.text), "f ");
}

static void a_top_that_is_no_folder_fails_as_open_does(void **state)
{
	struct temp_dir *dir = *state;
	const struct dir_walk_visitor visitor = { .leaf = see_leaf,
						  .error = see_error,
						  .ctx = NULL };

	file(dir, "f");
	assert_int_equal(dir_walk(dir->fd, "none", &visitor), -ENOENT);
	assert_int_equal(dir_walk(dir->fd, "f", &visitor), -ENOTDIR);
	assert_int_equal(dir_walk(-1, "f", &visitor), -EBADF);
}

static void special_files_are_errors_of_their_names(void **state)
{
	struct temp_dir *dir = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s",
		       dir->path);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	assert_int_equal(mkfifoat(dir->fd, "p", 0600), 0);
	file(dir, "a");
	file(dir, "z");
	assert_walk(dir, -EINVAL, "a p:EINVAL s:EINVAL z ");
}

/* In a child, because root reads everything. */
static int walk_as_nobody(struct temp_dir *dir)
{
	struct seen seen = { .text = STR_INIT };

	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
		return 2;
	if (walk(dir, &seen) != -EACCES)
		return 1;
	return strcmp(str_cstr(&seen.text), "a b:EACCES c/f:EACCES d ") != 0;
}

static void an_unreadable_folder_is_an_error_of_its_name(void **state)
{
	struct temp_dir *dir = *state;
	int status = -1;
	pid_t pid;

	file(dir, "a");
	folder(dir, "b");
	file(dir, "b/f");
	folder(dir, "c"); /* may be listed, but not entered */
	file(dir, "c/f");
	file(dir, "d");
	assert_int_equal(fchmodat(dir->fd, "b", 0, 0), 0);
	assert_int_equal(fchmodat(dir->fd, "c", 0444, 0), 0);
	assert_int_equal(fchmod(dir->fd, 0755), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(walk_as_nobody(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(fchmodat(dir->fd, "b", 0755, 0), 0);
	assert_int_equal(fchmodat(dir->fd, "c", 0755, 0), 0);
	assert_int_equal(status, 0);
}

/* In a child with mounts of its own.  77: this machine does not let us. */
static int walk_with_loop(struct temp_dir *dir)
{
	struct seen seen = { .text = STR_INIT };
	const struct dir_walk_visitor visitor = { .leaf = see_leaf,
						  .error = see_error,
						  .ctx = &seen };
	char sub[80];

	(void)snprintf(sub, sizeof(sub), "%s/b/sub", dir->path);
	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(dir->path, sub, NULL, MS_BIND, NULL) < 0)
		return 77;
	/* By its path: the open descriptor leads to where nothing is mounted. */
	if (dir_walk(AT_FDCWD, dir->path, &visitor) != -ELOOP)
		return 1;
	return strcmp(str_cstr(&seen.text), "a b/f b/sub:ELOOP c ") != 0;
}

static void a_folder_mounted_in_itself_is_not_entered(void **state)
{
	struct temp_dir *dir = *state;
	int status = -1;
	pid_t pid;

	file(dir, "a");
	folder(dir, "b");
	file(dir, "b/f");
	folder(dir, "b/sub");
	file(dir, "c");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(walk_with_loop(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(leaves_come_in_the_order_of_their_paths),
		DIR_TEST(an_empty_folder_has_no_leaves),
		DIR_TEST(odd_names_are_names),
		DIR_TEST(a_name_that_is_no_utf8_is_an_error_of_it),
		DIR_TEST(a_bare_walk_takes_any_name_and_looks_at_nothing),
		DIR_TEST(a_lazy_walk_has_inodes_from_the_folder_alone),
		DIR_TEST(a_look_follows_no_link_below_the_top),
		DIR_TEST(links_are_leaves_and_never_followed),
		DIR_TEST(the_top_may_be_a_link),
		DIR_TEST(a_top_that_is_no_folder_fails_as_open_does),
		DIR_TEST(special_files_are_errors_of_their_names),
		DIR_TEST(an_unreadable_folder_is_an_error_of_its_name),
		DIR_TEST(a_folder_mounted_in_itself_is_not_entered),
	};

	return cmocka_run_group_tests_name("dir_walk", tests, NULL, NULL);
}
