/* Two hundred generations. */
#include "workload.h"

enum { DEPTH = 200 };

static void descend(int level)
{
	pid_t pid;
	char name[32];

	if (level % 20 == 0) {
		snprintf(name, sizeof(name), "level-%d", level);
		put(name, "x");
	}
	if (level == DEPTH)
		return;
	pid = CHECK(fork());
	if (pid == 0) {
		descend(level + 1);
		_exit(0);
	}
	await(pid, 0);
}

void act(void)
{
	descend(0);
	for (int i = 0; i <= DEPTH; i += 20)
		expect("output level-%d", i);
}
