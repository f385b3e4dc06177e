/* Descriptors are used up by other calls than open(). */
#include "workload.h"

void prepare(void)
{
	put("first", "hello");
	put("input", "hello");
}

void act(void)
{
	int fd = CHECK(open("first", O_RDONLY));

	while (dup(fd) >= 0)
		;
	FAILS(open("input", O_RDONLY), EMFILE);
	FAILS(open("made", O_WRONLY | O_CREAT, 0644), EMFILE);
	expect("input first");
}
