/* test_tree_walk.c - folders of all shapes, at rest and under the walk's feet. */
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "alloc_fail.h"
#include "base/str.h"
#include "hash/tree.h"
#include "hash/tree_walk.h"
#include "temp_dir.h"

/* What a walk told: leaves as "path ", those of links as "path@ ", errors as
 * "path:EINVAL ". */
struct seen {
	struct str text;
	struct temp_dir *dir;
	const char *trigger; /* at this leaf ... */
	void (*action)(struct temp_dir *dir); /* ... this is done to the tree */
};

static int see_leaf(void *ctx, const struct tree_found *found)
{
	struct seen *seen = ctx;
	struct stat st;

	assert_int_equal(strlen(found->path), found->len);
	assert_int_equal(fstatat(found->dirfd, found->name, &st,
				 AT_SYMLINK_NOFOLLOW),
			 0);
	assert_int_equal(st.st_ino, found->stamp.ino);
	assert_int_equal(st.st_size, found->stamp.size);
	assert_int_equal(S_ISLNK(st.st_mode), found->kind == TREE_LINK);
	str_addf(&seen->text, "%s%s ", found->path,
		 found->kind == TREE_LINK ? "@" : "");
	if (seen->trigger && strcmp(seen->trigger, found->path) == 0)
		seen->action(seen->dir);
	return 0;
}

static void see_error(void *ctx, const char *path, int error)
{
	struct seen *seen = ctx;

	assert_true(error < 0);
	str_addf(&seen->text, "%s:%s ", path, strerrorname_np(-error));
}

static void release_seen(struct seen *seen)
{
	str_release(&seen->text);
}

static int walk(struct temp_dir *dir, struct seen *seen)
{
	const struct tree_visitor visitor = { .leaf = see_leaf,
					      .error = see_error,
					      .ctx = seen };

	seen->dir = dir;
	return tree_walk(dir->fd, ".", &visitor);
}

static void assert_walk(struct temp_dir *dir, int r, const char *expected)
{
	CLEANUP(release_seen) struct seen seen = { .text = STR_INIT };

	assert_int_equal(walk(dir, &seen), r);
	assert_string_equal(str_cstr(&seen.text), expected);
}

/* The same, with something done in the middle. */
static void assert_walk_with(struct temp_dir *dir, const char *trigger,
			     void (*action)(struct temp_dir *dir), int r,
			     const char *expected)
{
	CLEANUP(release_seen)
	struct seen seen = { .trigger = trigger, .action = action };

	assert_int_equal(walk(dir, &seen), r);
	assert_string_equal(str_cstr(&seen.text), expected);
}

static void file(struct temp_dir *dir, const char *path)
{
	write_pattern(dir, path, 3, 0);
}

static void folder(struct temp_dir *dir, const char *path)
{
	assert_int_equal(mkdirat(dir->fd, path, 0755), 0);
}

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

static int see_name(void *ctx, const struct tree_found *found)
{
	assert_int_equal(found->stamp.ino, 0);
	str_addf(ctx, "%s%s ", found->path,
		 found->kind == TREE_LINK ? "@" : "");
	return 0;
}

static void note_name(void *ctx, const char *path, int error)
{
	str_addf(ctx, "%s:%s ", path, strerrorname_np(-error));
}

