/* call.c - see call.h */
#include "trace/call/call.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "trace/call/memory.h"

enum { TICK_FIRST_MS = 100 };

const struct stat call_no_file;

int observer_init(struct observer *o, const struct tracer_job *job)
{
	assert(job && job->sink);
	o->job = job;
	proof_init(&o->proof);
	o->resolver.clock = &o->mono_ns;
	/* Only what is used of it: most paths are short. */
	o->event = malloc(EVENT_SIZE_MAX);
	if (!o->event)
		return -ENOMEM;
	memset(o->event, 0, sizeof(*o->event));
	return 0;
}

void observer_attach(struct observer *o, pid_t tid)
{
	memory_attach(&o->memory, tid);
	resolver_hold(&o->resolver, tid);
	thread_fd_attach(&o->proof.table, tid);
}

void observer_release(struct observer *o)
{
	observer_attach(o, 0);
	tree_release(&o->tree);
	resolver_release(&o->resolver);
	str_release(&o->name);
	str_release(&o->name2);
	proof_release(&o->proof);
	mount_table_release(&o->mounts);
	inherited_release(&o->inherited);
	free(o->event);
}

void observer_set_time(struct observer *o)
{
	o->now_ns = clock_now_ns();
	o->mono_ns = clock_mono_ns();
}

void observer_tick(struct observer *o)
{
	assert(!o->tick_ms || o->job->tick);
	if (!o->tick_ms || o->quiet ||
	    o->mono_ns - o->tick_ns < o->tick_ms * 1000000LL)
		return;
	o->tick_ns = o->mono_ns;
	o->tick_ms = o->job->tick(o->job->ctx);
}

void call_emit(struct observer *o, const struct tracee *t, enum event_kind kind,
	       unsigned flags, int32_t aux, const struct stat *before,
	       const struct str *path, const struct str *path2)
{
	struct event *ev = o->event;
	size_t len = path ? path->len : 0;
	size_t len2 = path2 ? path2->len : 0;

	assert(t && t->process);
	if (o->quiet)
		return;
	if ((path && str_error(path) < 0) || (path2 && str_error(path2) < 0)) {
		call_gap(o, t, EVENT_GAP_MEMORY, NULL);
		return;
	}
	if (len > EVENT_PATH_MAX || len2 > EVENT_PATH_MAX) {
		call_gap(o, t, EVENT_GAP_PATH, "path too long");
		return;
	}
	ev->kind = (uint8_t)kind;
	ev->flags = (uint16_t)flags;
	ev->pid = t->process->pid;
	ev->aux = aux;
	ev->time_ns = o->now_ns;
	ev->ftype = EVENT_FTYPE_NONE;
	ev->before = (struct stamp){ 0 };
	if (before)
		ev->ftype = (uint8_t)event_ftype_of(before->st_mode);
	if (before && before->st_ino)
		ev->before = stamp_of(before);
	else if (before)
		ev->before.dev = before->st_dev; /* of a mount */
	event_set_paths(ev, path ? path->data : "", len,
			path2 ? path2->data : "", len2);
	o->job->sink(o->job->ctx, ev);
	if (o->told)
		o->told(o, ev);
	/* Every event may be a reason to tick. */
	if (o->job->tick && o->tick_ms != TICK_FIRST_MS) {
		o->tick_ms = TICK_FIRST_MS;
		o->tick_ns = o->mono_ns;
	}
}

void call_gap(struct observer *o, const struct tracee *t, enum event_gap gap,
	      const char *detail)
{
	struct str text = { .data = (char *)(detail ? detail : "") };

	text.len = strlen(text.data);
	call_emit(o, t, EVENT_GAP, 0, gap, NULL, &text, NULL);
}

static struct timespec timespec_of(struct statx_timestamp t)
{
	return (struct timespec){ t.tv_sec, t.tv_nsec };
}

static int look_from(struct observer *o, int dirfd, const char *name,
		     struct stat *ret)
{
	struct statx sx;

