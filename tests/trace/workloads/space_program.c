/* Programs in a mount namespace of their own, as `unshare -Urm` starts them. */
#include "elsewhere.h"

void prepare(void)
{
	CHECK(mkdir("d", 0755));
	put("in.txt", "hello");
	put("old.txt", "hello");
#ifdef AS_USER
	as_nobody("d", "in.txt", "old.txt", NULL);
#endif
	prepare_elsewhere(CLONE_NEWNS);
}

static void behind(void)
{
	go_elsewhere(CLONE_NEWNS);
	execl("/bin/sh", "sh", "-c",
	      "cat in.txt > d/cat.txt; echo x >> d/cat.txt; cd d;"
	      "cp ../old.txt copy; : > empty",
	      NULL);
	fail("execl", __LINE__);
}

void act(void)
{
	in_child(behind);
	put("after.txt", "x");
	expect("output after.txt");
	expect("input in.txt");
	expect("output d/cat.txt");
	expect("input old.txt");
	expect("output d/copy");
	expect("output d/empty");
}
