/* O_TRUNC empties a file that is opened for reading, too: an output, of which nothing
 * was read. */
#include "workload.h"

void prepare(void)
{
	put("a.txt", "hello");
	put("b.txt", "hello");
}

void act(void)
{
	take("b.txt");
	take_fd(CHECK(open("a.txt", O_RDONLY | O_TRUNC)));
	take_fd(CHECK(open("b.txt", O_RDONLY | O_TRUNC)));
	take_fd((int)CHECK(syscall(SYS_openat, AT_FDCWD, "new.txt",
				   O_RDONLY | O_CREAT | O_TRUNC, 0644)));
	expect("output a.txt");
	expect("input b.txt");
	expect("output b.txt");
	expect("output new.txt");
}
