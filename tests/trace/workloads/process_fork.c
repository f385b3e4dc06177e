/* fork(): the child's files belong to the run. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

static void child(void)
{
	take("in.txt");
	put("child.txt", "x");
}

void act(void)
{
	in_child(child);
	take("child.txt");
	put("parent.txt", "x");
	expect("input in.txt");
	expect("output child.txt");
	expect("intermediate child.txt");
	expect("output parent.txt");
	expect("event open r in.txt");
	expect("event open w+create child.txt");
	expect("event open r child.txt");
	expect("event open w+create parent.txt");
}
