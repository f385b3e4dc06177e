/* pivot_root(), as containers use it: another root with mounts of its own, where the
 * same files have other names.  Files of those names are outside. */
#include "elsewhere.h"

void prepare(void)
{
	CHECK(mkdir("new", 0755));
	CHECK(mkdir("new/d", 0755));
	put("new/d/in.txt", "inside");
	CHECK(mkdir("d", 0755));
	put("d/in.txt", "outside");
#ifdef AS_USER
	as_nobody("new", "new/d", "new/d/in.txt", "d", "d/in.txt", NULL);
#endif
	prepare_elsewhere(CLONE_NEWNS);
}

static void behind(void)
{
	go_elsewhere(CLONE_NEWNS);
	CHECK(mount("new", "new", NULL, MS_BIND, NULL));
	CHECK(chdir("new"));
	CHECK(syscall(SYS_pivot_root, ".", "."));
	CHECK(umount2(".", MNT_DETACH));
	CHECK(chdir("/"));
	take("/d/in.txt");
	take("d/in.txt");
	put("d/out.txt", "x");
	CHECK(rename("/d/out.txt", "/d/new.txt"));
}

void act(void)
{
	in_child(behind);
	put("after.txt", "x");
	expect("output after.txt");
	expect("gap namespace");
}
