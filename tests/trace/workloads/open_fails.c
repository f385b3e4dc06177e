/* A call that fails has done nothing, whatever the reason. */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "workload.h"

static void make_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = CHECK(socket(AF_UNIX, SOCK_STREAM, 0));

	strcpy(address.sun_path, name);
	CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

void prepare(void)
{
	make_socket("sock");
	CHECK(mkfifo("fifo", 0644));
	CHECK(mkdir("dir", 0755));
	CHECK(mkdir("closed", 0755));
	put("file", "hello");
	put("secret", "hello");
	CHECK(chmod("secret", 0));
	put("closed/file", "hello");
	CHECK(symlink("loop", "loop"));
	CHECK(symlink("file", "link"));
	CHECK(chmod(".", 0755));
	CHECK(chmod("closed", 0));
}

static void without_permission(void)
{
	if (geteuid() == 0)
		CHECK(setuid(65534));
	FAILS(open("secret", O_RDONLY), EACCES);
	FAILS(open("secret", O_WRONLY | O_CREAT | O_TRUNC, 0644), EACCES);
	FAILS(open("closed/file", O_RDONLY), EACCES);
	FAILS(open("closed/new", O_WRONLY | O_CREAT, 0644), EACCES);
}

static void without_descriptors(void)
{
	struct rlimit none = { 3, 3 };

	CHECK(setrlimit(RLIMIT_NOFILE, &none));
	FAILS(open("file", O_RDONLY), EMFILE);
	FAILS(open("not-created", O_WRONLY | O_CREAT, 0644), EMFILE);
}

void act(void)
{
	static char longname[300];

	memset(longname, 'n', sizeof(longname) - 1);
	FAILS(open("nothing", O_RDONLY), ENOENT);
	FAILS(open("", O_RDONLY), ENOENT);
	FAILS(open("nodir/new", O_WRONLY | O_CREAT, 0644), ENOENT);
	FAILS(open("file/below", O_RDONLY), ENOTDIR);
	FAILS(open("dir", O_WRONLY), EISDIR);
	FAILS(open("dir", O_RDWR | O_CREAT, 0644), EISDIR);
	FAILS(open("loop", O_RDONLY), ELOOP);
	FAILS(open("link", O_RDONLY | O_NOFOLLOW), ELOOP);
	FAILS(open("file", O_RDONLY | O_DIRECTORY), ENOTDIR);
	FAILS(open(longname, O_RDONLY), ENAMETOOLONG);
	FAILS(syscall(SYS_openat, AT_FDCWD, (char *)8, O_RDONLY), EFAULT);
	FAILS(openat(-5, "file", O_RDONLY), EBADF);
	FAILS(open("sock", O_RDWR), ENXIO);
	FAILS(open("fifo", O_WRONLY | O_NONBLOCK), ENXIO);
	FAILS(open("new/", O_WRONLY | O_CREAT, 0644), EISDIR);
	FAILS(open("file/", O_RDONLY), ENOTDIR);
	FAILS(truncate("nothing", 0), ENOENT);
	FAILS(unlink("dir"), EISDIR);
	FAILS(rename("nothing", "new"), ENOENT);
	FAILS(link("file", "link"), EEXIST);
	FAILS(symlink("x", "file"), EEXIST);
	in_child(without_permission);
	in_child(without_descriptors);
}
