/* arena_find.h - finds the arenas of running processes.
 *
 * An arena is anonymous: a memfd called "roar-arena", which is listed in /proc/PID/fd of
 * each process that has it.  The same arena has the same inode in all processes and
 * descriptors. */
#ifndef ROAR_ARENA_FIND_H
#define ROAR_ARENA_FIND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that has an arena, with the lowest of its descriptors. */
struct arena_holder {
	pid_t pid;
	int fd;
	char program[32]; /* the kernel's name of it; may have any bytes */
};

struct arena_found {
	dev_t device;
	ino_t inode;
	struct arena_holder *holders; /* by pid */
	size_t n_holders;
	size_t cap;
};

struct arena_list {
	struct arena_found *arenas; /* by inode */
	size_t n;
	size_t cap;
	size_t n_shut; /* processes whose descriptors may not be read */
};

/* Searches all processes.  0, -ENOMEM, or an error of reading /proc. */
int arena_find_all(struct arena_list *ret);

/* The arenas of `pid`, with all processes that have them.  -ENOENT: it has none; -ESRCH: no
 * such process; -EACCES: not permitted. */
int arena_find_of(pid_t pid, struct arena_list *ret);

void arena_list_release(struct arena_list *list);

/* Opens the arena for reading.  A negative errno if its processes have ended meanwhile. */
int arena_found_open(const struct arena_found *found);

#endif
