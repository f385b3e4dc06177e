/* listen.c - see listen.h */
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "base/path.h"
#include "base/str.h"

enum {
	SYSTEMD_FD = 3, /* the first that systemd hands over */
	BACKLOG = 64,
	STOP_TURNS = 100, /* of 50 ms */
};

int listen_take(struct listen *l, struct roar_error *err)
{
	const char *pid = getenv("LISTEN_PID");
	const char *n = getenv("LISTEN_FDS");
	int type = 0;
	socklen_t len = sizeof(type);

	if (!pid || !n || atoi(pid) != getpid() || strcmp(n, "1") != 0)
		return error_set(err, -ENOENT,
				 "systemd passed no socket: "
				 "'roard --foreground' makes one");
	if (getsockopt(SYSTEMD_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_SEQPACKET)
		return error_set(err, -ENOTSOCK,
				 "the socket from systemd is not a packet "
				 "socket: use ListenSequentialPacket=");
	(void)fcntl(SYSTEMD_FD, F_SETFD, FD_CLOEXEC);
	l->fd = SYSTEMD_FD;
	return 0;
}

/* ---- the lock ---- */

static int open_lock(const char *path)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	int fd;

	str_addf(&name, "%s.lock", path);
	if (str_error(&name) < 0)
		return -ENOMEM;
	fd = open(name.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

/* The lock belongs to the open file, so that a child has it, too. */
static int lock_file(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -EBUSY : 0;
}

void listen_note_pid(struct listen *l)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", getpid());

	if (l->lock >= 0 && ftruncate(l->lock, 0) == 0)
		(void)!pwrite(l->lock, text, (size_t)n, 0);
}

/* ---- the socket ---- */

static int bind_to(int fd, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	memcpy(at.sun_path, path, strlen(path) + 1);
	/* We have the lock: an existing socket is a leftover. */
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

static void make_folder(const char *path)
{
	CLEANUP(str_release) struct str dir = STR_INIT;

	path_dirname(&dir, path);
	if (str_error(&dir) == 0 && mkdir(dir.data, 0755) == 0)
		(void)chmod(dir.data, 0755);
}

int listen_make(struct listen *l, const char *path, struct roar_error *err)
{
	int r;

	make_folder(path);
	l->lock = open_lock(path);
	if (l->lock < 0)
		return error_set(err, l->lock, "cannot make '%s.lock': %s",
				 path, strerror(-l->lock));
	r = lock_file(l->lock);
	if (r < 0)
		return error_set(err, r, "another roard serves '%s'", path);
	l->path = path;
	listen_note_pid(l);
	l->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0);
	r = l->fd < 0 ? -errno : bind_to(l->fd, path);
	if (r < 0)
		return error_set(err, r, "cannot listen at '%s': %s", path,
				 strerror(-r));
	return 0;
}

/* The lock stays: removed, two could hold it at a time. */
void listen_release(struct listen *l)
{
	if (l->path && l->fd >= 0)
		(void)unlink(l->path);
	closep(&l->fd);
	closep(&l->lock);
}

/* ---- the end of another ---- */

/* The process that holds the lock; 0: none. */
static pid_t holder(int lock)
{
	struct flock found = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char text[16] = "";

	if (fcntl(lock, F_OFD_GETLK, &found) < 0 || found.l_type == F_UNLCK)
		return 0;
	return pread(lock, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
}

int listen_stop(const char *path, struct roar_error *err)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	CLEANUP(closep) int lock = open_lock(path);
	pid_t pid = lock < 0 ? 0 : holder(lock);

	if (lock < 0 && lock != -ENOENT)
		return error_set(err, lock, "cannot look at '%s.lock': %s",
				 path, strerror(-lock));
	if (pid <= 0)
		return 0;
	if (kill(pid, SIGTERM) < 0 && errno != ESRCH)
		return error_set(err, -errno, "cannot end process %d: %s", pid,
				 strerror(errno));
	for (int i = 0; i < STOP_TURNS && holder(lock) == pid; i++)
		(void)nanosleep(&pause, NULL);
	return holder(lock) == pid ? error_set(err, -ETIMEDOUT,
					       "process %d does not end", pid) :
				     0;
}
