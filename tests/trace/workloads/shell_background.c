/* Jobs in the background, a loop and a subshell with its own directory. */
#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("sub", 0755));
	put("sub/in", "hello\n");
}

void act(void)
{
	REQUIRE(system("for i in 1 2 3 4 5; do cat sub/in > out-$i & done; "
		       "wait; (cd sub; cat in | tr a-z A-Z > upper) & "
		       "wait; cat out-1 > last") == 0);
	expect("input sub/in");
	for (int i = 1; i <= 5; i++)
		expect("output out-%d", i);
	expect("intermediate out-1");
	expect("output sub/upper");
	expect("output last");
}
