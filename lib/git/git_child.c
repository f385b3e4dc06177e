/* git_child.c - see git_child.h
 *
 * One poll loop serves the three streams, the end of the process (a pidfd) and a
 * request to stop.  The end of the process counts, not the end of its output: a daemon
 * that git started may hold the pipe for ever. */
#include "git/git_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/str.h"
#include "git/git_env.h"
#include "git/git_owner.h"

enum {
	ERRORS_MAX_BYTES = 4096,
	TEXT_MAX_BYTES = 64 * 1024,
	PIECE_BYTES = 16 * 1024,
	KILL_WAIT_MS = 1000, /* for a killed process stuck in the kernel */
};

/* Settings under which git does no more than it is asked. */
static const char *const quiet_args[] = {
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
	"-c", "commit.gpgSign=false",	  "-c", "core.splitIndex=false",
};

struct child {
	pid_t pid;
	int pidfd; /* -1 on kernels without pidfds: then the pipes show the end */
	int in, out, err; /* our ends; -1 when closed */
	const struct git_command *command;
	size_t written; /* bytes of input */
	struct str *errors;
	bool exited;
};

static void child_release(struct child *c)
{
	closep(&c->pidfd);
	closep(&c->in);
	closep(&c->out);
	closep(&c->err);
}

static void shut(int *fd)
{
	closep(fd);
	*fd = -1;
}

/* Descriptors 0 to 2 may be closed in a program started so; a pipe end that
 * landed there would be overwritten while the child's own are set up. */
static int lift(int fd)
{
	int lifted;

	if (fd < 0 || fd > 2)
		return fd;
	lifted = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	(void)close(fd);
	return lifted;
}

