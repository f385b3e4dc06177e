/* received.c - descriptors received in messages by programs without the library
 *
 * The return of recvmsg() is not reported.  The message is in the program's memory,
 * which is read at the thread's next activity.  By then it may be overwritten, and the
 * descriptor closed.  So the header is kept from the entry: the kernel changes only
 * lengths and flags in it.  If anything else is different, the received descriptors are
 * unknown, which is a gap.  Only Unix sockets carry descriptors, and only messages from
 * outside the run bring a file that no process of the run has opened.  So a connection
 * between processes of the run is ignored. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "trace/hybrid/hybrid_internal.h"

enum {
	CONTROL_MAX = 4096, /* 253 descriptors are the kernel's limit */
	BY_MESSAGE = 1, /* in the flags of CALL_RECVMMSG: not by pidfd_getfd() */
};

/* A descriptor of ours for another process's file; negative: not available. */
static int borrow(pid_t pid, int fd)
{
	CLEANUP(closep) int process = (int)syscall(SYS_pidfd_open, pid, 0);

	if (process < 0)
		return -1;
	return (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

/* The process that made the other end of a connection; 0: unknown.  The pid of a
 * process that has ended may be reused (Linux 6.5 reports that). */
static pid_t peer_of(int line)
{
	enum { PEERPIDFD = 77 }; /* SO_PEERPIDFD */
	CLEANUP(closep) int process = -1;
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer), fd_len = sizeof(process);

	if (getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return 0;
	if (getsockopt(line, SOL_SOCKET, PEERPIDFD, &process, &fd_len) < 0)
		return errno == ENOPROTOOPT ? peer.pid : 0;
	if (syscall(SYS_pidfd_send_signal, process, 0, NULL, 0) < 0 &&
	    errno == ESRCH)
		return 0;
	return peer.pid;
}

/* Can a message on this socket bring a file from outside the run?  True also when that
 * cannot be known. */
static bool is_door(const struct hybrid *h, pid_t pid, int fd)
{
	CLEANUP(closep) int line = borrow(pid, fd);
	int domain = AF_UNIX;
	socklen_t len = sizeof(domain);
	pid_t peer;

	if (line < 0)
		return true;
	(void)getsockopt(line, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	if (domain != AF_UNIX)
		return false;
	peer = peer_of(line);
	return !peer || !family_is_of_run(h, peer);
}

static bool read_header(struct hybrid *h, const struct tracee *t,
			struct msghdr *ret)
{
	return memory_read(&h->o.memory, t->tid, t->pending.flags, ret,
			   sizeof(*ret)) >= 0;
}

/* The socket of a call that may receive descriptors; -1: none.  socketcall() has one
 * number for all socket operations of old 32-bit programs. */
static int socket_of(struct hybrid *h, const struct tracee *t,
		     const struct seccomp_data *d)
{
	enum { SOCKETCALL = 102, RECVMSG = 17, RECVMMSG = 19 };
	int32_t fd = -1;

	if (d->arch == call_abis[0].audit_arch || d->nr != SOCKETCALL)
		return (int)d->args[0];
	if (d->args[0] == RECVMSG || d->args[0] == RECVMMSG)
		(void)memory_read(&h->o.memory, t->tid, d->args[1], &fd,
				  sizeof(fd));
	return fd;
}

bool received_enter(struct hybrid *h, struct tracee *t,
		    const struct seccomp_data *d)
{
	enum { PIDFD_GETFD = 438 }; /* on all machines */
	struct msghdr m;
	int fd;

	if (d->nr == PIDFD_GETFD)
		return true;
	fd = socket_of(h, t, d);
	if (fd < 0 || !is_door(h, t->process->pid, fd)) {
		call_forget(&h->o, t);
		return false;
	}
	str_clear(&t->pending.path2);
	if (t->pending.call == CALL_RECVMMSG)
		t->pending.flags = BY_MESSAGE;
	else if (read_header(h, t, &m))
		str_add(&t->pending.path2, (const char *)&m, sizeof(m));
	return true;
}

/* Is it the header of the entry, except for what the kernel fills in? */
static bool is_intact(const struct tracee *t, const struct msghdr *now)
{
	const struct str *kept = &t->pending.path2;
	struct msghdr then;

	if (kept->len != sizeof(then))
		return false;
	memcpy(&then, kept->data, sizeof(then));
	return then.msg_name == now->msg_name && then.msg_iov == now->msg_iov &&
	       then.msg_iovlen == now->msg_iovlen &&
	       then.msg_control == now->msg_control &&
	       now->msg_controllen <= then.msg_controllen;
}

/* False: one of them is closed already. */
static bool scan(struct hybrid *h, struct tracee *t, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		int fd;

		memcpy(&fd, data + i * sizeof(fd), sizeof(fd));
		str_clear(&h->o.name);
		if (resolve_fd(t->tid, fd, &h->o.name, &st) == -ENOENT &&
		    !h->o.name.len)
			return false;
		call_scan_file(&h->o, t, fd, 0);
	}
	return true;
}

/* The program may have written there since: lengths are not trusted.  CMSG_NXTHDR() is
 * not made for such input; a length that is too large makes it loop. */
static bool scan_all(struct hybrid *h, struct tracee *t, const char *control,
		     size_t len)
{
	size_t at = 0;

	while (len - at >= CMSG_LEN(0)) {
		struct cmsghdr c;

		memcpy(&c, control + at, sizeof(c));
		if (c.cmsg_len < CMSG_LEN(0) || c.cmsg_len > len - at)
			return false;
		if (c.cmsg_level == SOL_SOCKET && c.cmsg_type == SCM_RIGHTS &&
		    !scan(h, t, control + at + CMSG_LEN(0),
			  (c.cmsg_len - CMSG_LEN(0)) / sizeof(int)))
			return false;
		if (CMSG_ALIGN(c.cmsg_len) >= len - at)
			break;
		at += CMSG_ALIGN(c.cmsg_len);
	}
	return true;
}

/* False: the received descriptors cannot be known any more. */
static bool look(struct hybrid *h, struct tracee *t)
{
	char control[CONTROL_MAX];
	uint64_t address;
	struct msghdr m;

	if (!read_header(h, t, &m) || !is_intact(t, &m))
		return false;
	if (m.msg_controllen < CMSG_LEN(sizeof(int)))
		return true;
	address = (uint64_t)(uintptr_t)m.msg_control;
	if (m.msg_controllen > sizeof(control))
		m.msg_controllen = sizeof(control);
	if (memory_read(&h->o.memory, t->tid, address, control,
			m.msg_controllen) < 0)
		return false;
	return scan_all(h, t, control, m.msg_controllen);
}

/* Several messages, or those of 32-bit programs: the received files are found among all
 * descriptors, if none of them can have been closed.  The library makes us look before
 * that. */
static bool look_at_all(struct hybrid *h, struct tracee *t)
{
	const struct member *m = member_of(h, t);

	call_scan_files(&h->o, t);
	return !(t->pending.flags & BY_MESSAGE) ||
	       (m && m->teller && !member_thread_is_gone(t));
}

void received_settle(struct hybrid *h, struct tracee *t)
{
	bool one = t->pending.call == CALL_RECVMSG;
	bool known;

	assert(one || t->pending.call == CALL_RECVMMSG);
	known = one ? look(h, t) : look_at_all(h, t);
	if (!known)
		call_gap(&h->o, t, EVENT_GAP_LOST,
			 "a message was examined too late, and may have "
			 "carried a descriptor");
	if (!known && one)
		call_scan_files(&h->o, t);
	call_forget(&h->o, t);
}
