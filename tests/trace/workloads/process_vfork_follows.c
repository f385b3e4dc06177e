/* A child of vfork() takes up what its parent has just opened by direct system
 * calls: both are told in the order in which they happened. */
#include <sched.h>
#include <sys/mman.h>

#include "workload.h"

enum { STACK_SIZE = 256 * 1024 };

void prepare(void)
{
	put("replaced.txt", "hello");
	put("old.txt", "hello");
	/* A program may be busy, so that the open fails: its result counts. */
	CHECK(chmod("replaced.txt", 0755));
	CHECK(chmod("old.txt", 0755));
}

static int open_directly(const char *path, int flags)
{
	return (int)CHECK(syscall(SYS_openat, AT_FDCWD, path, flags));
}

static int read_it(void *unused)
{
	(void)unused;
	take_fd(open_directly("replaced.txt", O_RDONLY));
	_exit(0);
}

static int move_it(void *unused)
{
	(void)unused;
	CHECK(rename("old.txt", "new.txt"));
	_exit(0);
}

/* As vfork() does it, but with a stack of its own, which C needs here. */
static void in_vforked(int (*fn)(void *))
{
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	REQUIRE(stack != MAP_FAILED);
	await(CHECK(clone(fn, stack + STACK_SIZE,
			  CLONE_VM | CLONE_VFORK | SIGCHLD, NULL)),
	      0);
	CHECK(munmap(stack, STACK_SIZE));
}

void act(void)
{
	put_fd(open_directly("replaced.txt", O_WRONLY | O_TRUNC), "new");
	in_vforked(read_it);
	put_fd(open_directly("old.txt", O_RDWR), "new");
	in_vforked(move_it);
	expect("output replaced.txt");
	expect("intermediate replaced.txt");
	expect("input old.txt");
	expect("output new.txt");
}
