/* orphan.c - see orphan.h */
#include "run/orphan.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"

/* What a pidfd knows of a process; <linux/pidfd.h> of Linux 6.15. */
struct end_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};

#define GET_INFO _IOWR(0xFF, 11, struct end_info)
#define INFO_EXIT (UINT64_C(1) << 3)

static void hold(struct orphan *o)
{
	o->held = ptrace(PTRACE_SEIZE, o->pid, NULL, NULL) == 0;
}

int orphan_foresee(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

void orphan_init(struct orphan *o, pid_t pid, int fd)
{
	*o = (struct orphan){ .pid = pid, .fd = fd };
	if (pid <= 0)
		return;
	if (o->fd < 0)
		o->fd = orphan_foresee(pid);
	if (o->fd >= 0)
		hold(o);
}

void orphan_release(struct orphan *o)
{
	if (o->fd >= 0)
		(void)close(o->fd);
	o->fd = -1;
}

static bool is_stop(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
	       sig == SIGTTOU;
}

/* Lets it continue as if it were not traced; a stopped one stays stopped. */
static enum orphan_news on_stop(struct orphan *o, int status, int *ret_value)
{
	int sig = WSTOPSIG(status);

	if (status >> 16 == 0) { /* a signal is about to reach it */
		(void)ptrace(PTRACE_CONT, o->pid, NULL, (void *)(intptr_t)sig);
		return ORPHAN_NOTHING;
	}
	if (!is_stop(sig)) {
		(void)ptrace(PTRACE_CONT, o->pid, NULL, NULL);
		return ORPHAN_NOTHING;
	}
	(void)ptrace(PTRACE_LISTEN, o->pid, NULL, NULL);
	*ret_value = sig;
	return ORPHAN_STOPPED;
}

static bool has_ended(const struct orphan *o)
{
	struct pollfd end = { .fd = o->fd, .events = POLLIN };

	return o->fd < 0 || poll(&end, 1, 0) > 0;
}

/* From the pidfd, which knows when its process has been waited for by another. */
static int ask_status(const struct orphan *o)
{
	struct end_info info = { .mask = INFO_EXIT };

	if (o->fd < 0 || ioctl(o->fd, GET_INFO, &info) < 0 ||
	    !(info.mask & INFO_EXIT))
		return -1;
	return info.exit_code;
}

static enum orphan_news look(struct orphan *o, int *ret_value)
{
	/* One of the two has the status, depending on whether a process has waited for
	 * it; in between neither does. */
	for (int i = 0; has_ended(o); i++) {
		*ret_value = ask_status(o);
		if (*ret_value < 0)
			*ret_value = proc_zombie_status(o->pid);
		if (*ret_value >= 0 || o->fd < 0 || i >= 50)
			return ORPHAN_ENDED;
		(void)poll(NULL, 0, 1);
	}
	return ORPHAN_NOTHING;
}

enum orphan_news orphan_next(struct orphan *o, int *ret_value)
{
	int status;
	pid_t pid;

	while (o->held) {
		pid = waitpid(o->pid, &status, WNOHANG | __WALL);
		if (pid == 0)
			return ORPHAN_NOTHING;
		/* Another of its threads has executed a program. */
		if (pid < 0 && errno == ECHILD) {
			hold(o);
			break;
		}
		if (pid < 0)
			continue;
		if (!WIFSTOPPED(status)) {
			*ret_value = status;
			return ORPHAN_ENDED;
		}
		if (on_stop(o, status, ret_value) == ORPHAN_STOPPED)
			return ORPHAN_STOPPED;
	}
	return o->held ? ORPHAN_NOTHING : look(o, ret_value);
}
