/* proof.c - see proof.h */
#include "trace/call/proof.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/proc.h"
#include "trace/call/call.h"

/* Is it the initial user namespace?  Its inode number is the same everywhere, and one
 * stat() costs less than reading two maps. */
static bool in_first_namespace(void)
{
	enum { FIRST = 0xeffffffd }; /* PROC_USER_INIT_INO */
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino == FIRST;
}

/* Does our user namespace map every owner?  Its capabilities do not cover files of
 * owners that it does not map. */
static bool knows_all(const char *map)
{
	unsigned first, outside, n;
	char text[128];

	return proc_read(getpid(), map, text, sizeof(text)) > 0 &&
	       sscanf(text, "%u %u %u", &first, &outside, &n) == 3 && !first &&
	       n == UINT32_MAX;
}

bool proof_overrides(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	return (data[0].effective & (1U << CAP_DAC_OVERRIDE)) &&
	       (data[0].effective & (1U << CAP_FOWNER)) &&
	       (in_first_namespace() ||
		(knows_all("uid_map") && knows_all("gid_map")));
}

void proof_init(struct proof *r)
{
	r->override = proof_overrides();
	r->euid = geteuid();
}

void proof_release(struct proof *r)
{
	thread_fd_attach(&r->table, 0);
	str_release(&r->writable);
}

void proof_forget(struct observer *o, const struct tracee *t)
{
	struct proof *r = &o->proof;

	r->writable_until_ns = 0;
	memset(r->filesystems, 0, sizeof(r->filesystems));
	recent_clear(&o->recent);
	if (!t)
		return;
	r->changed_ns = o->mono_ns;
	r->changer = t->tid;
}

/* Another thread may be changing permissions right now: the examined state may not be
 * what the call finds. */
static bool is_unsettled(const struct observer *o, const struct tracee *t)
{
	return o->proof.changer != t->tid &&
	       o->mono_ns - o->proof.changed_ns < BELIEF_NS;
}

/* ---- the file system ---- */

/* Where a server or a user-space program decides, it has rules of its own (root squash,
 * quotas of others). */
static bool is_plain(const struct statfs *fs)
{
	static const uint32_t plain[] = {
		EXT4_SUPER_MAGIC,     XFS_SUPER_MAGIC,
		BTRFS_SUPER_MAGIC,    TMPFS_MAGIC,
		RAMFS_MAGIC,	      OVERLAYFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC,     SQUASHFS_MAGIC,
		EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC,
		0x2fc12fc1 /* ZFS */, 0xca451a4e /* bcachefs */,
	};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if ((uint32_t)fs->f_type == plain[i])
			return true;
	return false;
}

/* More than the tree can use up while the result is valid.  An unlimited number is
 * shown as 0 of 0. */
static bool is_roomy(const struct statfs *fs)
{
	enum { FILES = 1024, BYTES = 8 << 20 };

	return (!fs->f_files || fs->f_ffree >= FILES) &&
	       (!fs->f_blocks || fs->f_bavail >= BYTES / (uint64_t)fs->f_bsize);
}

static const struct filesystem *filesystem_of(struct observer *o, dev_t dev,
					      const char *path)
{
	struct filesystem *f =
		&o->proof.filesystems[(major(dev) ^ minor(dev)) % FILESYSTEMS];
	struct statfs fs;

	if (f->dev == dev && o->mono_ns < f->until_ns)
		return f;
	*f = (struct filesystem){ .dev = dev };
	if (statfs(path, &fs) < 0)
		return f;
	f->plain = is_plain(&fs);
	f->roomy = f->plain && is_roomy(&fs);
	f->until_ns = o->mono_ns + BELIEF_NS;
	return f;
}

/* ---- files ---- */

static bool may_access(const struct str *path, int mode)
{
	return faccessat(AT_FDCWD, path->data, mode, AT_EACCESS) == 0;
}

bool proof_reads(const struct observer *o, const struct str *path)
{
	return o->proof.override || may_access(path, R_OK);
}

/* Does the mode alone grant this access?  Only to the owner: for others an access list
 * may apply, so the kernel must be asked. */
static bool grants(const struct proof *r, const struct stat *st, mode_t bits)
{
	return r->override ||
	       (st->st_uid == r->euid && (st->st_mode & bits) == bits);
}

static bool surely_reads(const struct observer *o, const struct str *path,
			 const struct stat *st)
{
	return grants(&o->proof, st, 0400) || may_access(path, R_OK);
}

static bool surely_writes(struct observer *o, const struct tracee *t,
			  const struct str *path, const struct stat *st,
			  bool also_reads)
{
	/* A running program refuses writers (ETXTBSY). */
	if (o->locked || (st->st_mode & 0111))
		return false;
	/* Names can be added in its directory, so the file system is writable; flags
	 * that forbid writing to the file itself were read with its stat. */
	if (grants(&o->proof, st, also_reads ? 0600 : 0200) &&
	    proof_names(o, t, path))
		return true;
	return may_access(path, also_reads ? R_OK | W_OK : W_OK);
}

/* Flags by which an open of a file with all rights may still fail: not every file
 * system has O_DIRECT; O_NOATIME is for owners; beside O_CREAT a sticky directory
 * protects files of others; the fourth access mode is for ioctl() alone. */
static bool is_odd(const struct proof *r, const struct stat *st, uint64_t flags)
{
	if ((flags & O_DIRECT) || (flags & O_ACCMODE) == O_ACCMODE)
		return true;
	if (st->st_uid == r->euid)
		return false;
	return (flags & O_CREAT) || ((flags & O_NOATIME) && !r->override);
}

