/* resolve.c - see resolve.h */
#include "trace/call/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc.h"
#include "base/stamp.h"

/* A canonical directory in the resolver's pool. */
struct text {
	int64_t seen_ns;
	size_t len;
	char data[];
};

/* A run that walks through very many directories starts over at some point. */
enum { DIRS_MAX = 20000 };

void resolver_forget(struct resolver *r)
{
	map_release(&r->dirs);
	pool_release(&r->pool);
	path_cache_forget(&r->known);
}

void resolver_let_go(struct resolver *r)
{
	thread_fd_drop(&r->here);
}

void resolver_hold(struct resolver *r, pid_t tid)
{
	thread_fd_attach(&r->here, tid);
}

void resolver_release(struct resolver *r)
{
	resolver_hold(r, 0);
	resolver_forget(r);
	path_cache_release(&r->known);
	str_release(&r->scratch);
	str_release(&r->asked_path);
}

bool resolve_is_private(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 ||
	       strncmp(path, "/dev/fd", 7) == 0 ||
	       strncmp(path, "/dev/std", 8) == 0;
}

static int read_link(const char *link, struct str *out)
{
	char buf[PATH_MAX + 64];
	ssize_t n = readlink(link, buf, sizeof(buf));

	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(buf))
		return -ENAMETOOLONG;
	str_clear(out);
	str_add(out, buf, (size_t)n);
	return str_error(out);
}

/* The kernel marks names that were removed.  A file may really have such a name, which
 * the link count shows. */
static bool is_deleted(const struct str *path, const struct stat *st)
{
	static const char mark[] = " (deleted)";
	size_t n = sizeof(mark) - 1;

	return st->st_nlink == 0 && path->len > n &&
	       memcmp(path->data + path->len - n, mark, n) == 0;
}

int resolve_fd(pid_t tid, int fd, struct str *out, struct stat *ret_stat)
{
	struct proc_path link = proc_path(tid, "fd/%d", fd);
	int r = read_link(link.text, out);

	if (r < 0)
		return r;
	if (out->len == 0 || out->data[0] != '/')
		return -EINVAL; /* pipe:[1], anon_inode:..., memfd:... */
	if (stat(link.text, ret_stat) < 0)
		return -errno;
	return is_deleted(out, ret_stat) ? -ENOENT : 0;
}

bool resolve_is_visible(pid_t tid, int fd, const struct str *path,
			const struct stat *st)
{
	CLEANUP(str_release) struct str now = STR_INIT;
	struct stat ours, again;

	if (lstat(str_cstr(path), &ours) < 0 ? errno == EACCES :
					       stat_same_file(&ours, st))
		return true;
	return resolve_fd(tid, fd, &now, &again) < 0 || now.len != path->len ||
	       memcmp(now.data, path->data, now.len) != 0;
}

int resolve_fd_path(int fd, struct str *out)
{
	return read_link(proc_fd_path(fd).text, out);
}

/* A "self" on the way ("//proc/self/cwd", a link to "/proc/self/fd") would be ours and
 * not the tracee's, so no magic link is followed (-ELOOP). */