/* Of both pairs [0] is ours and non-blocking, [1] the child's. */
static int settle_pair(int fds[2])
{
	fds[0] = lift(fds[0]);
	fds[1] = lift(fds[1]);
	if (fds[0] < 0 || fds[1] < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static int make_output(int fds[2])
{
	return pipe2(fds, O_CLOEXEC) < 0 ? -errno : settle_pair(fds);
}

/* A socket rather than a pipe: writing to a dead git raises no SIGPIPE. */
static int make_input(int fds[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	return settle_pair(fds);
}

static size_t fill_args(const struct git_runner *runner,
			const struct git_command *command, const char **args)
{
	size_t n = 0;

	args[n++] = "git";
	args[n++] = "-C";
	args[n++] = runner->root;
	for (size_t i = 0; i < ARRAY_SIZE(quiet_args); i++)
		args[n++] = quiet_args[i];
	for (size_t i = 0; i < GIT_ARGS_MAX && command->args[i]; i++)
		args[n++] = command->args[i];
	args[n] = NULL;
	return n;
}

/* The query's variables and the command's own, as one new array. */
static const char **join_env(const struct git_env *env,
			     const struct git_command *command)
{
	const char **vars = calloc(env->n_vars + GIT_ARGS_MAX + 1,
				   sizeof(*vars));
	size_t n = env->n_vars;

	if (!vars)
		return NULL;
	memcpy(vars, env->vars, n * sizeof(*vars));
	for (size_t i = 0; i < GIT_ARGS_MAX && command->env[i]; i++)
		vars[n++] = command->env[i];
	return vars;
}

static int set_streams(posix_spawn_file_actions_t *actions, const int fds[3])
{
	int r = 0;

	if (fds[0] < 0)
		r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null",
						     O_RDONLY, 0);
	for (int i = fds[0] < 0 ? 1 : 0; i < 3 && r == 0; i++)
		r = posix_spawn_file_actions_adddup2(actions, fds[i], i);
	return -r;
}

/* Our thread blocks all signals and roar may ignore some; git gets a plain
 * set of both. */
static int set_attributes(posix_spawnattr_t *attr)
{
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
		      POSIX_SPAWN_SETPGROUP;
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setsigmask(attr, &none);
	(void)posix_spawnattr_setsigdefault(attr, &all);
	(void)posix_spawnattr_setpgroup(attr, 0);
	return -posix_spawnattr_setflags(attr, flags);
}

/* What a new git is. */
struct image {
	const char *file;
	char *const *args;
	char *const *vars;
	const int *fds; /* its 0 to 2; -1 for /dev/null */
};

static int spawn(const struct image *image, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	r = set_streams(&actions, image->fds);
	if (r == 0)
		r = set_attributes(&attr);
	if (r == 0)
		r = -posix_spawn(ret_pid, image->file, &actions, &attr,
				 image->args, image->vars);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* The child of fork_as(), which never returns. */
static void become_git(const struct image *image, const struct git_owner *owner)
{
	static const char refused[] = "git cannot be run as the owner of the "
				      "repository\n";
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	int in = image->fds[0];
	sigset_t none;

	(void)setpgid(0, 0);
	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &plain, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (in < 0)
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (dup2(in, 0) >= 0 && dup2(image->fds[1], 1) >= 0 &&
	    dup2(image->fds[2], 2) >= 0) {
		if (git_owner_become(owner) == 0)
			(void)execve(image->file, image->args, image->vars);
		else
			(void)!write(2, refused, sizeof(refused) - 1);
	}
	_exit(127);
}

/* The same as spawn(), in the owner's name.  posix_spawn() cannot do that; and a
 * child that shares our memory must not be another user's. */
static int fork_as(const struct image *image, const struct git_owner *owner,
		   pid_t *ret_pid)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_git(image, owner);
	*ret_pid = pid;
	return 0;
}

static int run_image(const struct git_runner *runner,
		     const struct git_command *command, const int fds[3],
		     pid_t *ret_pid)
{
	const char *args[GIT_ARGS_MAX + 16];
	CLEANUP(freep) const char **vars = join_env(runner->env, command);
	CLEANUP(freep) char *git = git_env_find_program(runner->env, "git");
	const struct image image = { git, (char *const *)args,
				     (char *const *)vars, fds };

	if (!vars)
		return -ENOMEM;
	if (!git)
		return -ENOPKG;
	(void)fill_args(runner, command, args);
	return runner->owner ? fork_as(&image, runner->owner, ret_pid) :
			       spawn(&image, ret_pid);
}

/* Makes the streams and starts git; our ends are then in `c`. */
static int start(const struct git_runner *runner, struct child *c)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int r = 0;

	if (c->command->input)
		r = make_input(in);
	if (r == 0)
		r = make_output(out);
	if (r == 0)
		r = make_output(err);
	if (r == 0)
		r = run_image(runner, c->command,
			      (int[3]){ in[1], out[1], err[1] }, &c->pid);
	shut(&in[1]);
	shut(&out[1]);
	shut(&err[1]);
	c->in = in[0];
	c->out = out[0];
	c->err = err[0];
	if (r == 0)
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return r;
}

/* Reads what is there and hands it on; closes the stream at its end. */
static int read_stream(struct child *c, int *fd)
{
	char piece[PIECE_BYTES];

	while (*fd >= 0) {
		ssize_t n = read(*fd, piece, sizeof(piece));
		int r = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			shut(fd);
			return 0;
		}
		if (fd == &c->out && c->command->take)
			r = c->command->take(c->command->ctx, piece, (size_t)n);
		if (fd == &c->err && c->errors &&
		    c->errors->len < ERRORS_MAX_BYTES)
			str_add(c->errors, piece, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

static void write_input(struct child *c)
{
	const struct git_command *command = c->command;

	while (c->in >= 0 && c->written < command->input_len) {
		ssize_t n = send(c->in, command->input + c->written,
				 command->input_len - c->written, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break; /* git has ended; its exit status has the reason */
		c->written += (size_t)n;
	}
	shut(&c->in);
}

static int left_ms(const struct git_runner *runner)
{
	int64_t left;

	if (!runner->deadline_ns)
		return -1;
	left = runner->deadline_ns - clock_mono_ns();
	if (left <= 0)
		return 0;
	return left > 3600 * INT64_C(1000000000) ? 3600000 :
						   (int)(left / 1000000) + 1;
}

/* Waits for an event.  1 when git has ended, 0 to continue. */
static int serve(const struct git_runner *runner, struct child *c)
{
	struct pollfd fds[] = {
		{ .fd = c->out, .events = POLLIN },
		{ .fd = c->err, .events = POLLIN },
		{ .fd = c->in, .events = POLLOUT },
		{ .fd = c->pidfd, .events = POLLIN },
		{ .fd = runner->cancel_fd, .events = POLLIN },
	};
	int n, r;

	n = poll(fds, ARRAY_SIZE(fds), left_ms(runner));
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ETIMEDOUT;
	if (fds[4].revents)
		return -ECANCELED;
	if (fds[2].revents)
		write_input(c);
	r = read_stream(c, &c->out);
	if (r == 0)
		r = read_stream(c, &c->err);
	if (r < 0)
		return r;
	if (fds[3].revents)
		return 1;
	return c->pidfd < 0 && c->out < 0 && c->err < 0;
}

/* Collects the exit status of a process that has ended or is about to. */
static int reap(struct child *c, int wait_ms)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(c->pid, &status, WNOHANG);

		if (pid < 0 && errno != EINTR)
			return -errno;
		if (pid > 0) {
			c->exited = true;
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
						     WEXITSTATUS(status);
		}
		if (wait_ms-- <= 0)
			return -ETIMEDOUT;
		(void)poll(NULL, 0, 1);
	}
}

static int finish(const struct git_runner *runner, struct child *c, int r)
{
	if (r == 1) {
		/* What it wrote last may have come after the last read. */
		r = read_stream(c, &c->out);
		if (r == 0)
			r = read_stream(c, &c->err);
		if (r == 0)
			r = reap(c, runner->deadline_ns ? left_ms(runner) :
							  3600000);
		if (c->exited)
			return r;
	}
	if (r != -ECHILD) {
		(void)kill(-c->pid, SIGKILL);
		(void)kill(c->pid, SIGKILL);
		(void)reap(c, KILL_WAIT_MS);
	}
	return r;
}

int git_run(const struct git_runner *runner, const struct git_command *command,
	    struct str *errors)
{
	CLEANUP(child_release)
	struct child c = { .pidfd = -1,
			   .in = -1,
			   .out = -1,
			   .err = -1,
			   .command = command,
			   .errors = errors };
	int r;

	r = start(runner, &c);
	if (r < 0)
		return r;
	do {
		r = serve(runner, &c);
	} while (r == 0);
	return finish(runner, &c, r);
}

int git_take_text(void *ctx, const char *data, size_t len)
{
	struct str *text = ctx;

	if (len > TEXT_MAX_BYTES - text->len)
		return -EFBIG;
	str_add(text, data, len);
	return str_error(text);
}
