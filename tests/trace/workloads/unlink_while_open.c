/* A file is removed while it is open and opened again through /proc: it has no
 * name any more, and its old name is not that file. */
#include "workload.h"

void act(void)
{
	int fd = CHECK(open("scratch", O_RDWR | O_CREAT, 0644));
	char name[64];

	CHECK(unlink("scratch"));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	take(name);
	put_fd(fd, "x");
	put("scratch (deleted)", "a file may be called so");
	take("scratch (deleted)");
	expect("temporary scratch");
	expect("output scratch (deleted)");
	expect("intermediate scratch (deleted)");
}
