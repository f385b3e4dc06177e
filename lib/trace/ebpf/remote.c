/* remote.c - see remote.h */
#include "trace/ebpf/remote.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/fd.h"
#include "trace/ebpf/image.h"
#include "trace/ebpf/roard.h"
#include "trace/ebpf/session.h"

enum {
	/* A daemon that has just been started loads its programs first. */
	PATIENCE_S = 5,
	PATIENCE_RUNNING_S = 1, /* later it answers at once */
};

struct remote {
	int fd;
	bool dead; /* it did not answer: no more requests are sent */
};

static int connect_to(const char *path, int flags)
{
	CLEANUP(closep)
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

bool remote_answers(void)
{
	CLEANUP(closep) int fd = connect_to(roard_socket_path(), SOCK_NONBLOCK);

	return fd >= 0;
}

void roard_build(char build[ROARD_BUILD_LEN])
{
	memset(build, 0, ROARD_BUILD_LEN);
	(void)snprintf(build, ROARD_BUILD_LEN, "%.20s-%.20s",
		       ebpf_tracepoint.id, ebpf_trampoline.id);
}

/* ---- messages ---- */

static int receive_reply(struct remote *r, enum roard_kind kind,
			 struct roard_reply *ret, int *ret_fd)
{
	CLEANUP(closep) int fd = -1;
	ssize_t n = fd_receive(r->fd, ret, sizeof(*ret), 0, &fd);
	int e;

	if (n == -EAGAIN)
		return -ETIMEDOUT;
	if (n == 0 || n == -ECONNRESET)
		return -EPIPE;
	if (n < 0)
		return (int)n;
	e = roard_check_reply(ret, (uint64_t)n, kind);
	if (e == 0 && ret_fd)
		*ret_fd = TAKE_FD(fd);
	return e;
}

static int call(struct remote *r, enum roard_kind kind, int pidfd, pid_t pid,
		struct roard_reply *ret, int *ret_fd)
{
	struct roard_request q = {
		.magic = ROARD_MAGIC,
		.version = ROARD_VERSION,
		.kind = (uint16_t)kind,
		.pid = pid,
	};
	int e = r->dead ? -EPIPE : fd_send(r->fd, &q, sizeof(q), pidfd, 0);

	if (e == 0)
		e = receive_reply(r, kind, ret, ret_fd);
	/* A late reply must not be taken for that of another request. */
	r->dead |= e == -ETIMEDOUT || e == -EPIPE || e == -EBADMSG;
	return e;
}

static void set_patience(struct remote *r, time_t seconds)
{
	struct timeval patience = { .tv_sec = seconds };

	(void)setsockopt(r->fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			 sizeof(patience));
	(void)setsockopt(r->fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
			 sizeof(patience));
}

/* ---- life ---- */

static int greet(struct remote *r, struct roar_error *err)
{
	struct roard_reply a;
	char build[ROARD_BUILD_LEN];
	int e = call(r, ROARD_HELLO, -1, 0, &a, NULL);

	roard_build(build);
	if (e == 0 && strcmp(a.build, build) != 0)
		e = -EPROTONOSUPPORT;
	if (e == -EPROTONOSUPPORT)
		return error_set(err, e,
				 "roard is of another build than this roar: "
				 "'roar tracer enable ebpf' starts the right "
				 "one");
	if (e < 0)
		return error_set(err, e, "roard at '%s' refused: %s",
				 roard_socket_path(), strerror(-e));
	return 0;
}

int remote_open(struct remote **ret_remote, struct roar_error *err)
{
	CLEANUP(remote_closep) struct remote *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	r->fd = connect_to(roard_socket_path(), 0);
	if (r->fd < 0)
		return error_set(err, r->fd, "cannot reach roard at '%s': %s",
				 roard_socket_path(), strerror(-r->fd));
	set_patience(r, PATIENCE_S);
	e = greet(r, err);
	if (e < 0)
		return e;
	*ret_remote = TAKE_PTR(r);
	return 0;
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	closep(&r->fd);
	free(r);
}

int remote_start(struct remote *r, int pidfd, pid_t pid)
{
	struct roard_reply a;
	int ring = -1;
	int e = call(r, ROARD_START, pidfd, pid, &a, &ring);

	if (e < 0)
		return e;
	set_patience(r, PATIENCE_RUNNING_S);
	return ring < 0 ? -EBADMSG : ring;
}

int remote_ask(struct remote *r, struct session_state *ret_state)
{
	struct roard_reply a;
	int e = call(r, ROARD_STATE, -1, 0, &a, NULL);

	if (e < 0)
		return e;
	*ret_state = (struct session_state){
		.lost = a.lost,
		.escaped = a.escaped,
		.sums_lost = a.sums_lost,
		.hidden = a.hidden,
		.n_rings = (uint32_t)a.n_rings,
		.n_live = a.n_live,
	};
	return 0;
}
