/* What the run wrote and read again is an intermediate, not an input. */
#include "workload.h"

void prepare(void)
{
	put("again.txt", "old");
}

void act(void)
{
	put("mid.txt", "x");
	take("mid.txt");
	take("again.txt");
	put("again.txt", "new");
	take("again.txt");
	expect("output mid.txt");
	expect("intermediate mid.txt");
	expect("input again.txt");
	expect("output again.txt");
	expect("intermediate again.txt");
}
