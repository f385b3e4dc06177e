/* The same process opens files until it may not any more. */
#include <sys/resource.h>

#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	put("refused.txt", "hello");
}

void act(void)
{
	struct rlimit limit = { 3, 3 };

	for (int i = 0; i < 5; i++)
		take("in.txt");
	CHECK(setrlimit(RLIMIT_NOFILE, &limit));
	FAILS(open("refused.txt", O_RDONLY), EMFILE);
	FAILS(open("not-created", O_WRONLY | O_CREAT, 0644), EMFILE);
	expect("input in.txt");
}
