/* launch.c - see launch.h */
#include "trace/launch.h"

#include <alloca.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "trace/tracer.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { GATE_CLOSED, GATE_OPEN, GATE_ABORT };

static long futex(_Atomic int *word, int op, int value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void set_gate(struct tracer_control *control, int value)
{
	atomic_store(&control->gate, value);
	(void)futex(&control->gate, FUTEX_WAKE, 1);
}

void launch_open_gate(struct tracer_control *control)
{
	atomic_store(&control->gate_ns, clock_mono_ns());
	set_gate(control, GATE_OPEN);
}

void launch_abort(struct tracer_control *control, pid_t pid)
{
	assert(pid > 0);
	set_gate(control, GATE_ABORT);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	atomic_store(&control->gate, GATE_CLOSED);
}

/* ---- from here on in the child: no allocation, no locks ---- */

static void wait_at_gate(struct tracer_control *control)
{
	int value;

	while ((value = atomic_load(&control->gate)) == GATE_CLOSED)
		(void)futex(&control->gate, FUTEX_WAIT, GATE_CLOSED);
	if (value == GATE_ABORT)
		_exit(127);
}

/* Restores the signal settings that the command would have without us. */
static void restore_signals(const struct tracer_job *job)
{
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		struct sigaction sa = { .sa_handler = SIG_DFL };

		if (sig == SIGKILL || sig == SIGSTOP)
			continue;
		if (sigismember(&job->ignored, sig))
			sa.sa_handler = SIG_IGN;
		(void)sigaction(sig, &sa, NULL);
	}
	(void)sigprocmask(SIG_SETMASK, &job->mask, NULL);
}

static int set_filter(const struct sock_fprog *filter, unsigned flags)
{
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
			    filter);
}

/* A privileged process may install the filter as it is; others must give up
 * set-uid privileges first (which ptrace takes from them anyway).  Returns what
 * the kernel did, or a negative errno. */
static int install_filter(const struct sock_fprog *filter, unsigned flags)
{
	int r = set_filter(filter, flags);

	if (r < 0 && errno == EACCES &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		r = set_filter(filter, flags);
	return r < 0 ? -errno : r;
}

/* Once the listener has received a call, only a fatal signal interrupts it, so that
 * signals do not make it happen twice (Linux 5.19). */
static int install_listener(const struct sock_fprog *filter)
{
	int r = install_filter(filter,
			       SECCOMP_FILTER_FLAG_NEW_LISTENER |
				       SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	if (r == -EINVAL)
		r = install_filter(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	return r;
}

/* Sends the descriptor, or the error, to the process at the other end. */
static void send_listener(int to, int listener)
{
	(void)fd_send(to, &listener, sizeof(listener), listener, 0);
	if (listener >= 0)
		(void)close(listener);
	(void)close(to);
}

/* execvp()'s rule: a file that the kernel cannot execute is a shell script. */
static void exec_as_script(const struct tracer_job *job, char *const *envp)
{
	size_t n = 0;
	char **argv;

	while (job->argv[n])
		n++;
	argv = alloca((n + 2) * sizeof(*argv));
	argv[0] = (char *)"sh";
	argv[1] = (char *)job->file;
	for (size_t i = 1; i <= n; i++)
		argv[i + 1] = job->argv[i];
	(void)execve("/bin/sh", argv, envp);
}

/* `front` is the tracer's parent.  It may have to wait for us if the tracer is
 * killed, and is not an ancestor then, as Yama demands (front.h). */
static _Noreturn void become(const struct tracer_job *job,
			     const struct launch *how, int line, pid_t tracer,
			     pid_t front, bool binary)
{
	char *const *envp = how->envp ? how->envp : job->envp;

	/* A tracer that dies before the gate opens takes the child along. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != tracer)
		_exit(127);
	(void)prctl(PR_SET_PTRACER, front);
	if (how->listens) {
		send_listener(line, install_listener(how->filter));
	} else if (how->filter) {
		int r = install_filter(how->filter, 0);

		atomic_store(&job->control->seccomp_errno, r < 0 ? -r : 0);
	}
	wait_at_gate(job->control);
	(void)prctl(PR_SET_PDEATHSIG, 0);
	restore_signals(job);
	(void)execve(job->file, job->argv, envp);
	if (errno == ENOEXEC && !binary)
		exec_as_script(job, envp);
	atomic_store(&job->control->child_errno, errno);
	_exit(127);
}

/* ---- in the tracer again ---- */

/* Is it a script, or a damaged binary?  Shells look for a NUL in the first line and do
 * not run such a file as a script.  Checked before there is a child, whose own opens
 * would be observed. */
static bool is_binary(const char *file)
{
	CLEANUP(closep)
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[128];
	ssize_t n = fd < 0 ? 0 : fd_read_all(fd, head, sizeof(head));
	const char *end;

	if (n <= 0)
		return false;
	end = memchr(head, '\n', (size_t)n);
	return (n >= 4 && memcmp(head, "\177ELF", 4) == 0) ||
	       memchr(head, '\0', end ? (size_t)(end - head) : (size_t)n);
}

int launch_listener(int line)
{
	CLEANUP(closep) int fd = -1;
	int result;
	ssize_t n = fd_receive(line, &result, sizeof(result), 0, &fd);

	assert(line >= 0);
	(void)close(line);
	if (n < 0)
		return (int)n;
	if (n != sizeof(result))
		return -EPIPE; /* it died */
	if (result < 0)
		return result;
	return fd < 0 ? -EPIPE : TAKE_FD(fd);
}

int launch_child(const struct tracer_job *job, const struct launch *how,
		 pid_t *ret_pid, int *ret_line)
{
	int line[2] = { -1, -1 };
	bool binary = is_binary(job->file);
	pid_t tracer = getpid();
	pid_t front = getppid();
	pid_t pid;
	int r;

	assert(!how->listens || ret_line);
	if (how->listens &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		if (how->listens)
			(void)close(line[0]);
		become(job, how, line[1], tracer, front, binary);
	}
	r = pid < 0 ? -errno : 0;
	closep(&line[1]);
	if (r < 0) {
		closep(&line[0]);
		return r;
	}
	if (how->listens)
		*ret_line = line[0];
	atomic_store(&job->control->command, pid);
	*ret_pid = pid;
	return 0;
}
