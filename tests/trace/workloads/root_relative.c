/* Below another root, names start at the current directory or at a descriptor, and
 * files of the same names are outside. */
#include "elsewhere.h"

static int before; /* a directory outside, opened before */

void prepare(void)
{
	CHECK(mkdir("in", 0755));
	CHECK(mkdir("j", 0755));
	CHECK(mkdir("j/in", 0755));
	CHECK(mkdir("j/in/deep", 0755));
	put("in/a", "outside");
	put("in/b", "outside");
	put("b", "outside");
	put("out.txt", "outside");
	put("j/in/a", "inside");
	put("j/in/b", "inside");
	put("j/in/c", "inside");
	put("j/in/d", "inside");
	put("j/in/e", "inside");
	put("j/in/deep/f", "inside");
	CHECK(symlink("/in/c", "j/in/link"));
	CHECK(symlink("../../../in/d", "j/in/deep/up"));
	CHECK(symlink("/in/e", "leads-in"));
#ifdef AS_USER
	as_nobody("in", "j", "j/in", "j/in/deep", "in/a", "in/b", "b",
		  "out.txt", "j/in/a", "j/in/b", "j/in/c", "j/in/d", "j/in/e",
		  "j/in/deep/f", NULL);
#endif
	prepare_elsewhere(0);
}

static void at_its_root(void)
{
	go_elsewhere(0);
	CHECK(chdir("j"));
	CHECK(chroot("."));
	take("in/a");
	take("in/link");
	take("in/deep/../../../../in/deep/up");
	put("in/w", "x");
	put("in/gone", "x");
	CHECK(unlink("in/gone"));
	put("in/old", "x");
	CHECK(rename("in/old", "in/new"));
	CHECK(link("in/new", "in/linked"));
	put_fd(CHECK(open("in/a", O_WRONLY | O_APPEND)), "more");
	FAILS(open("out.txt", O_RDONLY), ENOENT);
	FAILS(open("in/missing", O_RDONLY), ENOENT);
}

static void below_its_root(void)
{
	int dir;

	go_elsewhere(0);
	CHECK(chroot("j"));
	CHECK(chdir("/in"));
	take("b");
	put("../top", "x");
	dir = CHECK(open("deep", O_PATH | O_DIRECTORY));
	take_fd(CHECK(openat(dir, "f", O_RDONLY)));
	put_fd(CHECK(openat(dir, "../by-dir", O_WRONLY | O_CREAT, 0644)), "x");
}

static void outside_its_root(void)
{
	go_elsewhere(0);
	CHECK(chroot("j"));
	take("out.txt");
	take("leads-in");
	put_fd(CHECK(openat(before, "made", O_WRONLY | O_CREAT, 0644)), "x");
}

void act(void)
{
	before = CHECK(open("in", O_PATH | O_DIRECTORY));
	in_child(at_its_root);
	in_child(below_its_root);
	in_child(outside_its_root);
	put("after", "x");
	expect("input j/in/a");
	expect("output j/in/a");
	expect("input j/in/c");
	expect("input j/in/d");
	expect("output j/in/w");
	expect("temporary j/in/gone");
	expect("output j/in/new");
	expect("output j/in/linked");
	expect("input j/in/b");
	expect("output j/top");
	expect("input j/in/deep/f");
	expect("output j/in/by-dir");
	expect("input out.txt");
	expect("input j/in/e");
	expect("output in/made");
	expect("output after");
}