static void a_bare_walk_takes_any_name_and_looks_at_nothing(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const struct tree_visitor visitor = { .leaf = see_name,
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
	assert_int_equal(tree_walk(dir->fd, ".", &visitor), -EINVAL);
	assert_string_equal(str_cstr(&text),
			    "a b\xff c\xff/inside d@ e:EINVAL ");
}

static int see_inode(void *ctx, const struct tree_found *found)
{
	struct stat st;

	assert_int_equal(fstatat(found->dirfd, found->name, &st,
				 AT_SYMLINK_NOFOLLOW),
			 0);
	assert_int_equal(found->stamp.ino, st.st_ino);
	assert_int_equal(found->stamp.dev, st.st_dev);
	assert_int_equal(found->stamp.mtime_ns, 0);
	str_addf(ctx, "%s%s ", found->path,
		 found->kind == TREE_LINK ? "@" : "");
	return 0;
}

static void a_lazy_walk_has_inodes_from_the_folder_alone(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const struct tree_visitor visitor = { .leaf = see_inode,
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
	assert_int_equal(tree_walk(dir->fd, ".", &visitor), -EILSEQ);
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

	assert_int_equal(tree_walk_look(dir->path, "into/e/f", &stamp),
			 -ENOTDIR);
	assert_int_equal(tree_walk_look(dir->path, "d/l", &stamp), -EINVAL);
	assert_int_equal(tree_walk_look(dir->path, "d/e", &stamp), -EINVAL);
	assert_int_equal(tree_walk_look(dir->path, "d/none/f", &stamp),
			 -ENOENT);
	assert_int_equal(stamp.ino, 0);
	assert_int_equal(tree_walk_look(dir->path, "d/e/f", &stamp), 0);
	assert_int_equal(stamp.ino, st.st_ino);
	(void)snprintf(link, sizeof(link), "%s/into", dir->path);
	assert_int_equal(tree_walk_look(link, "e/f", &stamp), 0);
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
	const struct tree_visitor visitor = { .leaf = see_leaf,
					      .error = see_error,
					      .ctx = &seen };

	folder(dir, "d");
	file(dir, "d/f");
	assert_int_equal(symlinkat("d", dir->fd, "link"), 0);
	assert_int_equal(tree_walk(dir->fd, "link", &visitor), 0);
	assert_string_equal(str_cstr(&seen.text), "f ");
}

static void a_top_that_is_no_folder_fails_as_open_does(void **state)
{
	struct temp_dir *dir = *state;
	const struct tree_visitor visitor = { .leaf = see_leaf,
					      .error = see_error,
					      .ctx = NULL };

	file(dir, "f");
	assert_int_equal(tree_walk(dir->fd, "none", &visitor), -ENOENT);
	assert_int_equal(tree_walk(dir->fd, "f", &visitor), -ENOTDIR);
	assert_int_equal(tree_walk(-1, "f", &visitor), -EBADF);
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
	const struct tree_visitor visitor = { .leaf = see_leaf,
					      .error = see_error,
					      .ctx = &seen };
	char sub[80];

	(void)snprintf(sub, sizeof(sub), "%s/b/sub", dir->path);
	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(dir->path, sub, NULL, MS_BIND, NULL) < 0)
		return 77;
	/* By its path: the open descriptor leads to where nothing is mounted. */
	if (tree_walk(AT_FDCWD, dir->path, &visitor) != -ELOOP)
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

/* Folders "d" in each other, with a file "a" and a file "z" in each: one is told
 * on the way down, the other on the way up. */
static void make_deep(struct temp_dir *dir, const char *name, unsigned n)
{
	CLEANUP(closep) int fd = dup(dir->fd);

	for (unsigned i = 0; i < n; i++) {
		int below;

		assert_int_equal(mkdirat(fd, name, 0755), 0);
		below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		(void)close(fd);
		fd = below;
		for (const char *f = "az"; *f; f++) {
			const char file_name[] = { *f, '\0' };
			CLEANUP(closep)
			int made = openat(fd, file_name,
					  O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

			assert_true(made >= 0);
		}
	}
}

struct count {
	size_t n, longest;
	struct str before; /* the leaf told last */
	int error;
	size_t n_errors;
};

static int count_leaf(void *ctx, const struct tree_found *found)
{
	struct count *count = ctx;

	assert_true(strcmp(str_cstr(&count->before), found->path) < 0);
	str_clear(&count->before);
	str_add(&count->before, found->path, found->len);
	if (found->len > count->longest)
		count->longest = found->len;
	count->n++;
	return 0;
}

static void count_error(void *ctx, const char *path, int error)
{
	struct count *count = ctx;

	(void)path;
	count->error = error;
	count->n_errors++;
}

static int walk_and_count(struct temp_dir *dir, struct count *count)
{
	const struct tree_visitor visitor = { .leaf = count_leaf,
					      .error = count_error,
					      .ctx = count };
	int r = tree_walk(dir->fd, ".", &visitor);

	str_release(&count->before);
	return r;
}

static void three_thousand_levels_are_walked(void **state)
{
	struct count count = { 0 };

	make_deep(*state, "d", 3000);
	assert_int_equal(walk_and_count(*state, &count), 0);
	assert_int_equal(count.n, 6000);
	assert_int_equal(count.longest, 6001);
}

static int lowest_free_fd(void)
{
	int fd = dup(0);

	(void)close(fd);
	return fd;
}

static void a_dozen_descriptors_are_enough_for_any_depth(void **state)
{
	struct rlimit old, few;
	struct count count = { 0 };
	int r;

	make_deep(*state, "d", 100);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = (rlim_t)lowest_free_fd() + 12;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = walk_and_count(*state, &count);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(r, 0);
	assert_int_equal(count.n, 200);
}

static void folders_past_the_longest_path_are_errors_of_their_name(void **state)
{
	struct count count = { 0 };
	char name[251];

	memset(name, 'n', 250);
	name[250] = '\0';
	/* 261 * 251 bytes and a name is the longest path that fits. */
	make_deep(*state, name, 263);
	assert_int_equal(walk_and_count(*state, &count), -ENAMETOOLONG);
	assert_int_equal(count.n_errors, 1);
	assert_int_equal(count.n, 2 * (TREE_PATH_MAX / 251));
}

static void fifty_thousand_names_in_one_folder_are_walked(void **state)
{
	struct temp_dir *dir = *state;
	struct count count = { 0 };

	file(dir, "x");
	for (unsigned i = 0; i < 50000; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i * 7919 % 50000);
		assert_int_equal(linkat(dir->fd, "x", dir->fd, name, 0), 0);
	}
	assert_int_equal(walk_and_count(dir, &count), 0);
	assert_int_equal(count.n, 50001);
}

/* Changes while the walk is at some leaf. */

static void run(const struct temp_dir *dir, const char *what)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "cd '%s' && %s", dir->path,
		       what);
	assert_int_equal(system(command), 0);
}

