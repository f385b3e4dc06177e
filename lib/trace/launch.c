/* launch.c - see launch.h */
#include "trace/launch.h"

#include <alloca.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/tracer.h"

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
	set_gate(control, GATE_OPEN);
}

void launch_abort(struct tracer_control *control, pid_t pid)
{
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

/* Signals as the command would have found them without us. */
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

static int set_filter(const struct sock_fprog *filter)
{
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter);
}

/* A privileged process may install the filter as it is; others must give up
 * set-uid privileges first (which ptrace takes from them anyway). */
static void install_filter(struct tracer_control *control,
			   const struct sock_fprog *filter)
{
	if (set_filter(filter) == 0)
		return;
	if (errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    set_filter(filter) == 0)
		return;
	atomic_store(&control->seccomp_errno, errno);
}

/* execvp()'s rule: a file that the kernel cannot execute is a shell script. */
static void exec_as_script(const struct tracer_job *job)
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
	(void)execve("/bin/sh", argv, job->envp);
}

static _Noreturn void become(const struct tracer_job *job,
			     const struct sock_fprog *filter, pid_t tracer)
{
	/* A tracer that dies before the gate opens takes the child along. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != tracer)
		_exit(127);
	wait_at_gate(job->control);
	(void)prctl(PR_SET_PDEATHSIG, 0);
	if (filter)
		install_filter(job->control, filter);
	restore_signals(job);
	(void)execve(job->file, job->argv, job->envp);
	if (errno == ENOEXEC)
		exec_as_script(job);
	atomic_store(&job->control->child_errno, errno);
	_exit(127);
}

int launch_child(const struct tracer_job *job, const struct sock_fprog *filter,
		 pid_t *ret_pid)
{
	pid_t tracer = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		become(job, filter, tracer);
	atomic_store(&job->control->command, pid);
	*ret_pid = pid;
	return 0;
}
