/* Numbers that are no call of anybody, which some programs try: no gap. */
#include "workload.h"

void act(void)
{
	FAILS(syscall(-1), ENOSYS);
	FAILS(syscall(0x7ffffffe), ENOSYS);
	FAILS(syscall(9999), ENOSYS);
	put("out.txt", "x");
	expect("output out.txt");
}
