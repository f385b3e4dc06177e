/* A process hides its memory, as key agents do.  Root's tracer still reads it;
 * an ordinary user's cannot, and says so. */
#include <sys/prctl.h>

#include "workload.h"

void act(void)
{
	put("before.txt", "x");
	CHECK(prctl(PR_SET_DUMPABLE, 0));
	put("hidden.txt", "x");
	expect("output before.txt");
	if (geteuid() == 0) {
		expect("output hidden.txt");
	} else {
		expect("may output hidden.txt");
		expect("may gap path");
	}
}
