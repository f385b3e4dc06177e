/* In a mount namespace of its own where nothing else is mounted, a process opens files
 * in every way. */
#include "elsewhere.h"

void prepare(void)
{
	CHECK(mkdir("d", 0755));
	put("in.txt", "hello");
	put("append.txt", "hello");
	put("replaced.txt", "hello");
	CHECK(symlink("in.txt", "link"));
#ifdef AS_USER
	as_nobody("d", "in.txt", "append.txt", "replaced.txt", NULL);
#endif
	prepare_elsewhere(CLONE_NEWNS);
}

static void behind(void)
{
	go_elsewhere(CLONE_NEWNS);
	take("link");
	put("out.txt", "x");
	put_fd(CHECK(open("excl.txt", O_WRONLY | O_CREAT | O_EXCL, 0644)), "x");
	put_fd(CHECK(open("append.txt", O_WRONLY | O_APPEND)), "x");
	take("replaced.txt");
	put("replaced.txt", "new");
	CHECK(chdir("d"));
	put("../d/below.txt", "x");
	FAILS(open("missing", O_RDONLY), ENOENT);
}

void act(void)
{
	put("before.txt", "x");
	in_child(behind);
	put("after.txt", "x");
	expect("output before.txt");
	expect("output after.txt");
	expect("input in.txt");
	expect("output out.txt");
	expect("output excl.txt");
	expect("output append.txt");
	expect("may input append.txt");
	expect("input replaced.txt");
	expect("output replaced.txt");
	expect("output d/below.txt");
}
