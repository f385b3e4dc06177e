/* Eight processes create, rename, read and remove twenty names at the same time.  All
 * content is the run's own: a record that calls it an input must have a gap. */
#include "workload.h"

enum { PROCESSES = 8, NAMES = 20, ROUNDS = 100 };

static unsigned below(unsigned *seed, unsigned n)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed / 65536 % n;
}

static void one(unsigned *seed)
{
	char a[8], b[8];
	int fd = -1;

	snprintf(a, sizeof(a), "%u", below(seed, NAMES));
	snprintf(b, sizeof(b), "%u", below(seed, NAMES));
	switch (below(seed, 4)) {
	case 0:
		put_fd(CHECK(open(a, O_WRONLY | O_CREAT, 0644)), "x");
		break;
	case 1:
		(void)rename(a, b);
		break;
	case 2:
		(void)unlink(a);
		break;
	default:
		fd = open(a, O_RDONLY);
		break;
	}
	if (fd >= 0)
		CHECK(close(fd));
}

void act(void)
{
	pid_t pids[PROCESSES];

	for (unsigned i = 0; i < PROCESSES; i++) {
		pids[i] = CHECK(fork());
		for (unsigned n = 0, seed = i + 1; !pids[i] && n < ROUNDS; n++)
			one(&seed);
		if (!pids[i])
			_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++)
		await(pids[i], 0);
	for (int i = 0; i < NAMES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%d", i);
		expect("%s %d",
		       access(name, F_OK) == 0 ? "output" : "may temporary", i);
		expect("may intermediate %d", i);
		expect("doubtful input %d", i);
	}
	expect("may gap changed");
}
