/* rpm_database.c - RPM's packages
 *
 * The database has had three formats, so the program `rpm` is asked, in two calls: which
 * packages own the files, and which files these packages have.  The second makes an index
 * that knows most files of the next run.  A call takes some 50 ms, and at most
 * CALL_MAX_MS, as when the database is locked. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"

extern char **environ;

enum {
	CALL_MAX_MS = 1000,
	PATHS_MAX = 4000, /* more than a command line can have are ignored */
};

/* ---- the program ---- */

static int spawn_rpm(char *const argv[], int out, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int r;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	(void)sigemptyset(&none);
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null",
					       O_RDONLY, 0);
	(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null",
					       O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setpgroup(&attr, 0);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETPGROUP);
	r = posix_spawnp(ret, argv[0], &actions, &attr, argv, environ);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Reads until the end or the deadline. */
static int read_answer(int fd, struct str *out)
{
	int64_t deadline = clock_mono_ns() + CALL_MAX_MS * INT64_C(1000000);

	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		int64_t left = (deadline - clock_mono_ns()) / 1000000;
		ssize_t n;

		if (left <= 0 || poll(&ready, 1, (int)left) == 0)
			return -ETIME;
		if (str_reserve(out, 64 * 1024) < 0)
			return -ENOMEM;
		n = read(fd, out->data + out->len, out->cap - out->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
		if (out->len > PACKAGE_LIST_MAX)
			return -EFBIG;
	}
}

/* Its exit status says only that a file had no owner. */
static int call_rpm(char *const argv[], struct str *out)
{
	CLEANUP(closep) int from = -1;
	int fds[2];
	pid_t pid;
	int r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	from = fds[0];
	r = spawn_rpm(argv, fds[1], &pid);
	(void)close(fds[1]);
	if (r < 0)
		return r;
	r = read_answer(from, out);
	if (r < 0)
		(void)kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

/* ---- the two questions ---- */

struct question {
	char **argv; /* ended by NULL */
	size_t n, cap;
	struct pool pool;
	struct map known; /* words that it has already */
};

static void release_question(struct question *q)
{
	free(q->argv);
	map_release(&q->known);
	pool_release(&q->pool);
}

static void add_word(struct question *q, const char *word, size_t len)
{
	char *copy, **slot;

	if (q->n > PATHS_MAX || map_get(&q->known, word, len))
		return;
	copy = pool_dup(&q->pool, word, len);
	if (!copy || map_set(&q->known, copy, len, copy) < 0)
		return;
	slot = VEC_PUSH(q->argv, q->n, q->cap);
	if (slot)
		*slot = copy;
}

static int ask(struct question *q, struct str *out)
{
	char **slot = VEC_PUSH(q->argv, q->n, q->cap);

	return slot ? call_rpm(q->argv, out) : -ENOMEM;
}

static void start(struct question *q, const char *what, const char *format)
{
	add_word(q, "rpm", 3);
	add_word(q, what, strlen(what));
	add_word(q, "--queryformat", strlen("--queryformat"));
	add_word(q, format, strlen(format));
	add_word(q, "--", 2);
}

/* A name per line; a sentence about a file without owner has blanks. */
static void take_names(struct question *q, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);

		if (n && !memchr(text, ' ', n))
			add_word(q, text, n);
		text += n + 1;
	}
}

struct fields {
	char text[4][512];
};

/* "NAME\tVERSION\tARCH\tPATH"; false: it is not such a line. */
static bool take_fields(const char *line, size_t len, struct fields *f)
{
	const char *end = line + len;

	for (size_t i = 0; i < 4; i++) {
		const char *tab = memchr(line, '\t', (size_t)(end - line));
		size_t n;

		if (!tab && i < 3)
			return false;
		n = (size_t)((i < 3 ? tab : end) - line);
		if (n >= sizeof(f->text[i]))
			return false;
		memcpy(f->text[i], line, n);
		f->text[i][n] = '\0';
		line += n + (i < 3);
	}
	return f->text[0][0] != '\0';
}

void rpm_answer_parse(const char *text, size_t len, struct owner_builder *b)
{
	const char *end = text + len;
	struct fields f, last = { 0 };
	int package = -1;

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);
		const struct owner_package p = { f.text[0], f.text[1],
						 f.text[2], "", false };

		if (take_fields(text, n, &f)) {
			if (package < 0 ||
			    strcmp(f.text[0], last.text[0]) != 0 ||
			    strcmp(f.text[2], last.text[2]) != 0)
				package = owner_builder_package(b, &p);
			last = f;
			owner_builder_path(b, f.text[3], strlen(f.text[3]),
					   package);
		}
		text += n + 1;
	}
}

int rpm_database_ask(const struct owner_index *known, const char *const *paths,
		     size_t n, struct owner_builder *b)
{
	const struct owner_package none = { "", "", "", "", false };
	CLEANUP(release_question) struct question owners = { 0 };
	CLEANUP(release_question) struct question files = { 0 };
	CLEANUP(str_release) struct str answer = STR_INIT;
	int unowned = owner_builder_package(b, &none);
	int r;

	start(&owners, "-qf", "%{NAME}\\n");
	for (size_t i = 0; i < n; i++) {
		add_word(&owners, paths[i], strlen(paths[i]));
		/* Unless the second answer has it. */
		owner_builder_path(b, paths[i], strlen(paths[i]), unowned);
	}
	r = ask(&owners, &answer);
	if (r < 0)
		return r;
	start(&files, "-q",
	      "[%{=NAME}\\t%{=VERSION}-%{=RELEASE}\\t%{=ARCH}\\t%{FILENAMES}\\n]");
	take_names(&files, str_cstr(&answer), answer.len);
	for (size_t i = 0; known && i < owner_index_count(known); i++) {
		struct owner_package p = owner_index_package(known, (int)i);

		if (*p.name)
			add_word(&files, p.name, strlen(p.name));
	}
	str_clear(&answer);
	r = ask(&files, &answer);
	if (r == 0)
		rpm_answer_parse(str_cstr(&answer), answer.len, b);
	return r;
}
