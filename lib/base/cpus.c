/* cpus.c - see cpus.h */
#include "base/cpus.h"

#include <sched.h>
#include <unistd.h>

unsigned cpus_allowed(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	/* Refused on machines with more CPUs than a set has places. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned)n;
}
