/* proxy_process.c - see proxy_process.h */
#include "proxy/proxy_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/install_path.h"
#include "base/str.h"

enum {
	READY_MS = 10 * 1000,
	ERRORS_MAX = 64 * 1024, /* bytes of errors that are kept */
	ARGS_MAX = 32,
	READY_FD = 3, /* in the proxy */
	END_FD = 4,
};

/* ---- the command line ---- */

static int find_program(char path[PATH_MAX], struct roar_error *err)
{
	static const char *const places[] = {
		"roar-proxy",
		"../roar-proxy/roar-proxy", /* as built */
		NULL,
	};

	if (install_path_find(places, ROAR_PREFIX "/bin/roar-proxy", X_OK, path,
			      PATH_MAX) == 0)
		return 0;
	return error_set(err, -ENOENT,
			 "the program roar-proxy is not installed beside roar");
}

static void add_option(char **argv, size_t *n, const char *name,
		       const char *value)
{
	if (!value)
		return;
	argv[(*n)++] = (char *)name;
	argv[(*n)++] = (char *)value;
}

static void fill_arguments(const struct proxy_options *o, char **argv)
{
	size_t n = 0;

	argv[n++] = "roar-proxy";
	add_option(argv, &n, "--listen", o->listen ? o->listen : "127.0.0.1:0");
	add_option(argv, &n, "--upstream", o->upstream);
	add_option(argv, &n, "--region", o->region);
	add_option(argv, &n, "--profile", o->profile);
	add_option(argv, &n, "--log", o->log);
	add_option(argv, &n, "--control", o->control);
	add_option(argv, &n, "--digests", o->sha256 ? "blake3,sha256" : NULL);
	add_option(argv, &n, "--ready-fd", "3");
	if (!o->daemon)
		add_option(argv, &n, "--end-fd", "4");
	if (o->no_hash)
		argv[n++] = "--no-hash";
	argv[n] = NULL;
}

/* ---- in the child ---- */

/* Puts `fd` where the proxy expects it; the others must not be there. */
static bool place_fd(int fd, int at)
{
	return dup2(fd, at) == at;
}

/* Descriptors above those that the proxy gets. */
static int lift_fd(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, END_FD + 1);
}

static _Noreturn void be_proxy(const char *path, char *const *argv,
			       const struct proxy_options *o, int ready,
			       int end, int errors)
{
	int null = lift_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
	sigset_t none;

	ready = lift_fd(ready);
	errors = lift_fd(errors);
	end = end < 0 ? -1 : lift_fd(end);
	(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGTERM, SIG_DFL);
	/* First: the descriptor of the directory may be in the way. */
	if ((o->dirfd < 0 || fchdir(o->dirfd) == 0) &&
	    place_fd(null, STDIN_FILENO) && place_fd(null, STDOUT_FILENO) &&
	    place_fd(errors, STDERR_FILENO) && place_fd(ready, READY_FD) &&
	    (end < 0 || place_fd(end, END_FD)) &&
	    close_range(end < 0 ? END_FD : END_FD + 1, ~0U, 0) == 0)
		(void)execve(path, argv, o->envp);
	(void)dprintf(STDERR_FILENO, "it cannot be executed: %s\n",
		      strerror(errno));
	_exit(127);
}

/* ---- waiting for it ---- */

/* A line of at most PROXY_URL_MAX bytes; -EPIPE when it ends without one. */
static int read_line(int fd, char line[PROXY_URL_MAX], int timeout_ms)
{
	int64_t end_ns = clock_mono_ns() + (int64_t)timeout_ms * 1000000;
	size_t len = 0;

	while (len < PROXY_URL_MAX - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left_ms = (end_ns - clock_mono_ns()) / 1000000;
		ssize_t n;

		if (left_ms <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)left_ms) <= 0)
			continue;
		n = read(fd, line + len, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return 0;
}

/* "ready URL", of several addresses the first. */
static int parse_ready(char *line, char ret_url[PROXY_URL_MAX])
{
	static const char word[] = "ready ";
	char *url = line + strlen(word);

	if (strncmp(line, word, strlen(word)) != 0 ||
	    (strncmp(url, "http", 4) != 0 && strncmp(url, "unix:", 5) != 0))
		return -EBADMSG;
	url[strcspn(url, " \t\r")] = '\0';
	memcpy(ret_url, url, strlen(url) + 1);
	return 0;
}

