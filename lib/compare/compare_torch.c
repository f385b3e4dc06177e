/* compare_torch.c - two files of torch.save(), by torch itself
 *
 * The user's Python runs torch_files.py, which is a part of this program.  Torch loads
 * only weights, so that no code of the files runs.  Without Python or torch the files are
 * compared as bytes. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "compare/compare_internal.h"

#include "torch_files.h"

enum { ANSWER_MAX = 65536, LIMIT_S = 3600, ARGUMENT_SIZE = 64 };

static int spawn(const char *python, char *const argv[], int out, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
						     "/dev/null", O_RDONLY, 0);
	/* Warnings of torch would mix with our report. */
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO,
						     "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawnp(ret, python, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Collects the answer until the pipe is closed. */
static int read_answer(int fd, struct str *out)
{
	int64_t end_ns = clock_mono_ns() + LIMIT_S * INT64_C(1000000000);

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left_ns = end_ns - clock_mono_ns();
		char piece[4096];

		if (left_ns <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(left_ns / 1000000) + 1) <= 0)
			continue;
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return str_error(out);
		if (n > 0 && out->len + (size_t)n > ANSWER_MAX)
			return -EMSGSIZE;
		if (n > 0)
			str_add(out, piece, (size_t)n);
	}
}

/* The child never outlives the call. */
static int run_python(const char *python, char *const argv[], struct str *out)
{
	int ends[2], status;
	pid_t pid = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	int r = spawn(python, argv, ends[1], &pid);

	(void)close(ends[1]);
	if (r == 0) {
		r = read_answer(ends[0], out);
		if (r < 0)
			(void)kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	(void)close(ends[0]);
	return r;
}

static void take_text(const json_t *root, const char *key, char *text,
		      size_t size)
{
	const char *value = json_string_value(json_object_get(root, key));

	(void)snprintf(text, size, "%s", value ? value : "");
}

static double take_number(const json_t *root, const char *key)
{
	double value = json_number_value(json_object_get(root, key));

	return value < 0 ? INFINITY : value;
}

static uint64_t take_count(const json_t *root, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(root, key));
}

static int take_answer(struct comparison *c, const struct str *answer)
{
	CLEANUP(json_decrefp)
	json_t *root = json_loadb(str_cstr(answer), answer->len, 0, NULL);
	struct compare_result *r = c->result;
	char text[COMPARE_PLACE_SIZE];

	if (!json_is_object(root) || json_object_get(root, "why")) {
		take_text(root, "why", text, sizeof(text));
		return error_set(c->why, -ENOTSUP,
				 "%s cannot read them with torch%s%s",
				 c->options->python, text[0] ? ": " : "", text);
	}
	take_text(root, "worst", r->worst, sizeof(r->worst));
	take_text(root, "first", r->first, sizeof(r->first));
	take_text(root, "first_a", r->first_a, sizeof(r->first_a));
	take_text(root, "first_b", r->first_b, sizeof(r->first_b));
	take_text(root, "verdict", text, sizeof(text));
	if (text[0] != '\0')
		r->verdict = COMPARE_UNLIKE;
	r->n_values = take_count(root, "n_values");
	r->n_different = take_count(root, "n_different");
	r->max_abs = take_number(root, "max_abs");
	r->max_rel = take_number(root, "max_rel");
	return 0;
}

int compare_torch(struct comparison *c)
{
	CLEANUP(str_release) struct str answer = STR_INIT;
	char text[4][ARGUMENT_SIZE];
	const char *python = c->options->python;

	if (!python)
		return error_set(c->why, -ENOTSUP, "they need Python");
	/* The files by their descriptors: the names may mean others by now. */
	for (int i = 0; i < 2; i++)
		(void)snprintf(text[i], ARGUMENT_SIZE, "/proc/%d/fd/%d",
			       (int)getpid(), c->file[i].fd);
	(void)snprintf(text[2], ARGUMENT_SIZE, "%.17g", c->options->rtol);
	(void)snprintf(text[3], ARGUMENT_SIZE, "%.17g", c->options->atol);
	char *const argv[] = {
		(char *)python, (char *)"-c", (char *)torch_files_py,
		text[0],	text[1],      text[2],
		text[3],	NULL
	};
	int r = run_python(python, argv, &answer);

	if (r < 0 && r != -ENOMEM)
		return error_set(c->why, -ENOTSUP, "%s cannot be run: %s",
				 python, strerror(-r));
	return r < 0 ? r : take_answer(c, &answer);
}