static void remove_b(struct temp_dir *dir)
{
	run(dir, "rm -r b");
}

static void b_becomes_a_link(struct temp_dir *dir)
{
	run(dir, "rm -r b && ln -s /etc b");
}

static void b_becomes_a_folder(struct temp_dir *dir)
{
	run(dir, "rm -r b && mkdir b");
}

static void b_becomes_a_fifo(struct temp_dir *dir)
{
	run(dir, "rm -r b && mkfifo b");
}

static void what_vanishes_or_changes_kind_is_an_error_of_its_name(void **state)
{
	struct temp_dir *dir = *state;

	file(dir, "a");
	file(dir, "c");
	folder(dir, "b");
	file(dir, "b/f");
	assert_walk_with(dir, "a", remove_b, -ENOENT, "a b:ENOENT c ");
	folder(dir, "b");
	assert_walk_with(dir, "a", b_becomes_a_link, -ENOTDIR,
			 "a b:ENOTDIR c ");
	remove_b(dir);
	file(dir, "b");
	assert_walk_with(dir, "a", b_becomes_a_folder, -EISDIR,
			 "a b:EISDIR c ");
	remove_b(dir);
	file(dir, "b");
	assert_walk_with(dir, "a", b_becomes_a_fifo, -EINVAL, "a b:EINVAL c ");
	remove_b(dir);
	file(dir, "b");
	assert_walk_with(dir, "a", remove_b, -ENOENT, "a b:ENOENT c ");
}

static void a_file_that_becomes_a_link_is_told_as_one(void **state)
{
	struct temp_dir *dir = *state;

	file(dir, "a");
	file(dir, "b");
	assert_walk_with(dir, "a", b_becomes_a_link, 0, "a b@ ");
}

static void names_of_a_removed_folder_are_errors(void **state)
{
	struct temp_dir *dir = *state;

	folder(dir, "b");
	file(dir, "b/1");
	file(dir, "b/2");
	file(dir, "c");
	assert_walk_with(dir, "b/1", remove_b, -ENOENT, "b/1 b/2:ENOENT c ");
}

/* Ten levels: by the time the last is told, those near the top are closed. */
#define TEN "1/2/3/4/5/6/7/8/9/10"

static void make_ten(struct temp_dir *dir)
{
	run(dir, "mkdir -p " TEN " && touch " TEN "/f 1/2/3/z 1/2/z 1/z z");
}

static void move_deepest(struct temp_dir *dir)
{
	run(dir, "mkdir y && mv 1/2/3/4 y/4");
}

static void a_moved_folder_is_left_for_the_one_it_was_in(void **state)
{
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_walk_with(dir, TEN "/f", move_deepest, 0,
			 TEN "/f 1/2/3/z 1/2/z 1/z z ");
}

static void move_second(struct temp_dir *dir)
{
	run(dir, "mkdir y && mv 1/2 y/2 && mkdir -p 1/2/3 && touch 1/2/3/z");
}

/* Folder 4 is still in 3 and that in 2, so these are found by "..".  But 2 is not
 * in 1 any more, and 1 is found from the top. */
static void a_folder_whose_place_was_taken_is_not_mistaken(void **state)
{
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_walk_with(dir, TEN "/f", move_second, 0,
			 TEN "/f 1/2/3/z 1/2/z 1/z z ");
}

static void move_both(struct temp_dir *dir)
{
	run(dir, "mkdir y x && mv 1/2/3/4 y/4 && mv 1/2/3 x/3 && mkdir 1/2/3");
}

static void a_folder_that_is_lost_is_an_error_of_its_name(void **state)
{
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_walk_with(dir, TEN "/f", move_both, -ESTALE,
			 TEN "/f 1/2/3:ESTALE 1/2/z 1/z z ");
}

static void remove_all(struct temp_dir *dir)
{
	run(dir, "rm -r 1");
}

static void names_in_folders_removed_around_the_walk_are_errors(void **state)
{
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_walk_with(dir, TEN "/f", remove_all, -ENOENT,
			 TEN "/f 1/2/3/z:ENOENT 1/2/z:ENOENT 1/z:ENOENT z ");
}

/* Folders and files come and go; "stable" files are there all the time. */
struct churn {
	struct temp_dir *dir;
	atomic_bool stop;
};

