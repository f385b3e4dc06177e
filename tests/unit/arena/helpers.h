/* helpers.h - arenas and processes for the tests of lib/arena. */
#ifndef ROAR_TESTS_ARENA_HELPERS_H
#define ROAR_TESTS_ARENA_HELPERS_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <roar/arena.h>

#define MS 1000000LL
#define BOTH (ROAR_ARENA_PRODUCER | ROAR_ARENA_CONSUMER)

static inline struct roar_arena *make(struct roar_arena_config config)
{
	struct roar_arena *a = NULL;
	int r = roar_arena_create(&config, &a);

	if (r < 0)
		fail_msg("%s", roar_arena_error());
	return a;
}

static inline struct roar_arena *attach(int fd, unsigned roles, unsigned share)
{
	struct roar_arena *a = NULL;

	if (roar_arena_attach(fd, &a) < 0 ||
	    roar_arena_join(a, roles, share) < 0)
		fail_msg("%s", roar_arena_error());
	return a;
}

/* An arena that this handle fills and empties alone. */
static inline struct roar_arena *make_joined(struct roar_arena_config config)
{
	struct roar_arena *a = make(config);

	if (roar_arena_join(a, BOTH, 0) < 0)
		fail_msg("%s", roar_arena_error());
	return a;
}

/* One unit with one buffer. */
static inline int reserve(struct roar_arena *a, size_t len,
			  long long timeout_ns, struct roar_arena_unit **ret)
{
	struct roar_arena_part part = { .len = len };

	return roar_arena_reserve(a, &part, 1, 0, timeout_ns, ret);
}

static inline void put(struct roar_arena *a, size_t len, int byte, uint64_t tag)
{
	struct roar_arena_unit *u = NULL;

	assert_int_equal(reserve(a, len, 0, &u), 0);
	memset(u->buffers[0].data, byte, len);
	assert_int_equal(roar_arena_commit(u, tag), 0);
}

static inline struct roar_arena_unit *get(struct roar_arena *a)
{
	struct roar_arena_unit *u = NULL;

	if (roar_arena_receive(a, ROAR_ARENA_ANY, 5000 * MS, &u) < 0)
		fail_msg("%s", roar_arena_error());
	return u;
}

static inline void assert_bytes(const struct roar_arena_buffer *b, int byte)
{
	const unsigned char *p = b->data;

	for (size_t i = 0; i < b->len; i++)
		assert_int_equal(p[i], byte);
}

/* A child that runs `body` and ends with what it returns. */
static inline pid_t start(int (*body)(int fd, void *arg), int fd, void *arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* A test that fails leaves nobody behind. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(body(fd, arg));
	}
	return pid;
}

static inline int finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
