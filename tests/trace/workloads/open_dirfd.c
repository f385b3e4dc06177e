/* openat() from a directory descriptor; the directory itself is no file. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("sub/in.txt", "hello");
}

void act(void)
{
	int dir = CHECK(open("sub", O_RDONLY | O_DIRECTORY));

	take_fd(CHECK(openat(dir, "in.txt", O_RDONLY)));
	put_fd(CHECK(openat(dir, "out.txt", O_WRONLY | O_CREAT, 0644)), "x");
	put_fd(CHECK(openat(dir, "../up.txt", O_WRONLY | O_CREAT, 0644)), "x");
	expect("input sub/in.txt");
	expect("output sub/out.txt");
	expect("output up.txt");
	expect("event open r sub/in.txt");
	expect("event open w+create sub/out.txt");
	expect("event open w+create up.txt");
}