static void *churn(void *arg)
{
	struct churn *c = arg;

	for (unsigned i = 0; !atomic_load(&c->stop); i++) {
		char name[16];
		char inside[32];

		(void)snprintf(name, sizeof(name), "x%u", i % 5);
		(void)snprintf(inside, sizeof(inside), "%s/f", name);
		(void)mkdirat(c->dir->fd, name, 0755);
		(void)symlinkat("x", c->dir->fd, inside);
		(void)renameat(c->dir->fd, name, c->dir->fd, "moved");
		(void)renameat(c->dir->fd, "moved", c->dir->fd, name);
		(void)unlinkat(c->dir->fd, inside, 0);
		(void)unlinkat(c->dir->fd, name, AT_REMOVEDIR);
		(void)symlinkat("x", c->dir->fd, name);
		(void)unlinkat(c->dir->fd, name, 0);
	}
	return NULL;
}

static int count_stable(void *ctx, const struct tree_found *found)
{
	*(size_t *)ctx += strstr(found->path, "stable") != NULL;
	return 0;
}

static void a_tree_that_changes_all_the_time_is_walked(void **state)
{
	struct churn c = { .dir = *state };
	pthread_t thread;

	folder(c.dir, "w");
	file(c.dir, "w/stable");
	file(c.dir, "a-stable");
	file(c.dir, "z-stable");
	assert_int_equal(pthread_create(&thread, NULL, churn, &c), 0);
	for (int i = 0; i < 500; i++) {
		size_t n = 0;
		const struct tree_visitor visitor = { .leaf = count_stable,
						      .ctx = &n };

		(void)tree_walk(c.dir->fd, ".", &visitor);
		assert_int_equal(n, 3);
	}
	atomic_store(&c.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static int refuse(void *ctx, const struct tree_found *found)
{
	(void)found;
	++*(int *)ctx;
	return -ECANCELED;
}

static void a_negative_answer_ends_the_walk(void **state)
{
	int n = 0;
	const struct tree_visitor visitor = { .leaf = refuse, .ctx = &n };
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_int_equal(tree_walk(dir->fd, ".", &visitor), -ECANCELED);
	assert_int_equal(n, 1);
}

static void no_descriptor_is_left_open(void **state)
{
	int before = lowest_free_fd();
	int n = 0;
	const struct tree_visitor refusing = { .leaf = refuse, .ctx = &n };
	struct temp_dir *dir = *state;
	struct seen seen = { .trigger = TEN "/f", .action = move_both };

	make_ten(dir);
	(void)tree_walk(dir->fd, ".", &refusing);
	(void)tree_walk(dir->fd, "z", &refusing);
	(void)walk(dir, &seen);
	release_seen(&seen);
	assert_int_equal(lowest_free_fd(), before);
}

static int accept_leaf(void *ctx, const struct tree_found *found)
{
	(void)ctx;
	(void)found;
	return 0;
}

static void without_memory_the_walk_ends_and_says_so(void **state)
{
	const struct tree_visitor visitor = { .leaf = accept_leaf };
	struct temp_dir *dir = *state;
	int before = lowest_free_fd();
	int i, r = -ENOMEM;

	make_ten(dir);
	for (i = 0; r == -ENOMEM && i < 100; i++) {
		alloc_fail_after(i);
		r = tree_walk(dir->fd, ".", &visitor);
		alloc_fail_never();
	}
	assert_int_equal(r, 0);
	assert_true(i > 3);
	assert_int_equal(lowest_free_fd(), before);
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
		LARGE_DIR_TEST(three_thousand_levels_are_walked),
		LARGE_DIR_TEST(a_dozen_descriptors_are_enough_for_any_depth),
		LARGE_DIR_TEST(
			folders_past_the_longest_path_are_errors_of_their_name),
		LARGE_DIR_TEST(fifty_thousand_names_in_one_folder_are_walked),
		DIR_TEST(what_vanishes_or_changes_kind_is_an_error_of_its_name),
		DIR_TEST(a_file_that_becomes_a_link_is_told_as_one),
		DIR_TEST(names_of_a_removed_folder_are_errors),
		DIR_TEST(a_moved_folder_is_left_for_the_one_it_was_in),
		DIR_TEST(a_folder_whose_place_was_taken_is_not_mistaken),
		DIR_TEST(a_folder_that_is_lost_is_an_error_of_its_name),
		DIR_TEST(names_in_folders_removed_around_the_walk_are_errors),
		DIR_TEST(a_tree_that_changes_all_the_time_is_walked),
		DIR_TEST(a_negative_answer_ends_the_walk),
		DIR_TEST(no_descriptor_is_left_open),
		DIR_TEST(without_memory_the_walk_ends_and_says_so),
	};

	return cmocka_run_group_tests_name("tree_walk", tests, NULL, NULL);
}
