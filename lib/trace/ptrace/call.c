/* call.c - see call.h */
#include "trace/ptrace/call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "trace/ptrace/memory.h"

enum { TICK_FIRST_MS = 100 };

const struct stat call_no_file;

void call_emit(struct ptracer *p, const struct tracee *t, enum event_kind kind,
	       unsigned flags, int32_t aux, const struct stat *before,
	       const struct str *path, const struct str *path2)
{
	struct event *ev = p->event;
	size_t len = path ? path->len : 0;
	size_t len2 = path2 ? path2->len : 0;

	if (p->quiet)
		return;
	if (len > EVENT_PATH_MAX || len2 > EVENT_PATH_MAX) {
		call_gap(p, t, EVENT_GAP_PATH, "path too long");
		return;
	}
	ev->kind = (uint8_t)kind;
	ev->flags = (uint16_t)flags;
	ev->pid = t->process->pid;
	ev->aux = aux;
	ev->time_ns = p->now_ns;
	ev->ftype = EVENT_FTYPE_NONE;
	ev->before = (struct stamp){ 0 };
	if (before)
		ev->ftype = (uint8_t)event_ftype_of(before->st_mode);
	if (before && before->st_ino)
		ev->before = stamp_of(before);
	event_set_paths(ev, path ? path->data : "", len,
			path2 ? path2->data : "", len2);
	p->job->sink(p->job->ctx, ev);
	/* Every event may be a reason to tick. */
	if (p->job->tick && p->tick_ms != TICK_FIRST_MS) {
		p->tick_ms = TICK_FIRST_MS;
		p->tick_ns = p->now_ns;
	}
}

void call_gap(struct ptracer *p, const struct tracee *t, enum event_gap gap,
	      const char *detail)
{
	struct str text = { .data = (char *)(detail ? detail : "") };

	text.len = strlen(text.data);
	call_emit(p, t, EVENT_GAP, 0, gap, NULL, &text, NULL);
}

static struct timespec timespec_of(struct statx_timestamp t)
{
	return (struct timespec){ t.tv_sec, t.tv_nsec };
}

int call_look(struct ptracer *p, const struct str *path, struct stat *ret)
{
	struct statx sx;

	if (statx(AT_FDCWD, path->data, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS,
		  &sx) < 0)
		return -1;
	p->locked = sx.stx_attributes &
		    (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND);
	*ret = (struct stat){
		.st_dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
		.st_ino = sx.stx_ino,
		.st_mode = sx.stx_mode,
		.st_nlink = sx.stx_nlink,
		.st_uid = sx.stx_uid,
		.st_gid = sx.stx_gid,
		.st_size = (off_t)sx.stx_size,
		.st_mtim = timespec_of(sx.stx_mtime),
		.st_ctim = timespec_of(sx.stx_ctime),
	};
	return 0;
}

void call_tell_change(struct ptracer *p, const struct str *path,
		      const struct stat *st)
{
	struct stamp stamp;

	if (p->quiet || !p->job->before_change || !S_ISREG(st->st_mode))
		return;
	stamp = stamp_of(st);
	p->job->before_change(p->job->ctx, path->data, path->len, &stamp);
}

ssize_t call_read_path(struct ptracer *p, struct tracee *t, uint64_t address)
{
	ssize_t n = memory_read_path(&p->memory, t->tid, address, p->path);

	/* The kernel refuses bad addresses and overlong paths as well. */
	if (n < 0 && n != -EFAULT && n != -ENAMETOOLONG && n != -ESRCH)
		call_gap(p, t, EVENT_GAP_PATH,
			 "a path could not be read from "
			 "a process");
	return n;
}

int call_resolve(struct ptracer *p, struct tracee *t, int dirfd,
		 const char *path, size_t len, struct str *out)
{
	int r = resolve_name(&p->resolver, &p->tree, t, dirfd, path, len, out);

	if (r == -EOVERFLOW || r == -ENOMEM)
		call_gap(p, t, EVENT_GAP_PATH, path);
	return r;
}

