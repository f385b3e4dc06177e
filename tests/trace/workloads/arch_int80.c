/* A 64-bit program makes 32-bit calls with int $0x80: other numbers, the same
 * files. */
#include <sys/mman.h>

#include "workload.h"

enum { OPEN_32 = 5, CREAT_32 = 8, UNLINK_32 = 10, GETPID_32 = 20 };

static long call32(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}

/* A copy of `text` that a 32-bit pointer reaches. */
static long low(const char *text)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	REQUIRE(p != MAP_FAILED);
	return (long)strcpy(p, text);
}

static void try(void)
{
	REQUIRE(call32(GETPID_32, 0, 0, 0) == getpid());
}

void prepare(void)
{
	pid_t pid = CHECK(fork());
	int status;

	if (pid == 0) {
		try();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0));
	if (status != 0)
		skip("the kernel has no 32-bit calls");
	put("in.txt", "hello");
}

void act(void)
{
	take_fd((int)call32(OPEN_32, low("in.txt"), O_RDONLY, 0));
	put_fd((int)call32(CREAT_32, low("out.txt"), 0644, 0), "x");
	put_fd((int)call32(CREAT_32, low("gone.txt"), 0644, 0), "x");
	REQUIRE(call32(UNLINK_32, low("gone.txt"), 0, 0) == 0);
	expect("input in.txt");
	expect("output out.txt");
	expect("temporary gone.txt");
}
