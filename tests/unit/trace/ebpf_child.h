/* ebpf_child.h - a process that waits, acts as it is told and is seen or not. */
#ifndef ROAR_TESTS_EBPF_CHILD_H
#define ROAR_TESTS_EBPF_CHILD_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/ebpf/wire.h"

/* Without a look at what the parent has under way: the thread sanitizer would take
 * its threads for forgotten ones of the child's. */
static inline _Noreturn void end_child(void)
{
	(void)syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

/* A child that waits until it is told to go on. */
struct child {
	pid_t pid;
	int gate;
};

static inline struct child start(void (*act)(const char *), const char *arg)
{
	struct child c;
	int fds[2];
	char byte;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		close(fds[1]);
		(void)!read(fds[0], &byte, 1);
		act(arg);
		end_child();
	}
	close(fds[0]);
	c.gate = fds[1];
	return c;
}

static inline void go(struct child *c)
{
	int status;

	assert_int_equal(write(c->gate, "", 1), 1);
	close(c->gate);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What came out of a ring. */
struct seen {
	unsigned n_open;
	unsigned n_fork;
	unsigned n_exit;
	unsigned n_sums;
	char last[256]; /* base name of the last open */
};

static inline void take(void *ctx, const struct wire_record *r)
{
	struct seen *seen = ctx;
	const char *base = (const char *)(r + 1) + r->name_len;

	seen->n_fork += r->kind == WIRE_FORK;
	seen->n_exit += r->kind == WIRE_EXIT;
	seen->n_sums += r->kind == WIRE_SUMS;
	if (r->kind != WIRE_OPEN)
		return;
	seen->n_open++;
	(void)snprintf(seen->last, sizeof(seen->last), "%s", base);
}

static inline void open_it(const char *path)
{
	close(open(path, O_RDONLY));
}

#endif
