/* Devices, memory, sockets and directories leave no file in the record. */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("dir", 0755));
	put("dir/file", "hello");
}

void act(void)
{
	DIR *dir = opendir("dir");
	int pair[2];

	REQUIRE(dir);
	while (readdir(dir))
		;
	closedir(dir);
	put("/dev/null", "x");
	put_fd(CHECK(memfd_create("scratch", 0)), "x");
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	put_fd(pair[0], "x");
	CHECK(mkdir("made", 0755));
	CHECK(rmdir("made"));
}