bool proof_opens(struct observer *o, const struct tracee *t,
		 const struct str *path, const struct stat *st, uint64_t flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);

	/* A 32-bit program may not open larger ones. */
	if (is_odd(&o->proof, st, flags) || st->st_size > INT32_MAX ||
	    is_unsettled(o, t) ||
	    !filesystem_of(o, st->st_dev, path->data)->plain)
		return false;
	if (!writes)
		return surely_reads(o, path, st);
	return surely_writes(o, t, path, st, (flags & O_ACCMODE) != O_WRONLY);
}

/* ---- names ---- */

/* In a sticky directory (/tmp) only owners may remove a name; in an append-only one no
 * process may.  So it is not certain there. */
static bool is_writable(struct observer *o, const struct str *dir)
{
	bool locked = o->locked;
	const struct filesystem *fs;
	struct stat st;
	bool ok;

	ok = call_look(o, dir, &st) == 0 && !o->locked;
	o->locked = locked;
	if (!ok || !may_access(dir, W_OK | X_OK) ||
	    ((st.st_mode & S_ISVTX) && !o->proof.override))
		return false;
	fs = filesystem_of(o, st.st_dev, dir->data);
	return fs->plain && fs->roomy;
}

bool proof_names(struct observer *o, const struct tracee *t,
		 const struct str *path)
{
	struct proof *r = &o->proof;
	char *slash = memrchr(path->data, '/', path->len);
	size_t len;

	if (!slash || slash == path->data || is_unsettled(o, t))
		return false;
	len = (size_t)(slash - path->data);
	if (o->mono_ns < r->writable_until_ns && r->writable.len == len &&
	    memcmp(r->writable.data, path->data, len) == 0)
		return true;
	r->writable_until_ns = 0;
	str_clear(&r->writable);
	str_add(&r->writable, path->data, len);
	if (str_error(&r->writable) < 0 || !is_writable(o, &r->writable))
		return false;
	r->writable_until_ns = o->mono_ns + BELIEF_NS;
	return true;
}

/* ---- descriptors ---- */

/* The directory of its descriptors. */
static int look_at_table(struct thread_fd *held, pid_t tid, const char *path,
			 struct stat *ret)
{
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

	if (held->tid == tid &&
	    (held->open || thread_fd_take(held, open(path, flags))))
		return fstat(held->fd, ret);
	return stat(path, ret);
}

/* The number of its descriptors: since Linux 6.2 the size of the directory. */
static int count_descriptors(struct observer *o, pid_t tid, uint64_t *ret_n)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	struct proc_path path = proc_path(tid, "fd");
	struct stat st;

	if (look_at_table(&o->proof.table, tid, path.text, &st) < 0)
		return -errno;
	*ret_n = (uint64_t)st.st_size;
	if (st.st_size)
		return 0;
	dir = opendir(path.text);
	if (!dir)
		return -errno;
	while (readdir(dir))
		++*ret_n;
	return 0;
}

/* Was this seen when no limit was about to change? */
static bool is_limit_settled(const struct observer *o, int64_t seen_ns)
{
	return seen_ns - o->tree.limit_ns >= BELIEF_NS;
}

static int read_limit(const struct observer *o, const struct tracee *t)
{
	struct process *p = t->process;
	struct rlimit limit;

	if (o->mono_ns - p->limit_ns < BELIEF_NS &&
	    is_limit_settled(o, p->limit_ns))
		return 0;
	if (prlimit(t->tid, RLIMIT_NOFILE, NULL, &limit) < 0)
		return -errno;
	p->limit = limit.rlim_cur;
	p->limit_ns = o->mono_ns;
	return 0;
}

static bool is_roomy_still(const struct observer *o, const struct process *p)
{
	return o->mono_ns < p->roomy_until_ns &&
	       is_limit_settled(o, p->roomy_ns);
}

enum { MARGIN = 64 }; /* descriptors that other threads may use meanwhile */

/* Most programs stop only for their loader, and the first access to a directory in
 * /proc is slow.  The kernel always takes the lowest free number next: as long as this
 * one is free, so are others. */
static bool is_young_and_roomy(struct tracee *t)
{
	enum { FEW = 6 };
	struct process *p = t->process;
	long fd = (long)p->limit - MARGIN;

	return p->n_looks < FEW && ++p->n_looks && p->n_threads == 1 &&
	       fd > 0 && fd < INT_MAX &&
	       syscall(SYS_kcmp, t->tid, t->tid, KCMP_FILE, fd, fd) < 0 &&
	       errno == EBADF;
}

/* Descriptors come from many calls that do not stop, but each call takes time.  As long
 * as all threads together cannot have used up what was free at the last check, another
 * is not needed.  0 or a negative errno. */
static int look_for_room(struct observer *o, struct tracee *t)
{
	enum { CALL_NS = 40, LONG_NS = 100000000 };
	struct process *p = t->process;
	uint64_t used = 0, room;
	int r = count_descriptors(o, t->tid, &used);

	if (r < 0)
		return r;
	p->full = used + MARGIN >= p->limit;
	p->roomy_ns = p->roomy_until_ns = o->mono_ns;
	if (p->full)
		return 0;
	room = (p->limit - used - MARGIN) / p->n_threads;
	p->roomy_until_ns += room > LONG_NS / CALL_NS ? LONG_NS :
							(int64_t)room * CALL_NS;
	return 0;
}

void proof_check_limit(struct observer *o, struct tracee *t)
{
	int r;

	if (is_roomy_still(o, t->process))
		return;
	r = read_limit(o, t);
	if (r == 0 && is_young_and_roomy(t)) {
		t->process->full = false;
		return;
	}
	if (r == 0)
		r = look_for_room(o, t);
	/* The process has ended, or we may not examine it, for an unknown reason. */
	if (r < 0 && r != -ESRCH && r != -ENOENT)
		t->process->restricted = true;
}
