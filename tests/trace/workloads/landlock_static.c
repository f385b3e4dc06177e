/* The same in a static program: who only hears that it wanted to open the file says
 * that it may have been refused. */
#include "workload.h"

static void denied(void);
#define act denied
#include "landlock_denies_open.c"
#undef act

void act(void)
{
	denied();
	expect("only hybrid gap lost");
	/* Taken for what was asked for. */
	expect("may input in.txt");
}
