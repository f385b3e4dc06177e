/* failing_disk.c - loaded into the program under test: from the moment a file exists,
 * nothing reaches the disk any more. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	const char *sign = getenv("FAILING_DISK");
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");

	if (sign && access(sign, F_OK) == 0) {
		errno = EIO;
		return -1;
	}
	return real(fd);
}
