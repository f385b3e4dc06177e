/* A sandbox as people use it: bubblewrap, with everything at its place. */
#include "elsewhere.h"

void prepare(void)
{
	if (system("bwrap --bind / / true >/dev/null 2>&1") != 0)
		skip("no bubblewrap, or it is not allowed here");
	put("in.txt", "hello");
#ifdef AS_USER
	as_nobody("in.txt", NULL);
#endif
	prepare_elsewhere(CLONE_NEWNS);
}

void act(void)
{
	int status = system("bwrap --ro-bind / / --dev-bind /dev /dev "
			    "--bind \"$PWD\" \"$PWD\" "
			    "sh -c 'cat in.txt > out.txt; echo x > tmp; "
			    "cat tmp >> out.txt; mkdir d; cd d; echo y > z'");

	REQUIRE(status == 0);
	put("after.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
	expect("output tmp");
	expect("intermediate tmp");
	expect("output d/z");
	expect("output after.txt");
}
