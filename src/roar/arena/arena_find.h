/* arena_find.h - which arenas live processes have.
 *
 * An arena has no name: it is a memfd that is called "roar-arena", and whoever has it
 * shows that in /proc/PID/fd.  The same one in several processes, or in several
 * descriptors of one, is the same inode. */
#ifndef ROAR_ARENA_FIND_H
#define ROAR_ARENA_FIND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One process that has an arena, by the lowest of its descriptors. */
struct arena_holder {
	pid_t pid;
	int fd;
	char program[32]; /* as the kernel calls it; may hold any bytes */
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
	size_t n_shut; /* processes whose descriptors we may not see */
};

/* Looks at all processes.  0, or a negative errno: -ENOMEM, or what /proc says. */
int arena_find_all(struct arena_list *ret);

/* Those that `pid` has, and who else has them.  -ENOENT when it has none, -ESRCH
 * when there is no such process, -EACCES when it is not ours to look at. */
int arena_find_of(pid_t pid, struct arena_list *ret);

void arena_list_release(struct arena_list *list);

/* A descriptor of the arena, for reading.  The processes that have it may be gone by
 * now: then a negative errno. */
int arena_found_open(const struct arena_found *found);

#endif
