/* view.c - see view.h */
#include "trace/call/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "trace/call/resolve.h"

enum {
	LINKS_MAX = 40, /* as the kernel has it */
	PROC_ROOT = 1, /* inode of /proc */
};

struct walk {
	const struct tracee *t;
	uint64_t rules; /* RESOLVE_* */
	int root; /* absolute names start here, and ".." ends here */
	int at; /* what was reached */
	unsigned n_links; /* followed so far */
};

static void walk_end(struct walk *w)
{
	closep(&w->root);
	closep(&w->at);
}

/* ---- where it starts ---- */

static int open_proc(const struct proc_path path)
{
	int r = open(path.text, O_PATH | O_CLOEXEC);

	return r < 0 ? -errno : r;
}

static int open_start(const struct tracee *t, int dirfd)
{
	if (dirfd == AT_FDCWD)
		return open_proc(proc_path(t->tid, "cwd"));
	if (dirfd < 0)
		return -EBADF;
	return open_proc(proc_path(t->tid, "fd/%d", dirfd));
}

static int copy_of(int fd)
{
	int r = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return r < 0 ? -errno : r;
}

static int walk_begin(struct walk *w, const struct tracee *t,
		      const struct view_name *n)
{
	bool own_root = n->rules & (RESOLVE_IN_ROOT | RESOLVE_BENEATH);
	bool absolute = n->len && n->path[0] == '/';

	*w = (struct walk){ .t = t, .rules = n->rules, .root = -1, .at = -1 };
	if (own_root)
		w->root = open_start(t, n->dirfd);
	else
		w->root = open_proc(proc_path(t->tid, "root"));
	if (w->root < 0) /* the end of the thread is not an answer about the
			  * name */
		return w->root == -ENOENT && !own_root ? -ESRCH : w->root;
	w->at = own_root || absolute ? copy_of(w->root) :
				       open_start(t, n->dirfd);
	return w->at < 0 ? w->at : 0;
}

/* ---- one step ---- */

static int arrive(struct walk *w, int fd)
{
	if (fd < 0)
		return -errno;
	(void)close(w->at);
	w->at = fd;
	return 0;
}

/* The same directory, reached through the same mount? */
static bool is_same_place(int a, int b)
{
	const unsigned want = STATX_INO | STATX_MNT_ID;
	struct statx x, y;

	return statx(a, "", AT_EMPTY_PATH, want, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, want, &y) == 0 &&
	       x.stx_ino == y.stx_ino && x.stx_dev_major == y.stx_dev_major &&
	       x.stx_dev_minor == y.stx_dev_minor &&
	       x.stx_mnt_id == y.stx_mnt_id;
}

static int go_to_root(struct walk *w)
{
	if (w->rules & RESOLVE_BENEATH)
		return -EXDEV;
	return arrive(w, fcntl(w->root, F_DUPFD_CLOEXEC, 0));
}

static int go_up(struct walk *w)
{
	if (is_same_place(w->at, w->root))
		return w->rules & RESOLVE_BENEATH ? -EXDEV : 0;
	return arrive(w, openat(w->at, "..", O_PATH | O_CLOEXEC));
}

static bool is_proc(int dir, bool *ret_top)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(dir, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC ||
	    fd_stat(dir, &st) < 0)
		return false;
	*ret_top = st.st_ino == PROC_ROOT;
	return true;
}

/* "self" means another process for us.  Where its /proc has other pids than ours, ours
 * lists the process, too. */
static int go_to_self(struct walk *w, const char *name)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)w->t->process->pid);
	if (strcmp(name, "thread-self") == 0)
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d",
			       (int)w->t->process->pid, (int)w->t->tid);
	return arrive(w, open(path, O_PATH | O_CLOEXEC));
}

/* Links in the directory of a process lead to objects, whatever their text says. */
static int go_by_magic(struct walk *w, const char *name)
{
	if (w->rules & RESOLVE_NO_MAGICLINKS)
		return -ELOOP;
	if (w->rules & (RESOLVE_IN_ROOT | RESOLVE_BENEATH))
		return -EXDEV;
	return arrive(w, openat(w->at, name, O_PATH | O_CLOEXEC));
}

static int walk(struct walk *w, const char *path);

static int follow_link(struct walk *w, const char *name, int link)
{
	char text[PATH_MAX];
	bool top = false;
	ssize_t n;

	if ((w->rules & RESOLVE_NO_SYMLINKS) || ++w->n_links > LINKS_MAX)
		return -ELOOP;
	if (is_proc(w->at, &top) && !top)
		return go_by_magic(w, name);
	if (top &&
	    (strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0))
		return go_to_self(w, name);
	n = readlinkat(link, "", text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return walk(w, text);
}

static int step(struct walk *w, const char *name)
{
	CLEANUP(closep) int fd = -1;
	struct stat st;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0)
		return go_up(w);
	fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fd_stat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return follow_link(w, name, fd);
	return arrive(w, TAKE_FD(fd));
}

/* Without links the root does not matter, and the kernel can walk the whole path. */
static bool leap(struct walk *w, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int fd;

	if (!*path)
		return true;
	fd = (int)syscall(SYS_openat2, w->at, path, &how, sizeof(how));
	return fd >= 0 && arrive(w, fd) == 0;
}