int call_read_name(struct ptracer *p, struct tracee *t, int dirfd,
		   uint64_t address, struct str *out)
{
	ssize_t n = call_read_path(p, t, address);

	if (n < 0)
		return (int)n;
	return call_resolve(p, t, dirfd, p->path, (size_t)n, out);
}

bool call_await(struct tracee *t, enum call call, uint64_t flags,
		const struct stat *before, const struct str *path,
		const struct str *path2)
{
	struct pending *w = &t->pending;

	w->call = call;
	w->flags = flags;
	w->before = *before;
	str_clear(&w->path);
	str_clear(&w->path2);
	if (path)
		str_add(&w->path, path->data, path->len);
	if (path2)
		str_add(&w->path2, path2->data, path2->len);
	return true;
}

/* In a sticky directory (/tmp) only owners may remove: not for sure then. */
static bool is_writable(const struct ptracer *p, const char *dir)
{
	struct stat st;

	if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
		return false;
	if (p->overrides)
		return true;
	return stat(dir, &st) == 0 && !(st.st_mode & S_ISVTX);
}

bool call_dir_is_writable(struct ptracer *p, const struct str *path)
{
	enum { TRUSTED_NS = 100000000 };
	char *slash = memrchr(path->data, '/', path->len);
	size_t len;

	if (!slash || slash == path->data)
		return false;
	len = (size_t)(slash - path->data);
	if (p->now_ns < p->writable_until_ns && p->writable.len == len &&
	    memcmp(p->writable.data, path->data, len) == 0)
		return true;
	str_clear(&p->writable);
	str_add(&p->writable, path->data, len);
	if (str_error(&p->writable) < 0 || !is_writable(p, p->writable.data)) {
		p->writable_until_ns = 0;
		return false;
	}
	p->writable_until_ns = p->now_ns + TRUSTED_NS;
	return true;
}

/* ---- calls about the process rather than a file ---- */

/* While one is under way nobody can tell whether it has taken effect: no current
 * directory is remembered until it has returned. */
static bool enter_chdir(struct ptracer *p, struct tracee *t)
{
	p->tree.n_chdir++;
	return call_await(t, CALL_CHDIR, 0, &call_no_file, NULL, NULL);
}

static void end_chdir(struct ptracer *p)
{
	p->tree.n_chdir--;
	p->tree.cwd_generation++;
}

static void process_name(pid_t tid, char *buf, size_t size)
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)tid);
	n = readlink(link, buf, size - 1);
	buf[n < 0 ? 0 : n] = '\0';
}

static void done_io_uring(struct ptracer *p, struct tracee *t)
{
	char exe[4096];

	process_name(t->tid, exe, sizeof(exe));
	call_gap(p, t, EVENT_GAP_IO_URING, exe);
}

/* The next open looks at the limit again. */
static bool enter_limit(struct tracee *t)
{
	t->process->n_opens = 0;
	return false;
}

static bool enter_affinity(struct ptracer *p)
{
	hot_end(&p->hot, p->now_ns);
	return false;
}

static bool enter_restricted(struct tracee *t)
{
	t->process->restricted = true;
	return false;
}

static bool enter_foreign(struct ptracer *p, struct tracee *t)
{
	call_gap(p, t, EVENT_GAP_ESCAPED, "a system call of an unknown kind");
	return false;
}

static bool await_result(struct tracee *t, enum call call)
{
	return call_await(t, call, 0, &call_no_file, NULL, NULL);
}