static int open_without_magic(const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	/* Unknown to the kernel, or to a container's filter. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open(path, O_PATH | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

static int canonical_dir(const char *dir, struct str *out)
{
	CLEANUP(closep) int fd = open_without_magic(dir, O_DIRECTORY);

	if (fd < 0)
		return fd;
	return resolve_fd_path(fd, out);
}

static int64_t now(const struct resolver *r)
{
	return r->clock ? *r->clock : 0;
}

static bool is_same(const struct text *known, const struct str *canonical)
{
	return known->len == canonical->len &&
	       memcmp(known->data, canonical->data, known->len) == 0;
}

static int remember(struct resolver *r, const struct str *named,
		    const struct str *canonical)
{
	struct text *value;
	char *key;

	if (r->dirs.count >= DIRS_MAX)
		resolver_forget(r);
	value = pool_alloc(&r->pool, sizeof(*value) + canonical->len + 1);
	key = pool_dup(&r->pool, named->data, named->len);
	if (!value || !key)
		return -ENOMEM;
	value->seen_ns = now(r);
	value->len = canonical->len;
	memcpy(value->data, canonical->data, canonical->len + 1);
	return map_set(&r->dirs, key, named->len, value);
}

/* Appends the canonical form of the directory `named` to `out`. */
static int add_dir(struct resolver *r, const struct str *named, struct str *out)
{
	CLEANUP(str_release) struct str canonical = STR_INIT;
	struct text *known = map_get(&r->dirs, named->data, named->len);
	int err;

	if (known && now(r) - known->seen_ns < BELIEF_NS) {
		str_add(out, known->data, known->len);
		return str_error(out);
	}
	err = canonical_dir(named->data, &canonical);
	if (err < 0)
		return err;
	if (known && is_same(known, &canonical)) {
		known->seen_ns = now(r);
	} else {
		/* Other entries may have changed as well. */
		if (known)
			resolver_forget(r);
		(void)remember(r, named, &canonical);
	}
	str_add(out, canonical.data, canonical.len);
	return str_error(out);
}

/* No file can be created there, but ".." still leads somewhere (-ESTALE). */
static bool is_removed(const struct str *dir)
{
	static const char mark[] = " (deleted)";
	size_t n = sizeof(mark) - 1;
	struct stat st;

	return dir->len > n && memcmp(dir->data + dir->len - n, mark, n) == 0 &&
	       lstat(dir->data, &st) < 0;
}

static bool is_held(const struct resolver *r, const struct tracee *t)
{
	return r->here.tid == t->tid && r->here.open;
}

/* The target of a current directory's link.  For the thread whose directory is held
 * open, that descriptor gives the name: both are of one moment. */
static int read_cwd(struct resolver *r, struct tracee *t)
{
	struct proc_path link = proc_path(t->tid, "cwd");

	if (r->here.tid != t->tid ||
	    !thread_fd_take(&r->here,
			    open(link.text, O_PATH | O_DIRECTORY | O_CLOEXEC)))
		return read_link(link.text, &t->cwd);
	return resolve_fd_path(r->here.fd, &t->cwd);
}

/* The current directory of the thread, as the kernel names it; -ESTALE when it has
 * no name any more. */
static int current_dir(struct resolver *r, struct tree *tree, struct tracee *t,
		       struct str *out)
{
	bool doubtful = tree->n_chdir || now(r) - t->cwd_ns >= BELIEF_NS;
	int err;

	if (!t->cwd.len || (doubtful && !t->cwd_told) ||
	    t->cwd_generation != tree->cwd_generation) {
		err = read_cwd(r, t);
		if (err < 0 && !(t->cwd_told && t->cwd.len))
			return err;
		if (is_removed(&t->cwd)) {
			str_clear(&t->cwd);
			return -ESTALE;
		}
		t->cwd_generation = tree->cwd_generation;
		t->cwd_ns = now(r);
	}
	str_add(out, t->cwd.data, t->cwd.len);
	return str_error(out);
}

/* Where a relative path starts. */
static int start_dir(struct resolver *r, struct tree *tree, struct tracee *t,
		     int dirfd, struct str *out)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	struct stat st;
	int err;

	if (dirfd == AT_FDCWD)
		err = current_dir(r, tree, t, out);
	else
		err = resolve_fd(t->tid, dirfd, &dir, &st);
	/* The directory was removed; the descriptor is valid. */
	if (err == -ENOENT && dir.len)
		return -ESTALE;
	/* The directory's path is longer than PATH_MAX; the call may succeed. */
	if (err == -ENAMETOOLONG)
		return -EOVERFLOW;
	if (err < 0 || dirfd == AT_FDCWD)
		return err;
	str_add(out, dir.data, dir.len);
	return str_error(out);
}

