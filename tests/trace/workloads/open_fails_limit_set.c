/* A process that has many descriptors left gets another limit from its parent. */
#include <sys/resource.h>

#include "workload.h"

void prepare(void)
{
	put("first", "hello");
	put("input", "hello");
}

/* Says that it has opened one file, and opens another when it may. */
static void opens(int says, int hears)
{
	char word = 0;

	CHECK(open("first", O_RDONLY));
	REQUIRE(write(says, &word, 1) == 1);
	REQUIRE(read(hears, &word, 1) == 1);
	FAILS(open("input", O_RDONLY), EMFILE);
	FAILS(open("made", O_WRONLY | O_CREAT, 0644), EMFILE);
}

void act(void)
{
	struct rlimit limit = { 3, 3 };
	int up[2], down[2];
	char word = 0;
	pid_t pid;

	CHECK(pipe(up));
	CHECK(pipe(down));
	pid = CHECK(fork());
	if (pid == 0) {
		opens(up[1], down[0]);
		_exit(0);
	}
	REQUIRE(read(up[0], &word, 1) == 1);
	CHECK(prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
	REQUIRE(write(down[1], &word, 1) == 1);
	await(pid, 0);
	expect("input first");
}
