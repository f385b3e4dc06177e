/* failing_disk.c - loaded into the program under test: a disk that misbehaves while a file
 * exists.  With FAILING_DISK nothing reaches it, with STOPPED_DISK it takes its time. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int exists(const char *variable)
{
	const char *sign = getenv(variable);

	return sign && access(sign, F_OK) == 0;
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");

	while (exists("STOPPED_DISK"))
		(void)usleep(1000);
	if (exists("FAILING_DISK")) {
		errno = EIO;
		return -1;
	}
	return real(fd);
}
