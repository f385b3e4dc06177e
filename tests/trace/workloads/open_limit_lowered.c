/* A limit of descriptors that is lower than their number: those above it stay open,
 * and below it there is room. */
#include <sys/resource.h>

#include "workload.h"

enum { LIMIT = 29, HIGH = 40 };

void prepare(void)
{
	put("in.txt", "hello");
}

int helper(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int i = 0; i < 20; i++)
		take("in.txt");
	return 0;
}

static void lower(void)
{
	struct rlimit limit;

	for (int i = 0; i < LIMIT; i++)
		CHECK(dup2(1, HIGH + i));
	CHECK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = LIMIT;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit));
	/* Its loader opens files, too. */
	execl(self, self, "take", NULL);
	fail("execl", __LINE__);
}

void act(void)
{
	in_child(lower);
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
}