/* The first line that the proxy wrote to its standard error. */
static void read_reason(int errors_fd, struct str *out)
{
	char text[512];
	ssize_t n = errors_fd < 0 ? -1 :
				    pread(errors_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	str_adds(out,
		 strncmp(text, "roar-proxy: ", 12) == 0 ? text + 12 : text);
}

static int explain(int r, int errors_fd, struct roar_error *err)
{
	CLEANUP(str_release) struct str reason = STR_INIT;

	read_reason(errors_fd, &reason);
	if (!reason.len)
		str_adds(&reason, r == -ETIMEDOUT ?
					  "it did not start to listen in time" :
					  "it ended before it listened");
	return error_set(err, r, "roar-proxy: %s", str_cstr(&reason));
}

/* ---- life cycle ---- */

/* Memory that the proxy can fill but not extend. */
static int make_errors(void)
{
	CLEANUP(closep)
	int fd = memfd_create("roar-proxy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, ERRORS_MAX) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return -errno;
	return TAKE_FD(fd);
}

struct pipes {
	int ready[2];
	int end[2];
};

static void close_pipes(struct pipes *p)
{
	closep(&p->ready[0]);
	closep(&p->ready[1]);
	closep(&p->end[0]);
	closep(&p->end[1]);
}

static int launch(const char *path, const struct proxy_options *o,
		  struct pipes *pipes, struct proxy_process *p)
{
	int errors = o->errors_fd >= 0 ? o->errors_fd : p->errors_fd;
	char *argv[ARGS_MAX];

	fill_arguments(o, argv);
	p->pid = fork();
	if (p->pid < 0)
		return -errno;
	if (p->pid == 0)
		be_proxy(path, argv, o, pipes->ready[1], pipes->end[0], errors);
	p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pid_fd < 0) {
		int r = -errno;

		(void)kill(p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, 0);
		return r;
	}
	/* Its end must be the last. */
	closep(&pipes->ready[1]);
	pipes->ready[1] = -1;
	p->end_fd = TAKE_FD(pipes->end[1]);
	return 0;
}

int proxy_process_start(const struct proxy_options *o,
			struct proxy_process *ret, struct roar_error *err)
{
	CLEANUP(proxy_process_release)
	struct proxy_process p = PROXY_PROCESS_INIT;
	CLEANUP(close_pipes)
	struct pipes pipes = { { -1, -1 }, { -1, -1 } };
	char line[PROXY_URL_MAX];
	char path[PATH_MAX];
	int r = find_program(path, err);

	if (r < 0)
		return r;
	if (pipe2(pipes.ready, O_CLOEXEC) < 0 ||
	    (!o->daemon && pipe2(pipes.end, O_CLOEXEC) < 0))
		return error_set(err, -errno, "roar-proxy: %s",
				 strerror(errno));
	if (o->errors_fd < 0)
		p.errors_fd = make_errors();
	r = o->errors_fd < 0 && p.errors_fd < 0 ? p.errors_fd :
						  launch(path, o, &pipes, &p);
	if (r < 0)
		return error_set(err, r, "roar-proxy: %s", strerror(-r));
	r = read_line(pipes.ready[0], line, READY_MS);
	if (r == 0)
		r = parse_ready(line, p.endpoint);
	if (r < 0)
		return explain(
			r, o->errors_fd >= 0 ? o->errors_fd : p.errors_fd, err);
	*ret = p;
	p = PROXY_PROCESS_INIT;
	return 0;
}

int proxy_process_end(int pid_fd, int timeout_ms)
{
	struct pollfd p = { .fd = pid_fd, .events = POLLIN };
	int64_t end_ns = clock_mono_ns() + (int64_t)timeout_ms * 1000000;
	int n = 0;

	if (syscall(SYS_pidfd_send_signal, pid_fd, SIGTERM, NULL, 0) < 0)
		return errno == ESRCH ? 0 : -errno;
	while (n <= 0) {
		int64_t left_ms = (end_ns - clock_mono_ns()) / 1000000;

		if (left_ms <= 0)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)left_ms);
		if (n < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

void proxy_process_release(struct proxy_process *p)
{
	if (p->pid_fd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, p->pid_fd, SIGKILL, NULL,
			      0);
		/* Only its parent can do that. */
		(void)waitpid(p->pid, NULL, 0);
	}
	closep(&p->pid_fd);
	closep(&p->end_fd);
	closep(&p->errors_fd);
	*p = PROXY_PROCESS_INIT;
}