static bool is_at_directory(const struct walk *w)
{
	struct stat st;

	return fd_stat(w->at, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Walks from the current position to `path`, and along the links in it.  A component
 * that is followed by a slash must be a directory. */
static int walk(struct walk *w, const char *path)
{
	int r = *path == '/' ? go_to_root(w) : 0;

	path += strspn(path, "/");
	if (r < 0 || leap(w, path))
		return r;
	while (r == 0 && *path) {
		size_t len = strcspn(path, "/");
		char name[NAME_MAX + 1];

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		r = step(w, name);
		path += len;
		path += strspn(path, "/");
		if (r == 0 && !*path && path[-1] == '/' && !is_at_directory(w))
			r = -ENOTDIR;
	}
	return r;
}

/* A link may have led out of the mount and back: only the last step is compared. */
static int check_rules(const struct walk *w)
{
	struct statx x, y;

	if (!(w->rules & RESOLVE_NO_XDEV))
		return 0;
	if (statx(w->at, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) < 0 ||
	    statx(w->root, "", AT_EMPTY_PATH, STATX_MNT_ID, &y) < 0)
		return -errno;
	return x.stx_mnt_id == y.stx_mnt_id ? 0 : -EXDEV;
}

/* ---- names in our own view ---- */

static int outer_name(int fd, struct str *out, struct stat *st)
{
	struct stat ours;
	int r;

	if (fd_stat(fd, st) < 0)
		return -errno;
	r = resolve_fd_path(fd, out);
	if (r < 0)
		return r;
	if (out->len == 0 || out->data[0] != '/')
		return -EINVAL;
	if (lstat(out->data, &ours) == 0 && stat_same_file(st, &ours))
		return 0;
	return st->st_nlink ? -EREMOTE : -ESTALE;
}

/* `out` is the name of the directory `dir` and that of the file.  Does it lead to the
 * same file in our view?  A file system may be mounted on the file itself. */
static int check_last(int dir, const char *last, struct str *out)
{
	CLEANUP(closep) int fd = -1;
	struct stat theirs, ours;
	bool is_there = fstatat(dir, last, &theirs, AT_SYMLINK_NOFOLLOW) == 0;
	bool is_here = lstat(out->data, &ours) == 0;

	if (!is_there && !is_here)
		return 0;
	if (!is_there)
		return -EREMOTE;
	if (is_here && stat_same_file(&theirs, &ours))
		return 0;
	fd = openat(dir, last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : outer_name(fd, out, &theirs);
}

/* ---- all of it ---- */

/* The length of the directory part; the whole path when it ends in ".", ".." or a
 * slash. */
static size_t directory_len(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *last = slash ? slash + 1 : path;

	if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return len;
	return (size_t)(last - path);
}

/* Walks to the directory of `path` and cuts the path there; its last component goes to
 * `last`, "" when there is none. */
static int walk_to_directory(struct walk *w, char *path,
			     char last[NAME_MAX + 1])
{
	size_t end = strlen(path);
	size_t len = directory_len(path, end);

	if (end - len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(last, path + len, end - len + 1);
	path[len] = '\0';
	return walk(w, path);
}

/* Puts the text of the link `last` into `path`; false when it is not a link.  A magic
 * link is followed instead. */
static bool read_last(struct walk *w, char last[NAME_MAX + 1],
		      char path[PATH_MAX + 1])
{
	bool top = false;
	ssize_t n = readlinkat(w->at, last, path, PATH_MAX);

	if (n < 0)
		return false;
	path[n] = '\0';
	if (is_proc(w->at, &top) && !top) {
		(void)go_by_magic(w, last);
		*last = *path = '\0';
	}
	return true;
}

static int join_last(const struct walk *w, const char *last, struct str *out)
{
	struct stat st;
	int r = outer_name(w->at, out, &st);

	if (r < 0 || !*last)
		return r;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (out->len > 1)
		str_addc(out, '/');
	str_adds(out, last);
	r = str_error(out);
	return r < 0 ? r : check_last(w->at, last, out);
}

int view_resolve(const struct tracee *t, const struct view_name *n, bool follow,
		 struct str *out)
{
	CLEANUP(walk_end) struct walk w;
	char path[PATH_MAX + 1], last[NAME_MAX + 1];
	int r = walk_begin(&w, t, n);

	if (r == 0 && n->len > PATH_MAX)
		r = -ENAMETOOLONG;
	if (r < 0)
		return r;
	memcpy(path, n->path, n->len);
	path[n->len] = '\0';
	do {
		if (++w.n_links > LINKS_MAX)
			return -ELOOP;
		r = walk_to_directory(&w, path, last);
	} while (r == 0 && follow && *last && read_last(&w, last, path));
	return r < 0 ? r : join_last(&w, last, out);
}

int view_follow(const struct tracee *t, const struct view_name *n,
		struct str *out, struct stat *ret_stat)
{
	CLEANUP(walk_end) struct walk w;
	int r = walk_begin(&w, t, n);

	if (r == 0)
		r = walk(&w, n->path);
	if (r == 0)
		r = check_rules(&w);
	return r < 0 ? r : outer_name(w.at, out, ret_stat);
}
