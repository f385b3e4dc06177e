/* O_NOFOLLOW refuses a link as the last part and nowhere else. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("dir", 0755));
	put("dir/in.txt", "hello");
	CHECK(symlink("dir", "dirlink"));
	CHECK(symlink("dir/in.txt", "link"));
}

void act(void)
{
	FAILS(open("link", O_RDONLY | O_NOFOLLOW), ELOOP);
	take_fd(CHECK(open("dirlink/in.txt", O_RDONLY | O_NOFOLLOW)));
	CHECK(close(CHECK(open("link", O_PATH | O_NOFOLLOW))));
	expect("input dir/in.txt");
	expect("event open r dir/in.txt");
}
