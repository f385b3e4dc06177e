/* receive.c - descriptors received over a socket.
 *
 * Only the kernel knows the names of their files, so the reader examines the
 * descriptors.  The program may close them at once; therefore the reader examines them
 * before the receiving call returns.  Messages without descriptors cost nothing. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "preload.h"

static unsigned tell_rights(const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		struct telling t = { .kind = LOG_FD, .exact = true };

		memcpy(&t.value, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		(void)tell(&t, true);
	}
	return (unsigned)n;
}

/* Tells of what came with one message; returns how many. */
static unsigned tell_message(struct msghdr *m)
{
	unsigned n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len >= CMSG_LEN(0))
			n += tell_rights(c);
	return n;
}

static long receive(int fd, struct msghdr *message, int flags)
{
	int type, unused;
	long r;

	(void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	r = unseen_call(SYS_recvmsg, fd, (long)message, flags, 0);
	(void)pthread_setcanceltype(type, &unused);
	if (r >= 0)
		return r;
	errno = (int)-r;
	return -1;
}

WRAPPER(ssize_t, recvmsg, int fd, struct msghdr *message, int flags)
{
	int saved = errno;
	ssize_t r;

	if (!live() || next_is_foreign(NEXT_recvmsg))
		return NEXT(recvmsg)(fd, message, flags);
	r = receive(fd, message, flags);
	if (r < 0)
		return r;
	if (message->msg_controllen && tell_message(message))
		tell_sync();
	errno = saved;
	return r;
}

WRAPPER(int, recvmmsg, int fd, struct mmsghdr *messages, unsigned n, int flags,
	struct timespec *timeout)
{
	int r = NEXT(recvmmsg)(fd, messages, n, flags, timeout);
	int saved = errno;
	unsigned told = 0;

	if (r <= 0 || !live())
		return r;
	for (int i = 0; i < r; i++)
		if (messages[i].msg_hdr.msg_controllen)
			told += tell_message(&messages[i].msg_hdr);
	if (told)
		tell_sync();
	errno = saved;
	return r;
}