bool call_enter(struct ptracer *p, struct tracee *t, enum call call,
		const uint64_t a[6])
{
	switch (call) {
	case CALL_OPEN:
		return call_open(p, t, call, AT_FDCWD, a[0], a[1]);
	case CALL_OPENAT:
		return call_open(p, t, call, (int)a[0], a[1], a[2]);
	case CALL_CREAT:
		return call_open(p, t, call, AT_FDCWD, a[0],
				 O_CREAT | O_WRONLY | O_TRUNC);
	case CALL_OPENAT2:
		return call_openat2(p, t, a);
	case CALL_TRUNCATE:
		return call_truncate(p, t, a[0]);
	case CALL_RENAME:
		return call_rename(p, t, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
	case CALL_RENAMEAT:
		return call_rename(p, t, (int)a[0], a[1], (int)a[2], a[3], 0);
	case CALL_RENAMEAT2:
		return call_rename(p, t, (int)a[0], a[1], (int)a[2], a[3],
				   a[4]);
	case CALL_LINK:
		return call_link(p, t, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
	case CALL_LINKAT:
		return call_link(p, t, (int)a[0], a[1], (int)a[2], a[3], a[4]);
	case CALL_SYMLINK:
		return call_symlink(p, t, a[0], AT_FDCWD, a[1]);
	case CALL_SYMLINKAT:
		return call_symlink(p, t, a[0], (int)a[1], a[2]);
	case CALL_UNLINK:
		return call_unlink(p, t, AT_FDCWD, a[0], 0);
	case CALL_UNLINKAT:
		return call_unlink(p, t, (int)a[0], a[1], a[2]);
	case CALL_MKNOD:
		return call_mknod(p, t, AT_FDCWD, a[0], a[1]);
	case CALL_MKNODAT:
		return call_mknod(p, t, (int)a[0], a[1], a[2]);
	case CALL_EXECVE:
		call_execve(p, t, AT_FDCWD, a[0], 0);
		return false;
	case CALL_EXECVEAT:
		call_execve(p, t, (int)a[0], a[1], a[4]);
		return false;
	case CALL_CHDIR:
		return enter_chdir(p, t);
	case CALL_CHROOT:
	case CALL_NAMESPACE:
	case CALL_HANDLE:
	case CALL_IO_URING:
		return await_result(t, call);
	case CALL_RECVMSG:
		return call_recvmsg(p, t, a[1]);
	case CALL_RECVMMSG:
		return await_result(t, call);
	case CALL_LIMIT:
	case CALL_PRLIMIT:
		return enter_limit(t);
	case CALL_GETAFFINITY:
	case CALL_SETAFFINITY:
		return enter_affinity(p);
	case CALL_CREDENTIALS:
	case CALL_PRCTL:
		return enter_restricted(t);
	case CALL_FOREIGN:
		return enter_foreign(p, t);
	case CALL_NONE:
	case CALL_END:
		break;
	}
	return false;
}

static void dispatch_exit(struct ptracer *p, struct tracee *t, int64_t result)
{
	switch (t->pending.call) {
	case CALL_OPEN:
	case CALL_OPENAT:
	case CALL_OPENAT2:
	case CALL_CREAT:
	case CALL_HANDLE:
		call_open_done(p, t, result);
		break;
	case CALL_CHROOT:
		t->process->foreign_root = true;
		p->tree.cwd_generation++;
		break;
	case CALL_NAMESPACE:
		resolver_forget(&p->resolver);
		call_check_namespaces(p, t);
		break;
	case CALL_IO_URING:
		done_io_uring(p, t);
		break;
	case CALL_RECVMSG:
		call_recvmsg_done(p, t);
		break;
	case CALL_RECVMMSG:
		call_scan_files(p, t, false);
		break;
	default:
		call_name_done(p, t);
		break;
	}
}

void call_exit(struct ptracer *p, struct tracee *t, int64_t result)
{
	if (result >= 0 && t->pending.call != CALL_CHDIR)
		dispatch_exit(p, t, result);
	call_forget(p, t);
}

void call_forget(struct ptracer *p, struct tracee *t)
{
	if (t->pending.call == CALL_CHDIR)
		end_chdir(p);
	t->pending.call = CALL_NONE;
}
