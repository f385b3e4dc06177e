/* In a mount namespace of its own where nothing else is mounted, a process gives, moves
 * and takes names. */
#include "elsewhere.h"

void prepare(void)
{
	CHECK(mkdir("d", 0755));
	put("cut.txt", "hello");
	put("old.txt", "hello");
	put("doomed.txt", "hello");
#ifdef AS_USER
	as_nobody("d", "cut.txt", "old.txt", "doomed.txt", NULL);
#endif
	prepare_elsewhere(CLONE_NEWNS);
}

static void behind(void)
{
	go_elsewhere(CLONE_NEWNS);
	CHECK(truncate("cut.txt", 1));
	CHECK(rename("old.txt", "new.txt"));
	CHECK(unlink("doomed.txt"));
	put("tmp", "x");
	CHECK(unlink("tmp"));
	put("out.txt", "x");
	CHECK(link("out.txt", "d/linked.txt"));
	CHECK(symlink("out.txt", "link"));
	FAILS(rename("missing", "found"), ENOENT);
	FAILS(unlink("missing"), ENOENT);
}

void act(void)
{
	in_child(behind);
	put("after.txt", "x");
	expect("output after.txt");
	expect("output cut.txt");
	expect("output new.txt");
	expect("temporary tmp");
	expect("output out.txt");
	expect("output d/linked.txt");
	expect("output link");
}
