/* workload.c - see workload.h */
#include "workload.h"

#include <limits.h>
#include <stdarg.h>
#include <time.h>

const char *self;

void expect(const char *fmt, ...)
{
	char line[PATH_MAX + 64];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	REQUIRE(len > 0 && len < (int)sizeof(line) - 1);
	line[len++] = '\n';
	REQUIRE(write(STDOUT_FILENO, line, (size_t)len) == len);
}

void expect_watched(const char *fmt, ...)
{
	char fact[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fact, sizeof(fact), fmt, ap);
	va_end(ap);
	expect("only ptrace %s", fact);
	expect("may %s", fact);
}

void fail(const char *what, int line)
{
	dprintf(STDERR_FILENO, "%s:%d: %s: %s\n", self, line, what,
		strerror(errno));
	_exit(99);
}

void skip(const char *reason)
{
	expect("skip %s", reason);
	_exit(77);
}

void put_fd(int fd, const char *text)
{
	size_t len = strlen(text);

	REQUIRE(write(fd, text, len) == (ssize_t)len);
	CHECK(close(fd));
}

void put(const char *path, const char *text)
{
	put_fd(CHECK(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
	       text);
}

void take_fd(int fd)
{
	char buf[4096];
	ssize_t n;

	do
		n = CHECK(read(fd, buf, sizeof(buf)));
	while (n > 0);
	CHECK(close(fd));
}

void take(const char *path)
{
	take_fd(CHECK(open(path, O_RDONLY | O_CLOEXEC)));
}

void copy_program(const char *from, const char *to)
{
	int in = CHECK(open(from, O_RDONLY | O_CLOEXEC));
	int out = CHECK(
		open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
	char buf[65536];
	ssize_t n;

	while ((n = CHECK(read(in, buf, sizeof(buf)))) > 0)
		REQUIRE(write(out, buf, (size_t)n) == n);
	CHECK(close(in));
	CHECK(close(out));
}

void await(pid_t pid, int code)
{
	int status;

	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

void in_child(void (*fn)(void))
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		fn();
		_exit(0);
	}
	await(pid, 0);
}

void sleep_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t) < 0)
		REQUIRE(errno == EINTR);
}

/* Directories are the signals: making them is nobody's output. */
void stranger_waits(void (*fn)(void))
{
	if (CHECK(fork()) != 0)
		return;
	/* The runner waits for the end of our output. */
	CHECK(close(STDOUT_FILENO));
	for (int i = 0; i < 6000 && access(".go", F_OK) < 0; i++)
		sleep_ms(5);
	fn();
	CHECK(mkdir(".gone", 0777));
	_exit(0);
}

void stranger_go(void)
{
	int root = CHECK(open(getenv("TRACE_ROOT"), O_PATH | O_CLOEXEC));

	sleep_ms(20);
	CHECK(mkdirat(root, ".go", 0777));
	for (int i = 0; i < 6000 && faccessat(root, ".gone", F_OK, 0) < 0; i++)
		sleep_ms(5);
	CHECK(faccessat(root, ".gone", F_OK, 0));
	CHECK(close(root));
}

void as_nobody(const char *path, ...)
{
	enum { NOBODY = 65534 };
	va_list ap;

	expect("nobody");
	if (geteuid() != 0)
		return;
	CHECK(chown(".", NOBODY, NOBODY));
	va_start(ap, path);
	for (const char *p = path; p; p = va_arg(ap, const char *))
		CHECK(chown(p, NOBODY, NOBODY));
	va_end(ap);
}

__attribute__((weak)) void prepare(void)
{
}

__attribute__((weak)) int helper(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int main(int argc, char **argv)
{
	static char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	/* A program may run where there is no /proc. */
	self = len > 0 ? path : argv[0];
	if (argc == 2 && strcmp(argv[1], "prepare") == 0)
		prepare();
	else if (argc > 1)
		return helper(argc, argv);
	else
		act();
	return 0;
}
