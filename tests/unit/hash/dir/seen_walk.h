/* seen_walk.h - walks over small trees, told as one line of text. */
#ifndef ROAR_TEST_SEEN_WALK_H
#define ROAR_TEST_SEEN_WALK_H

#include "base/str.h"
#include "hash/dir/dir_hash.h"
#include "hash/dir/dir_walk.h"
#include "temp_dir.h"

/* What a walk told: leaves as "path ", those of links as "path@ ", errors as
 * "path:EINVAL ". */
struct seen {
	struct str text;
	struct temp_dir *dir;
	const char *trigger; /* at this leaf ... */
	void (*action)(struct temp_dir *dir); /* ... this is done to the tree */
};

static inline int see_leaf(void *ctx, const struct dir_walk_entry *found)
{
	struct seen *seen = ctx;
	struct stat st;

	assert_int_equal(strlen(found->path), found->len);
	assert_int_equal(fstatat(found->dirfd, found->name, &st,
				 AT_SYMLINK_NOFOLLOW),
			 0);
	assert_int_equal(st.st_ino, found->stamp.ino);
	assert_int_equal(st.st_size, found->stamp.size);
	assert_int_equal(S_ISLNK(st.st_mode), found->kind == DIR_WALK_LINK);
	str_addf(&seen->text, "%s%s ", found->path,
		 found->kind == DIR_WALK_LINK ? "@" : "");
	if (seen->trigger && strcmp(seen->trigger, found->path) == 0)
		seen->action(seen->dir);
	return 0;
}

static inline void see_error(void *ctx, const char *path, int error)
{
	struct seen *seen = ctx;

	assert_true(error < 0);
	str_addf(&seen->text, "%s:%s ", path, strerrorname_np(-error));
}

static inline void release_seen(struct seen *seen)
{
	str_release(&seen->text);
}

static inline int walk(struct temp_dir *dir, struct seen *seen)
{
	const struct dir_walk_visitor visitor = { .leaf = see_leaf,
						  .error = see_error,
						  .ctx = seen };

	seen->dir = dir;
	return dir_walk(dir->fd, ".", &visitor);
}

static inline void assert_walk(struct temp_dir *dir, int r,
			       const char *expected)
{
	CLEANUP(release_seen) struct seen seen = { .text = STR_INIT };

	assert_int_equal(walk(dir, &seen), r);
	assert_string_equal(str_cstr(&seen.text), expected);
}

/* The same, with something done in the middle. */
static inline void assert_walk_with(struct temp_dir *dir, const char *trigger,
				    void (*action)(struct temp_dir *dir), int r,
				    const char *expected)
{
	CLEANUP(release_seen)
	struct seen seen = { .trigger = trigger, .action = action };

	assert_int_equal(walk(dir, &seen), r);
	assert_string_equal(str_cstr(&seen.text), expected);
}

static inline void file(struct temp_dir *dir, const char *path)
{
	write_pattern(dir, path, 3, 0);
}

static inline void folder(struct temp_dir *dir, const char *path)
{
	assert_int_equal(mkdirat(dir->fd, path, 0755), 0);
}

static inline void run(const struct temp_dir *dir, const char *what)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "cd '%s' && %s", dir->path,
		       what);
	assert_int_equal(system(command), 0);
}

/* Ten levels: by the time the last is told, those near the top are closed. */
#define TEN "1/2/3/4/5/6/7/8/9/10"

static inline void make_ten(struct temp_dir *dir)
{
	run(dir, "mkdir -p " TEN " && touch " TEN "/f 1/2/3/z 1/2/z 1/z z");
}

/* Folder 3 is in another place than its folder 4, and neither is where it was. */
static inline void move_both(struct temp_dir *dir)
{
	run(dir, "mkdir y x && mv 1/2/3/4 y/4 && mv 1/2/3 x/3 && mkdir 1/2/3");
}

static inline int lowest_free_fd(void)
{
	int fd = dup(0);

	(void)close(fd);
	return fd;
}

#endif
