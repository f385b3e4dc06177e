/* Copies that the kernel makes: sendfile, copy_file_range, splice. */
#include <sys/sendfile.h>

#include "workload.h"

void prepare(void)
{
	put("a.in", "hello");
	put("b.in", "hello");
	put("c.in", "hello");
}

void act(void)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC;
	int in = CHECK(open("a.in", O_RDONLY));
	int out = CHECK(open("a.out", flags, 0644));
	int pipes[2];

	REQUIRE(sendfile(out, in, NULL, 5) == 5);
	in = CHECK(open("b.in", O_RDONLY));
	out = CHECK(open("b.out", flags, 0644));
	REQUIRE(copy_file_range(in, NULL, out, NULL, 5, 0) == 5);
	CHECK(pipe(pipes));
	in = CHECK(open("c.in", O_RDONLY));
	out = CHECK(open("c.out", flags, 0644));
	REQUIRE(splice(in, NULL, pipes[1], NULL, 5, 0) == 5);
	REQUIRE(splice(pipes[0], NULL, out, NULL, 5, 0) == 5);
	for (char c = 'a'; c <= 'c'; c++) {
		expect("input %c.in", c);
		expect("output %c.out", c);
	}
}
