/* sleeping_clock.c - loaded into the program under test: while the file SLEPT exists, its machine
 * has slept for an hour, which only the clock that goes on meanwhile (CLOCK_BOOTTIME) shows. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { HOUR_S = 3600 };

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
							 struct timespec *ret)
{
	int (*real)(clockid_t, struct timespec *) = (int (*)(
		clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	const char *sign = getenv("SLEPT");
	int r = real(clock, ret);

	if (clock == CLOCK_BOOTTIME && sign && access(sign, F_OK) == 0)
		ret->tv_sec += HOUR_S;
	return r;
}
