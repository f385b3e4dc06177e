/* system() runs a shell, which opens in its own name. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	REQUIRE(system("cat < in.txt > out.txt") == 0);
	REQUIRE(WEXITSTATUS(system("cat < nothing > empty")) != 0);
	REQUIRE(system(": > stamp; exit 3") == 3 << 8);
	expect("input in.txt");
	expect("output out.txt");
	expect("output stamp");
}