	if (statx(dirfd, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &sx) < 0)
		return -errno;
	o->locked = sx.stx_attributes &
		    (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND);
	o->mounted = sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
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

int call_look(struct observer *o, const struct str *path, struct stat *ret)
{
	return look_from(o, AT_FDCWD, path->data, ret);
}

int call_look_name(struct observer *o, struct stat *ret)
{
	return look_from(o, o->resolver.base,
			 o->name.data + o->resolver.base_len, ret);
}

void call_tell_change(struct observer *o, const struct str *path,
		      const struct stat *st)
{
	struct stamp stamp;

	if (o->quiet || !o->job->before_change || !S_ISREG(st->st_mode))
		return;
	stamp = stamp_of(st);
	o->job->before_change(o->job->ctx, path->data, path->len, &stamp);
}

ssize_t call_read_path(struct observer *o, struct tracee *t, uint64_t address,
		       char *buf)
{
	ssize_t n = memory_read_path(&o->memory, t->tid, address, buf);

	/* The kernel refuses bad addresses and overlong paths as well. */
	if (n < 0 && n != -EFAULT && n != -ENAMETOOLONG && n != -ESRCH)
		call_gap(o, t, EVENT_GAP_PATH,
			 "a path could not be read from "
			 "a process");
	return n;
}

int call_resolve(struct observer *o, struct tracee *t, int dirfd,
		 const char *path, size_t len, struct str *out)
{
	int r = resolve_name(&o->resolver, &o->tree, t, dirfd, path, len, out);

	if (r == -EOVERFLOW)
		call_gap(o, t, EVENT_GAP_PATH, path);
	return r;
}

bool call_await(struct tracee *t, enum call call, uint64_t flags,
		const struct stat *before, const struct str *path,
		const struct str *path2)
{
	struct pending *w = &t->pending;

	assert(call != CALL_NONE);
	assert(before);
	w->call = call;
	w->waited = false;
	w->hidden = false;
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

bool call_await_unseen(struct tracee *t, int error, const char *path)
{
	struct str text = { .data = (char *)path, .len = strlen(path) };

	assert(error < 0);
	return call_await(t, CALL_UNSEEN, call_gap_of(error), &call_no_file,
			  &text, NULL);
}

/* ---- calls about the process rather than a file ---- */

/* While a chdir is in progress it is unknown whether it has taken effect: no current
 * directory is cached until it has returned. */
static bool enter_chdir(struct observer *o, struct tracee *t)
{
	o->tree.n_chdir++;
	resolver_let_go(&o->resolver);
	return call_await(t, CALL_CHDIR, 0, &call_no_file, NULL, NULL);
}

static void end_chdir(struct observer *o)
{
	o->tree.n_chdir--;
	o->tree.cwd_generation++;
	resolver_let_go(&o->resolver);
}

static void done_io_uring(struct observer *o, struct tracee *t)
{
	char exe[4096];

	(void)proc_readlink(t->tid, "exe", exe, sizeof(exe));
	call_gap(o, t, EVENT_GAP_IO_URING, exe);
}

/* Of any process: the next opens check the limit again. */
static bool enter_limit(struct observer *o)
{
	o->tree.limit_ns = o->mono_ns;
	return false;
}

static bool enter_restricted(struct tracee *t)
{
	t->process->restricted = true;
	return false;
}

static bool enter_attributes(struct observer *o, const struct tracee *t,
			     uint64_t request)
{
	if ((uint32_t)request == (uint32_t)FS_IOC_SETFLAGS ||
	    (uint32_t)request == (uint32_t)FS_IOC32_SETFLAGS ||
	    (uint32_t)request == (uint32_t)FS_IOC_FSSETXATTR)
		proof_forget(o, t);
	return false;
}

static bool enter_foreign(struct observer *o, struct tracee *t)
{
	call_gap(o, t, EVENT_GAP_ESCAPED, "a system call of an unknown kind");
	return false;
}

/* A process made with CLONE_FS has its root in common with its parent. */
static void done_chroot(struct observer *o, struct tracee *t)
{
	struct process *p;
	size_t pos = 0;

	t->process->foreign_root = true;
	while ((p = map_next(&o->tree.processes, &pos)))
		if (!p->foreign_root &&
		    syscall(SYS_kcmp, t->tid, p->pid, KCMP_FS, 0, 0) == 0)
			p->foreign_root = true;
	o->tree.cwd_generation++;
}

static bool enter_detach(struct observer *o)
{
	o->tree.detached = true;
	return false;
}

static bool await_result(struct tracee *t, enum call call)
{
	return call_await(t, call, 0, &call_no_file, NULL, NULL);
}

static void begin_mounting(struct observer *o, const struct tracee *t)
{
	int r = mount_table_look(&o->mounts);

	if (r < 0)
		call_gap(o, t, EVENT_GAP_NAMESPACE,
			 "/proc/self/mountinfo cannot be read");
}

static bool enter_namespace(struct observer *o, struct tracee *t)
{
	begin_mounting(o, t);
	return await_result(t, CALL_NAMESPACE);
}

/* Files that the job has open there would keep it from being unmounted, and could not
 * be found below a new mount. */
static bool enter_mount(struct observer *o, struct tracee *t, uint64_t path)
{
	ssize_t n = call_read_path(o, t, path, o->path);
	struct stat st;

	if (n > 0 && call_looks(o) && o->job->before_unmount &&
	    resolve_name(&o->resolver, &o->tree, t, AT_FDCWD, o->path,
			 (size_t)n, &o->name) == 0 &&
	    resolve_follow(&o->resolver, t, &o->name, &st) == 0)
		o->job->before_unmount(o->job->ctx, o->name.data, o->name.len);
	resolver_let_go(&o->resolver);
	return enter_namespace(o, t);
}

struct mount_teller {
	struct observer *o;
	const struct tracee *t;
};

static void tell_mount(void *ctx, const struct mount_change *c)
{
	const struct mount_teller *to = ctx;
	struct stat st = { .st_dev = c->dev };
	struct str path = { .data = (char *)c->path, .len = strlen(c->path) };
	struct str path2 = { .data = (char *)c->path2,
			     .len = strlen(c->path2) };

	to->o->tree.mounted = true;
	call_emit(to->o, to->t, c->kind, 0, (int32_t)c->how, &st, &path,
		  &path2);
}

static void done_namespace(struct observer *o, struct tracee *t)
{
	struct mount_teller to = { o, t };

	resolver_forget(&o->resolver);
	proof_forget(o, NULL);
	if (mount_table_update(&o->mounts, tell_mount, &to) < 0)
		call_gap(o, t, EVENT_GAP_NAMESPACE,
			 "/proc/self/mountinfo cannot be read");
	call_check_namespaces(o, t);
	t->process->placed = false; /* perhaps of one thread only */
}

/* Events of fanotify come with descriptors, whose arrival is not visible, unless the
 * program requested handles. */
static bool enter_fanotify(struct tracee *t, uint64_t flags)
{
	if (flags & FAN_REPORT_FID)
		return false;
	return call_await_unseen(t, -ENOENT, "files given by fanotify");
}

/* Only the process's descriptors show which files such a call has received. */
static bool brings_descriptors(enum call call)
{
	return call == CALL_RECVMSG || call == CALL_RECVMMSG ||
	       call == CALL_HANDLE;
}

/* Calls without a file name, and openat2(), whose flags lie in a struct. */
static bool enter_other(struct observer *o, struct tracee *t, enum call call,
			const uint64_t args[6])
{
	if (o->blind && brings_descriptors(call))
		return false;
	switch (call) {
	case CALL_OPENAT2:
		return call_openat2(o, t, args);
	case CALL_RECVMSG:
		return call_recvmsg(o, t, args[1]);
	case CALL_CHDIR:
		return enter_chdir(o, t);
	case CALL_UMOUNT:
		return enter_mount(o, t, args[0]);
	case CALL_MOUNT:
		return enter_mount(o, t, args[1]);
	case CALL_NAMESPACE:
		return enter_namespace(o, t);
	case CALL_CHROOT:
	case CALL_HANDLE:
	case CALL_IO_URING:
	case CALL_RECVMMSG:
		return await_result(t, call);
	case CALL_FANOTIFY:
		return enter_fanotify(t, args[0]);
	case CALL_DETACH:
		return enter_detach(o);
	case CALL_LIMIT:
	case CALL_PRLIMIT:
		return enter_limit(o);
	case CALL_CREDENTIALS:
	case CALL_PRCTL:
		return enter_restricted(t);
	case CALL_RIGHTS:
		proof_forget(o, t);
		return false;
	case CALL_ATTRIBUTES:
		return enter_attributes(o, t, args[1]);
	case CALL_FOREIGN:
		return enter_foreign(o, t);
	default:
		return false;
	}
}

/* ---- calls that name files ---- */

/* Where the value of an argument is found: its index among the six, or an index after
 * them for the default of a short form. */
enum { CWD = 6, NO_FLAGS, CREAT_FLAGS };

struct name_place {
	uint8_t dirfd;
	uint8_t path;
};

static const struct {
	call_entry enter; /* NULL: the call does not name files */
	uint8_t flags;
	struct name_place name;
	struct name_place new_name; /* of calls that have one */
} forms[CALL_END] = {
	/* clang-format off */
	/*                   handled by     flags        name        new name */
	[CALL_OPEN]      = { call_open,     1,           { CWD, 0 }, { 0 } },
	[CALL_OPENAT]    = { call_open,     2,           { 0, 1 },   { 0 } },
	[CALL_CREAT]     = { call_open,     CREAT_FLAGS, { CWD, 0 }, { 0 } },
	[CALL_TRUNCATE]  = { call_truncate, NO_FLAGS,    { CWD, 0 }, { 0 } },
	[CALL_RENAME]    = { call_rename,   NO_FLAGS,    { CWD, 0 }, { CWD, 1 } },
	[CALL_RENAMEAT]  = { call_rename,   NO_FLAGS,    { 0, 1 },   { 2, 3 } },
	[CALL_RENAMEAT2] = { call_rename,   4,           { 0, 1 },   { 2, 3 } },
	[CALL_LINK]      = { call_link,     NO_FLAGS,    { CWD, 0 }, { CWD, 1 } },
	[CALL_LINKAT]    = { call_link,     4,           { 0, 1 },   { 2, 3 } },
	[CALL_SYMLINK]   = { call_symlink,  NO_FLAGS,    { CWD, 0 }, { CWD, 1 } },
	[CALL_SYMLINKAT] = { call_symlink,  NO_FLAGS,    { CWD, 0 }, { 1, 2 } },
	[CALL_UNLINK]    = { call_unlink,   NO_FLAGS,    { CWD, 0 }, { 0 } },
	[CALL_UNLINKAT]  = { call_unlink,   2,           { 0, 1 },   { 0 } },
	[CALL_MKNOD]     = { call_mknod,    1,           { CWD, 0 }, { 0 } },
	[CALL_MKNODAT]   = { call_mknod,    2,           { 0, 1 },   { 0 } },
	[CALL_EXECVE]    = { call_execve,   NO_FLAGS,    { CWD, 0 }, { 0 } },
	[CALL_EXECVEAT]  = { call_execve,   4,           { 0, 1 },   { 0 } },
	/* clang-format on */
};

/* Reads the names; false when one cannot be read. */
static bool read_names(struct observer *o, struct tracee *t, enum call call,
		       const uint64_t values[], struct call_args *a)
{
	struct name_place name = forms[call].name;
	struct name_place new_name = forms[call].new_name;
	ssize_t n = call_read_path(o, t, values[name.path], o->path);

	if (n < 0)
		return false;
	a->dirfd = (int)values[name.dirfd];
	a->path = o->path;
	a->len = (size_t)n;
	if (!new_name.path)
		return true;
	n = call_read_path(o, t, values[new_name.path], o->path2);
	if (n < 0)
		return false;
	a->dirfd2 = (int)values[new_name.dirfd];
	a->path2 = o->path2;
	a->len2 = (size_t)n;
	return true;
}

bool call_names_files(enum call call)
{
	assert(call < CALL_END);
	return forms[call].enter;
}

bool call_decode(struct observer *o, struct tracee *t, enum call call,
		 const uint64_t args[6], struct call_args *ret)
{
	uint64_t values[] = {
		[CWD] = (uint64_t)AT_FDCWD,
		[NO_FLAGS] = 0,
		[CREAT_FLAGS] = O_CREAT | O_WRONLY | O_TRUNC,
	};

	assert(call < CALL_END);
	if (!forms[call].enter)
		return false;
	memcpy(values, args, 6 * sizeof(args[0]));
	*ret = (struct call_args){ .flags = values[forms[call].flags] };
	str_clear(&t->exec_path); /* of an attempt before this */
	str_clear(&t->exec_command);
	return read_names(o, t, call, values, ret);
}

/* Links to directories and directories themselves lead to many names; the current
 * directory to all. */
static bool leads_on(const struct pending *w)
{
	switch (w->call) {
	case CALL_RENAME:
	case CALL_UNLINK:
		return !S_ISREG(w->before.st_mode);
	case CALL_LINK:
	case CALL_MKNOD:
		return false;
	default:
		return true;
	}
}

/* Every entry ends here.  Other threads are waited for only after everything known
 * about the call is stored in `pending`. */
static bool entered(struct observer *o, struct tracee *t, bool awaited)
{
	struct pending *w = &t->pending;

	if (!awaited || !o->catch_up)
		return awaited;
	tree_count_in(&o->tree, t);
	if (w->counted == &o->tree.n_changing)
		race_change(o, t, &w->path, &w->path2, leads_on(w));
	return true;
}

bool call_enter(struct observer *o, struct tracee *t, enum call call,
		const uint64_t args[6])
{
	struct call_args a;

	assert(call < CALL_END);
	if (!forms[call].enter)
		return entered(o, t, enter_other(o, t, call, args));
	return call_looks(o) && call_decode(o, t, call, args, &a) &&
	       entered(o, t, forms[call].enter(o, t, &a));
}

bool call_enter_named(struct observer *o, struct tracee *t, enum call call,
		      const struct call_args *a)
{
	assert(forms[call].enter);
	return call_looks(o) && forms[call].enter(o, t, a);
}

/* ---- after the call ---- */

static void dispatch_exit(struct observer *o, struct tracee *t, int64_t result)
{
	switch (t->pending.call) {
	case CALL_OPEN:
	case CALL_HANDLE:
		call_open_done(o, t, result);
		break;
	case CALL_CHROOT:
		done_chroot(o, t);
		break;
	case CALL_NAMESPACE:
		done_namespace(o, t);
		break;
	case CALL_UNSEEN:
		call_gap(o, t, (enum event_gap)t->pending.flags,
			 str_cstr(&t->pending.path));
		break;
	case CALL_IO_URING:
		done_io_uring(o, t);
		break;
	case CALL_RECVMSG:
		call_recvmsg_done(o, t);
		break;
	case CALL_RECVMMSG:
		call_scan_files(o, t);
		break;
	default:
		call_name_done(o, t);
		break;
	}
}

void call_exit(struct observer *o, struct tracee *t, int64_t result)
{
	assert(t->pending.call != CALL_NONE);
	if (result >= 0 && t->pending.call != CALL_CHDIR)
		dispatch_exit(o, t, result);
	call_forget(o, t);
}

void call_forget(struct observer *o, struct tracee *t)
{
	if (t->pending.call == CALL_CHDIR)
		end_chdir(o);
	tree_count_out(t);
	t->pending.call = CALL_NONE;
}
