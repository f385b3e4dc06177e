/* Two thousand short processes, eight at a time. */
#include "workload.h"

enum { N_PROCESSES = 2000, N_AT_ONCE = 8 };

static void one(int i)
{
	char name[32];

	if (i % 100 == 0) {
		snprintf(name, sizeof(name), "out-%d", i);
		put(name, "x");
	}
	if (i % 7 == 0)
		take("in.txt");
	_exit(i % 3);
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	int status, sum = 0;

	for (int i = 0; i < N_PROCESSES; i++) {
		if (CHECK(fork()) == 0)
			one(i);
		if (i < N_AT_ONCE)
			continue;
		CHECK(wait(&status));
		sum += WEXITSTATUS(status);
	}
	while (wait(&status) > 0)
		sum += WEXITSTATUS(status);
	expect("state sum of exit codes %d", sum);
	expect("input in.txt");
	for (int i = 0; i < N_PROCESSES; i += 100)
		expect("output out-%d", i);
}
