/* credentials_process.c - a program that prints keys
 *
 * `credential_process` is a command line for the shell.  It prints one JSON object, version 1,
 * within a minute.  Its error output goes to ours, so that it can ask for a login. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/private_file.h"
#include "s3/credentials_internal.h"

enum { LIMIT_MS = 60 * 1000, MAX_OUTPUT = 64 << 10 };

extern char **environ;

/* ---- the end ---- */

static void close_output(struct credentials *c)
{
	struct credentials_process *p = &c->process;

	if (p->out_fd.fd < 0)
		return;
	loop_remove(c->loop, &p->out_fd);
	(void)close(p->out_fd.fd);
	p->out_fd.fd = -1;
}

void credentials_process_release(struct credentials *c)
{
	struct credentials_process *p = &c->process;

	close_output(c);
	if (p->pidfd >= 0) {
		loop_remove(c->loop, &p->exit_fd);
		(void)close(p->pidfd);
		p->pidfd = -1;
	}
	if (p->pid > 0) {
		(void)kill(-p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, 0);
		p->pid = 0;
	}
	if (c->loop)
		loop_timer_clear(c->loop, &p->timer);
	private_wipe(&p->out);
	str_release(&p->out);
}

static void take_output(struct credentials *c)
{
	const struct str *out = &c->process.out;
	int r = credentials_json_keys(c, str_cstr(out), out->len, NULL);

	credentials_process_release(c);
	if (r < 0)
		credentials_fail(c, "the program's output is not a JSON object "
				    "with AccessKeyId and SecretAccessKey");
	else
		credentials_provide(c);
}

static void check_end(struct credentials *c)
{
	struct credentials_process *p = &c->process;
	int status = p->status;

	if (!p->has_ended || !p->has_exited)
		return;
	if (status == 0) {
		take_output(c);
		return;
	}
	credentials_process_release(c);
	credentials_fail(c, "the program ended with %s %d",
			 WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) :
					       WEXITSTATUS(status));
}

/* ---- while it runs ---- */

static void on_timeout(struct loop_timer *t)
{
	struct credentials *c = container_of(t, struct credentials,
					     process.timer);

	credentials_process_release(c);
	credentials_fail(c, "the program did not end within %d seconds",
			 LIMIT_MS / 1000);
}

static void on_exit_ready(struct loop_fd *f, uint32_t events)
{
	struct credentials *c = container_of(f, struct credentials,
					     process.exit_fd);
	struct credentials_process *p = &c->process;

	(void)events;
	if (waitpid(p->pid, &p->status, WNOHANG) == 0)
		return;
	p->pid = 0;
	p->has_exited = true;
	loop_remove(c->loop, &p->exit_fd);
	(void)close(p->pidfd);
	p->pidfd = -1;
	check_end(c);
}

static void on_output(struct loop_fd *f, uint32_t events)
{
	struct credentials *c = container_of(f, struct credentials,
					     process.out_fd);
	struct credentials_process *p = &c->process;
	ssize_t n = read(f->fd, p->out.data + p->out.len,
			 MAX_OUTPUT - p->out.len);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && p->out.len + (size_t)n < MAX_OUTPUT) {
		p->out.len += (size_t)n;
		return;
	}
	p->out.data[p->out.len] = '\0';
	p->has_ended = true;
	close_output(c);
	if (n > 0) {
		credentials_process_release(c);
		credentials_fail(c, "the program printed more than %d bytes",
				 MAX_OUTPUT);
		return;
	}
	check_end(c);
}

/* ---- the start ---- */

/* A group of its own, so that a timeout ends what it has started too. */
static int spawn(const char *command, int out, pid_t *ret)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	sigemptyset(&none);
	r = posix_spawnattr_init(&attributes);
	if (r)
		return -r;
	r = posix_spawn_file_actions_init(&actions);
	if (r == 0) {
		(void)posix_spawnattr_setflags(&attributes,
					       POSIX_SPAWN_SETPGROUP |
						       POSIX_SPAWN_SETSIGMASK);
		(void)posix_spawnattr_setsigmask(&attributes, &none);
		r = posix_spawn_file_actions_adddup2(&actions, out,
						     STDOUT_FILENO);
		if (r == 0)
			r = posix_spawn_file_actions_addopen(&actions,
							     STDIN_FILENO,
							     "/dev/null",
							     O_RDONLY, 0);
		if (r == 0)
			r = posix_spawn(ret, "/bin/sh", &actions, &attributes,
					argv, environ);
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	(void)posix_spawnattr_destroy(&attributes);
	return -r;
}

static int watch(struct credentials *c)
{
	struct credentials_process *p = &c->process;
	int r;

	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd < 0)
		return -errno;
	p->exit_fd = (struct loop_fd){ .fd = p->pidfd, .ready = on_exit_ready };
	p->timer.due = on_timeout;
	r = loop_add(c->loop, &p->exit_fd, EPOLLIN);
	if (r == 0)
		r = loop_timer_set(c->loop, &p->timer,
				   loop_now_ms(c->loop) + LIMIT_MS);
	return r;
}

static int start_program(struct credentials *c, const char *command)
{
	struct credentials_process *p = &c->process;
	CLEANUP(closep) int out = -1;
	int fds[2];
	int r;

	p->has_ended = p->has_exited = false;
	if (str_reserve(&p->out, MAX_OUTPUT + 1) < 0)
		return -ENOMEM;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	out = fds[1];
	p->out_fd = (struct loop_fd){ .fd = fds[0], .ready = on_output };
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	r = loop_add(c->loop, &p->out_fd, EPOLLIN);
	if (r < 0) {
		(void)close(fds[0]);
		p->out_fd.fd = -1;
		return r;
	}
	r = spawn(command, out, &p->pid);
	if (r < 0)
		p->pid = 0;
	return r < 0 ? r : watch(c);
}

static void start_process(struct credentials *c)
{
	const char *command = aws_config_find(c->config, AWS_PROFILE,
					      c->plan.profile, NULL,
					      "credential_process");
	int r = start_program(c, command);

	if (r == 0)
		return;
	credentials_process_release(c);
	credentials_fail(c, "the program cannot be started: %s", strerror(-r));
}

const struct credentials_base CREDENTIALS_PROCESS = { "credential_process",
						      start_process };
