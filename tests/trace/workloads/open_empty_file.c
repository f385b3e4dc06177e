/* An empty stamp file is an output. */
#include "workload.h"

void act(void)
{
	CHECK(close(CHECK(open("done", O_WRONLY | O_CREAT, 0644))));
	expect("output done");
	expect("event open w+create done");
}
