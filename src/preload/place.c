/* place.c - calls that change where names start: directory, root, mounts. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>

#include "preload.h"

/* ---- the current directory ---- */

/* A child of vfork() has a directory of its own but our memory: its changes must not be
 * logged as ours, and it has to ask for its opens from now on. */
static void directory_changed(void)
{
	int saved = errno;

	if (self_is_vforked())
		self.vforked = (int32_t)raw_call(SYS_getpid, 0);
	else
		tell_directory();
	errno = saved;
}

static void change_begin(void)
{
	atomic_fetch_add(&preload.cwd, 1);
}

static void change_end(bool asked, int r)
{
	if (asked && r == 0)
		directory_changed();
	atomic_fetch_add(&preload.cwd, (UINT64_C(1) << 32) - 1);
}

WRAPPER(int, chdir, const char *path)
{
	struct telling t = {
		.call = LOG_CALL_CHDIR,
		.dirfd = AT_FDCWD,
		.path = path,
	};
	bool asked = ask_begin(&t);
	int r;

	change_begin();
	r = (int)ask_end(asked, &t, PATIENTLY(NEXT(chdir)(path)));
	change_end(asked, r);
	return r;
}

WRAPPER(int, fchdir, int fd)
{
	struct telling t = { .call = LOG_CALL_CHDIR, .dirfd = fd };
	bool asked = ask_begin(&t);
	int r;

	change_begin();
	r = (int)ask_end(asked, &t, PATIENTLY(NEXT(fchdir)(fd)));
	change_end(asked, r);
	return r;
}

/* ---- root and mounts ---- */

/* From here on names mean nothing to the reader: everything is asked, and
 * programs that are executed are not given what they might not find. */
static int moved(int r)
{
	int saved = errno;

	if (r == 0 && live()) {
		if (self_is_vforked())
			self.vforked = (int32_t)raw_call(SYS_getpid, 0);
		else
			atomic_store(&preload.elsewhere, true);
	}
	errno = saved;
	return r;
}

WRAPPER(int, chroot, const char *path)
{
	struct telling t = { .call = LOG_CALL_NAMESPACE, .path = path };

	return moved((int)ASKED(&t, NEXT(chroot)(path)));
}

WRAPPER(int, unshare, int flags)
{
	struct telling t = { .call = LOG_CALL_NAMESPACE,
			     .flags = (uint32_t)flags };
	int r = (int)ASKED(&t, NEXT(unshare)(flags));

	return flags & (CLONE_NEWNS | CLONE_FS) ? moved(r) : r;
}

WRAPPER(int, setns, int fd, int type)
{
	struct telling t = { .call = LOG_CALL_NAMESPACE,
			     .dirfd = fd,
			     .flags = (uint32_t)type };

	return moved((int)ASKED(&t, NEXT(setns)(fd, type)));
}

/* Names may mean something else after the call, unless it is about mounts that the
 * reader does not see. */
static bool ask_mounting(struct telling *t)
{
	if (live() && !atomic_load(&preload.elsewhere))
		atomic_store(&preload.log->mounted, 1);
	return ask_begin(t);
}

WRAPPER(int, mount, const char *source, const char *target, const char *type,
	unsigned long flags, const void *data)
{
	struct telling t = { .call = LOG_CALL_NAMESPACE, .path = target };
	bool asked = ask_mounting(&t);

	/* It may wait for a server, and then be interrupted with reason. */
	return (int)ask_end(asked, &t,
			    NEXT(mount)(source, target, type, flags, data));
}

WRAPPER(int, umount, const char *target)
{
	struct telling t = { .call = LOG_CALL_NAMESPACE, .path = target };

	bool asked = ask_mounting(&t);

	return (int)ask_end(asked, &t, PATIENTLY(NEXT(umount)(target)));
}

WRAPPER(int, umount2, const char *target, int flags)
{
	struct telling t = { .call = LOG_CALL_NAMESPACE, .path = target };

	bool asked = ask_mounting(&t);

	return (int)ask_end(asked, &t, PATIENTLY(NEXT(umount2)(target, flags)));
}

struct file_handle;

WRAPPER(int, open_by_handle_at, int fd, struct file_handle *handle, int flags)
{
	struct telling t = {
		.call = LOG_CALL_HANDLE,
		.dirfd = fd,
		.flags = (uint32_t)flags,
	};

	return (int)ASKED(&t, NEXT(open_by_handle_at)(fd, handle, flags));
}
