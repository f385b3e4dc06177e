/* child.c - see child.h */
#include "reproduce/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { OUTPUT_KEPT = 16 * 1024 };

static volatile sig_atomic_t stopped;
static volatile pid_t running; /* 0: none */
static int stop_fd = -1;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const uint64_t one = 1;
	int saved = errno;

	(void)context;
	stopped = 1;
	(void)!write(stop_fd, &one, sizeof(one));
	if (running > 0 && info->si_code != SI_KERNEL)
		(void)kill(running, sig);
	errno = saved;
}

int child_catch_signals(void)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO };

	if (stop_fd >= 0)
		return 0;
	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0)
		return -errno;
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	return 0;
}

bool child_stopped(void)
{
	return stopped != 0;
}

int child_stop_fd(void)
{
	return stop_fd;
}

/* In the new process; reports why it could not start. */
static void become(const struct child *c, int out, int report)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int r = 0;

	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		r = -errno;
	if (r == 0 && c->dirfd >= 0 && fchdir(c->dirfd) < 0)
		r = -errno;
	if (r == 0 && c->prepare)
		r = c->prepare() < 0 ? -EPERM : 0;
	if (r == 0) {
		if (c->envp)
			environ = (char **)c->envp;
		(void)execvp(c->argv[0], c->argv);
		r = -errno;
	}
	(void)!write(report, &r, sizeof(r));
	_exit(127);
}

/* Keeps the last bytes of a stream until its end. */
static void read_output(int fd, struct str *out)
{
	char piece[4096];

	for (;;) {
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		if (out->len + (size_t)n > 2 * OUTPUT_KEPT) {
			size_t cut = out->len - OUTPUT_KEPT;

			memmove(out->data, out->data + cut, OUTPUT_KEPT);
			out->len = OUTPUT_KEPT;
			out->data[out->len] = '\0';
		}
		str_add(out, piece, (size_t)n);
	}
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

/* A pipe of which [1] is closed in this process after the fork. */
static void close_end(int fds[2], int end)
{
	closep(&fds[end]);
	fds[end] = -1;
}

static int start(const struct child *c, const int output[2], int report[2],
		 pid_t *ret_pid)
{
	sigset_t both, old;
	pid_t pid;

	/* No signal is lost between the fork and `running`. */
	(void)sigemptyset(&both);
	(void)sigaddset(&both, SIGINT);
	(void)sigaddset(&both, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &both, &old);
	pid = fork();
	if (pid == 0) {
		(void)signal(SIGINT, SIG_DFL);
		(void)signal(SIGTERM, SIG_DFL);
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
		become(c, c->output ? output[1] : STDERR_FILENO, report[1]);
	}
	running = pid;
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	*ret_pid = pid;
	return pid < 0 ? -errno : 0;
}

int child_run(const struct child *c)
{
	int output[2] = { -1, -1 };
	int report[2] = { -1, -1 };
	int failure = 0;
	pid_t pid;
	int r = 0;

	if (stopped)
		return -EINTR;
	if (pipe2(report, O_CLOEXEC) < 0 ||
	    (c->output && pipe2(output, O_CLOEXEC) < 0))
		r = -errno;
	if (r == 0)
		r = start(c, output, report, &pid);
	close_end(report, 1);
	close_end(output, 1);
	if (r == 0) {
		while (read(report[0], &failure, sizeof(failure)) < 0 &&
		       errno == EINTR)
			continue;
		if (c->output)
			read_output(output[0], c->output);
		r = wait_for(pid);
		running = 0;
	}
	close_end(report, 0);
	close_end(output, 0);
	if (stopped)
		return -EINTR;
	return failure ? failure : r;
}
