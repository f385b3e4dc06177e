/* A fork bomb with an end: each process makes three more, four levels deep. */
#include "workload.h"

enum { WIDTH = 3, DEPTH = 4 };

static void burst(int depth, unsigned number)
{
	char name[32];
	pid_t pids[WIDTH];

	snprintf(name, sizeof(name), "out-%d-%u", depth, number);
	put(name, "x");
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

void act(void)
{
	unsigned n = 1;

	burst(DEPTH, 0);
	for (int depth = DEPTH; depth >= 0; depth--, n *= WIDTH)
		for (unsigned i = 0; i < n; i++)
			expect("output out-%d-%u", depth, i);
}
