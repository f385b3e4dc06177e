/* mknod() can make a plain file, too. */
#include "workload.h"

void act(void)
{
	CHECK(mknod("made", S_IFREG | 0644, 0));
	CHECK(mknod("filled", S_IFREG | 0644, 0));
	put_fd(CHECK(open("filled", O_WRONLY)), "x");
	FAILS(mknod("made", S_IFREG | 0644, 0), EEXIST);
	expect("output made");
	expect("output filled");
}
