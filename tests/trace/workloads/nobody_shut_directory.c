/* A directory above the current one is shut: from inside, files still open. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("x", 0755));
	CHECK(mkdir("x/y", 0755));
	put("x/y/f", "d");
	as_nobody("x", "x/y", NULL);
}

void act(void)
{
	int top = CHECK(open(".", O_PATH | O_DIRECTORY));

	CHECK(chdir("x/y"));
	CHECK(chmod("..", 0));
	take("f");
	put("g", "n");
	CHECK(fchmodat(top, "x", 0755, 0));
	expect_watched("input x/y/f");
	expect_watched("output x/y/g");
	expect("may gap changed"); /* of those who look later */
	expect("may gap unreadable");
}
