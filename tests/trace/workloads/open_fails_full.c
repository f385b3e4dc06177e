/* A process uses up its descriptors, closes some, and goes on. */
#include <sys/resource.h>

#include "workload.h"

enum { LIMIT = 600 };

void prepare(void)
{
	char name[32];

	for (int i = 0; i < LIMIT; i++) {
		snprintf(name, sizeof(name), "in-%d", i);
		put(name, "hello");
	}
}

void act(void)
{
	struct rlimit limit = { LIMIT, LIMIT };
	char name[32];
	int n;

	CHECK(setrlimit(RLIMIT_NOFILE, &limit));
	for (n = 0;; n++) {
		snprintf(name, sizeof(name), "in-%d", n);
		if (open(name, O_RDONLY) < 0)
			break;
		expect("input in-%d", n);
	}
	REQUIRE(errno == EMFILE);
	CHECK(close(LIMIT - 1));
	put("out.txt", "x");
	expect("output out.txt");
}