/* "x", "", "." and ".." at the end: only the first is a name. */
static bool is_name(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static void join(struct str *out, const char *name)
{
	if (!out->len || out->data[out->len - 1] != '/')
		str_addc(out, '/');
	str_adds(out, name);
}

static int resolve(struct resolver *r, struct tree *tree, struct tracee *t,
		   int dirfd, const char *path, size_t len, struct str *out)
{
	struct str *named = &r->scratch;
	const char *slash = memrchr(path, '/', len);
	int err;

	str_clear(out);
	str_clear(named);
	if (len == 0)
		return start_dir(r, tree, t, dirfd, out);
	if (path[0] != '/') {
		err = start_dir(r, tree, t, dirfd, slash ? named : out);
		if (err < 0)
			return err;
		if (!slash && is_name(path)) {
			/* A plain name below a directory the kernel named. */
			join(out, path);
			if (dirfd == AT_FDCWD && is_held(r, t)) {
				r->base = r->here.fd;
				r->base_len = out->len - len;
			}
			return str_error(out);
		}
		if (!slash) {
			str_add(named, out->data, out->len);
			str_clear(out);
		}
		str_addc(named, '/');
	}
	if (slash && is_name(slash + 1)) {
		str_add(named, path, (size_t)(slash - path) + 1);
		err = add_dir(r, named, out);
		if (err < 0)
			return err;
		join(out, slash + 1);
		return str_error(out);
	}
	/* The path names a directory by "..", "." or a final slash. */
	str_add(named, path, len);
	return add_dir(r, named, out);
}

int resolve_by_rules(struct resolver *r, const struct tracee *t,
		     const struct view_name *n, struct str *out)
{
	r->base = AT_FDCWD;
	r->base_len = 0;
	r->viewed = true;
	r->asked = *n;
	str_clear(&r->asked_path);
	str_add(&r->asked_path, n->path, n->len);
	r->asked.path = str_cstr(&r->asked_path);
	if (str_error(&r->asked_path) < 0)
		return -ENOMEM;
	return view_resolve(t, &r->asked, false, out);
}

/* A path through a process, mostly its own ("/proc/self/cwd/x"): it is resolved while
 * the process waits for us. */
static bool names_process(const char *path)
{
	if (strncmp(path, "/proc/", 6) != 0)
		return resolve_is_private(path);
	return path[6] == 's' || path[6] == 't' ||
	       (path[6] >= '0' && path[6] <= '9');
}

/* If a process may have a directory that is mounted nowhere, or below a mount, names
 * that start at a directory are uncertain.  A directory that the process itself
 * reported is mounted somewhere. */
static bool needs_view(const struct tree *tree, const struct tracee *t,
		       int dirfd, const char *path)
{
	if (process_is_elsewhere(t->process))
		return true;
	if (path[0] == '/')
		return names_process(path);
	return tree->mounted ||
	       (tree->detached &&
		!(dirfd == AT_FDCWD && t->cwd_told && t->cwd.len));
}

int resolve_name(struct resolver *r, struct tree *tree, struct tracee *t,
		 int dirfd, const char *path, size_t len, struct str *out)
{
	struct view_name n = { .dirfd = dirfd, .path = path, .len = len };
	int err;

	r->base = AT_FDCWD;
	r->base_len = 0;
	r->viewed = false;
	if (needs_view(tree, t, dirfd, path))
		err = resolve_by_rules(r, t, &n, out);
	else
		err = resolve(r, tree, t, dirfd, path, len, out);
	/* A removed directory has no name, but its ".." leads to others. */
	if (err == -ESTALE && !r->viewed)
		err = resolve_by_rules(r, t, &n, out);
	if (err == 0 && out->len >= PATH_MAX)
		return -EOVERFLOW;
	return err;
}

int resolve_follow(const struct resolver *r, const struct tracee *t,
		   struct str *path, struct stat *ret_stat)
{
	CLEANUP(closep) int fd = -1;
	int err;

	if (r->viewed)
		return view_follow(t, &r->asked, path, ret_stat);
	fd = open_without_magic(path->data, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, ret_stat) < 0)
		return -errno;
	err = resolve_fd_path(fd, path);
	if (err < 0)
		return err;
	return path->data[0] == '/' ? 0 : -EINVAL;
}

int resolve_target(const struct resolver *r, const struct tracee *t,
		   struct str *out)
{
	return r->viewed ? view_resolve(t, &r->asked, true, out) : -EINVAL;
}

int resolve_file(struct resolver *r, struct tree *tree, struct tracee *t,
		 int dirfd, const char *path, size_t len, struct str *out,
		 struct stat *ret_stat)
{
	int err;

	if (path_cache_find(&r->known, now(r), t, path, len, out, ret_stat))
		return 0;
	err = resolve_name(r, tree, t, dirfd, path, len, out);
	if (err == 0)
		err = resolve_follow(r, t, out, ret_stat);
	if (err == 0)
		path_cache_add(&r->known, now(r), t, path, len, out, ret_stat);
	return err;
}
