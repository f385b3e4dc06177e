/* Children of processes with a root of their own have it from their first call on,
 * however many there are. */
#include "workload.h"

enum { WIDTH = 3, DEPTH = 4 };

static void burst(int depth, unsigned number)
{
	char name[32];
	pid_t pids[WIDTH];

	snprintf(name, sizeof(name), "/in-%d-%u", depth, number);
	take(name);
	for (unsigned i = 0; depth && i < WIDTH; i++) {
		pids[i] = CHECK(fork());
		if (pids[i] == 0) {
			burst(depth - 1, number * WIDTH + i);
			_exit(0);
		}
	}
	for (unsigned i = 0; depth && i < WIDTH; i++)
		await(pids[i], 0);
}

static void each(void (*fn)(const char *name))
{
	unsigned n = 1;
	char name[64];

	for (int depth = DEPTH; depth >= 0; depth--, n *= WIDTH)
		for (unsigned i = 0; i < n; i++) {
			snprintf(name, sizeof(name), "root/in-%d-%u", depth, i);
			fn(name);
		}
}

static void make(const char *name)
{
	put(name, "hello");
}

static void expect_input(const char *name)
{
	expect("input %s", name);
}

void prepare(void)
{
	if (geteuid() != 0)
		skip("needs root");
	CHECK(mkdir("root", 0755));
	each(make);
}

void act(void)
{
	CHECK(chroot("root"));
	CHECK(chdir("/"));
	burst(DEPTH, 0);
	each(expect_input);
}
