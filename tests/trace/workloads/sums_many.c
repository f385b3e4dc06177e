/* More files are open than the kernel side has places for, and are read in turns. */
#include "sums.h"

enum { N_FILES = 150, N_TURNS = 5 };

static const char *name_of(int i)
{
	static char name[16];

	(void)snprintf(name, sizeof(name), "f%d", i);
	return name;
}

void prepare(void)
{
	for (int i = 0; i < N_FILES; i++)
		make_file(name_of(i), 1000);
}

void act(void)
{
	int fds[N_FILES];

	for (int i = 0; i < N_FILES; i++)
		fds[i] = CHECK(open(name_of(i), O_RDONLY));
	for (int turn = 0; turn < N_TURNS; turn++)
		for (int i = 0; i < N_FILES; i++)
			get_bytes(fds[i], (size_t)i + 1);
	for (int i = 0; i < N_FILES; i++) {
		expect("input %s", name_of(i));
		expect_bytes("input", N_TURNS * (i + 1), 0, name_of(i));
	}
}
