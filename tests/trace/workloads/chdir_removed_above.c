/* A child removes the directory that its parent works in.  The parent still reaches
 * others by "..". */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("gone", 0755));
	CHECK(mkdir("beside", 0755));
	put("in.txt", "hello");
	put("old.txt", "hello");
	put("moved.txt", "hello");
}

static void remove_it(void)
{
	CHECK(chdir(".."));
	CHECK(rmdir("gone"));
}

void act(void)
{
	int gone;

	CHECK(chdir("gone"));
	gone = CHECK(open(".", O_PATH | O_CLOEXEC));
	in_child(remove_it);
	take("../in.txt");
	put("../out.txt", "x");
	put("./../beside/out.txt", "x");
	CHECK(unlink("../old.txt"));
	CHECK(rename("../moved.txt", "../beside/../beside/new.txt"));
	CHECK(renameat(gone, "../out.txt", gone, "../made.txt"));
	FAILS(open("../gone/in.txt", O_RDONLY), ENOENT);
	FAILS(open("./in.txt", O_WRONLY | O_CREAT, 0644), ENOENT);
	FAILS(unlink("in.txt"), ENOENT);
	CHECK(chdir(".."));
	expect("input in.txt");
	expect("output beside/out.txt");
	expect("output beside/new.txt");
	expect("output made.txt");
}
