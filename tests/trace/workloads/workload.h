/* workload.h - what the tracer workloads share.
 *
 * A workload is one small program with one idea.  It is called twice, in a
 * fresh directory:
 *
 *	NAME prepare	prepare() puts files there; nobody watches
 *	NAME		act() does it, under a tracer and, in another fresh
 *			directory, without one
 *
 * and prints on stdout what a tracer must have seen.  The words are those of
 * trace_dump; `event` before a line makes it part of the exact sequence of file
 * events, all other lines are a set: a missing and an extra line both fail.
 *
 *	input NAME		output, intermediate, temporary, touched,
 *				special NAME, gap WORD
 *	event open r NAME	in order, immediate repetitions apart
 *	bytes ROLE R W NAME	what was read and written; in workloads called
 *				sums_*, and by backends that count
 *	may LINE		a line that may be there or not
 *	doubtful LINE		one that may be there where a gap is, too
 *	only TRACER LINE	a line for one backend, or for all but one: where
 *	except TRACER LINE	one sees what is a gap to the others (LINE may
 *				begin with `may` behind `only`)
 *	state TEXT		must be the same with and without a tracer
 *	status exit N		how the command ends, unless it is exit 0
 *
 * prepare() can also print instructions to the runner:
 *
 *	redirect FD NAME	open descriptor FD (0 reads; 1, 2 truncate; 7
 *				reads and writes) for the command
 *	nobody			the command is to run without rights, when the
 *				runner has some
 *	skip REASON		then exit 77: the kernel lacks the feature
 *
 * Names are relative to the directory.  With any other argument the program is
 * a helper process of itself: helper() runs. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* The workload's part; prepare() and helper() may be missing. */
void prepare(void);
void act(void);
int helper(int argc, char **argv);

/* This program, by its full name. */
extern const char *self;

/* Prints one expected line, with no buffer that a fork could copy. */
void expect(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A fact that takes stopping threads before and after a call; backends that do not
 * may miss it. */
void expect_watched(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program: the workload itself is broken. */
void fail(const char *what, int line) __attribute__((noreturn));

/* Ends the program with the runner's sign for "not possible here". */
void skip(const char *reason) __attribute__((noreturn));

/* The value of a call that must succeed. */
#define CHECK(call)                               \
	({                                        \
		__typeof__(call) value_ = (call); \
		if ((long)value_ == -1)           \
			fail(#call, __LINE__);    \
		value_;                           \
	})

/* A call that must fail with that error. */
#define FAILS(call, error)                                  \
	do {                                                \
		errno = 0;                                  \
		if ((long)(call) != -1 || errno != (error)) \
			fail(#call, __LINE__);              \
	} while (0)

/* A condition that must hold. */
#define REQUIRE(condition)                          \
	do {                                        \
		if (!(condition))                   \
			fail(#condition, __LINE__); \
	} while (0)

/* Whole files, each with one open. */
void put(const char *path, const char *text); /* create or replace */
void take(const char *path); /* read all of it */
void put_fd(int fd, const char *text); /* writes and closes */
void take_fd(int fd); /* reads all and closes */

/* Copies a file with its mode (for programs placed in the directory). */
void copy_program(const char *from, const char *to);

/* Runs `fn` in a forked child and waits until it has ended with status 0. */
void in_child(void (*fn)(void));

/* Waits for `pid`, which must exit with `code`. */
void await(pid_t pid, int code);

void sleep_ms(int ms);

/* In prepare(): what this does when the command calls stranger_go(), a process
 * does that is not part of the run. */
void stranger_waits(void (*fn)(void));
void stranger_go(void);

/* In prepare(): the command runs as a user without rights, who owns these files
 * and the directory. */
void as_nobody(const char *path, ...) __attribute__((sentinel));

#endif
