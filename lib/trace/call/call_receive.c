/* call_receive.c - files that a process has without having opened them
 *
 * Descriptors are inherited, or arrive in SCM_RIGHTS messages.  Those from inside the
 * tree were seen when they were opened; reporting them again does no harm. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/proc.h"
#include "trace/call/call.h"
#include "trace/call/memory.h"

enum { CONTROL_MAX = 4096 }; /* 253 descriptors are the kernel's limit */

/* The flags of a descriptor, from "/proc/PID/fdinfo/N". */
int call_descriptor_flags(pid_t tid, int fd, unsigned *ret_flags)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *line;
	int r = fd_read_file(AT_FDCWD, proc_path(tid, "fdinfo/%d", fd).text,
			     65536, &text);

	if (r < 0)
		return r;
	line = strstr(str_cstr(&text), "flags:");
	if (!line)
		return -EBADMSG;
	*ret_flags = (unsigned)strtoul(line + 6, NULL, 8);
	return 0;
}

/* The descriptors of an exiting process are not accessible to its own user. */
static bool is_ending(pid_t tid)
{
	char text[16];

	return proc_read(tid, "cmdline", text, sizeof(text)) == -ESRCH;
}

/* A descriptor could not be examined: it has no file or is closed again, or we have no
 * free descriptor ourselves, or we are not permitted. */
static void unlisted(struct observer *o, struct tracee *t, int error)
{
	if (error == -EINVAL || error == -ENOENT || error == -ESRCH ||
	    (error == -EACCES && is_ending(t->tid)))
		return;
	call_gap(o, t, EVENT_GAP_PATH, "a descriptor could not be examined");
}

void call_scan_file(struct observer *o, struct tracee *t, int fd, unsigned skip)
{
	unsigned flags = EVENT_INHERITED;
	unsigned open_flags = 0;
	struct stat st;
	int r = resolve_fd(t->tid, fd, &o->name, &st);

	if (r == 0 && S_ISDIR(st.st_mode) &&
	    !resolve_is_visible(t->tid, fd, &o->name, &st))
		o->tree.detached = true; /* or mounted for other processes only */
	if (r == 0 && !S_ISREG(st.st_mode))
		return;
	if (r == 0)
		r = call_descriptor_flags(t->tid, fd, &open_flags);
	if (r < 0) {
		unlisted(o, t, r);
		return;
	}
	if (open_flags & (skip | O_PATH))
		return;
	if (!resolve_is_visible(t->tid, fd, &o->name, &st)) {
		call_gap(o, t, EVENT_GAP_NAMESPACE, o->name.data);
		return;
	}
	if (call_flags_read(open_flags))
		flags |= EVENT_READ;
	if (call_flags_write(open_flags))
		flags |= EVENT_WRITE;
	call_emit(o, t, EVENT_OPEN, flags, 0, &st, &o->name, NULL);
}

void call_scan_files(struct observer *o, struct tracee *t)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	int fd;

	if (!call_looks(o))
		return;
	dir = opendir(proc_path(t->tid, "fd").text);
	if (!dir) {
		unlisted(o, t, -errno);
		return;
	}
	while ((fd = proc_next(dir)) >= 0)
		call_scan_file(o, t, fd, 0);
}

void call_scan_inherited(struct observer *o, struct tracee *t)
{
	const struct inherited *in = &o->inherited;

	for (size_t i = 0; i < in->n; i++)
		call_scan_file(o, t, in->fds[i], O_CLOEXEC);
	if (in->error)
		unlisted(o, t, in->error);
}

/* ---- SCM_RIGHTS ---- */

/* Most messages have no room for descriptors: after one read the process continues. */
bool call_recvmsg(struct observer *o, struct tracee *t, uint64_t message)
{
	struct msghdr m;

	if (memory_read(&o->memory, t->tid, message, &m, sizeof(m)) < 0 ||
	    m.msg_controllen < CMSG_LEN(sizeof(int)))
		return false;
	return call_await(t, CALL_RECVMSG, message, &call_no_file, NULL, NULL);
}

static void scan_rights(struct observer *o, struct tracee *t, struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		call_scan_file(o, t, fd, 0);
	}
}

static bool fits(const struct msghdr *m, const struct cmsghdr *c)
{
	size_t at = (size_t)((const char *)c - (const char *)m->msg_control);

	return c->cmsg_len >= CMSG_LEN(0) &&
	       c->cmsg_len <= m->msg_controllen - at;
}

void call_recvmsg_done(struct observer *o, struct tracee *t)
{
	_Alignas(struct cmsghdr) char control[CONTROL_MAX];
	struct msghdr m;
	uint64_t address;

	if (memory_read(&o->memory, t->tid, t->pending.flags, &m, sizeof(m)) <
		    0 ||
	    m.msg_controllen < CMSG_LEN(sizeof(int)))
		return;
	address = (uint64_t)(uintptr_t)m.msg_control;
	if (m.msg_controllen > sizeof(control))
		m.msg_controllen = sizeof(control);
	if (memory_read(&o->memory, t->tid, address, control,
			m.msg_controllen) < 0)
		return;
	m.msg_control = control;
	/* Another thread may have written there since: a wrong length could make this
	 * loop endless. */
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c && fits(&m, c);
	     c = CMSG_NXTHDR(&m, c))
		scan_rights(o, t, c);
}
