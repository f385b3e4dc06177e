/* failing_disk.c - loaded into the program under test: a disk that misbehaves while a file
 * exists.  With FAILING_DISK nothing reaches it, with STOPPED_DISK it takes its time, with
 * STOPPED_SNAPSHOT it does so for snapshots alone. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int is_snapshot(int fd)
{
	char link[64];
	char path[4096] = "";

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, path, sizeof(path) - 1) > 0 &&
	       strstr(path, "/snapshot-") != NULL;
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	while (is_snapshot(fd) && exists("STOPPED_SNAPSHOT"))
		(void)usleep(1000);
	return real(fd);
}
