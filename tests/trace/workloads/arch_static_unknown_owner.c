/* A static program, whose results nobody tells, is root of a user namespace that does
 * not know the owner of a file: its capabilities do not reach that. */
#include <sched.h>

#include "workload.h"

enum { SOMEBODY = 1234 };

static bool write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 &&
		  write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	return close(fd) == 0 && ok;
}

static bool enter(void)
{
	return unshare(CLONE_NEWUSER) == 0 &&
	       write_map("/proc/self/setgroups", "deny") &&
	       write_map("/proc/self/uid_map", "0 0 1") &&
	       write_map("/proc/self/gid_map", "0 0 1");
}

void prepare(void)
{
	pid_t pid;
	int status;

	if (geteuid() != 0)
		skip("needs root");
	pid = CHECK(fork());
	if (pid == 0)
		_exit(enter() ? 0 : 1);
	CHECK(waitpid(pid, &status, 0));
	if (status != 0)
		skip("no user namespaces here");
	put("theirs", "hello");
	CHECK(chmod("theirs", 0600));
	CHECK(chown("theirs", SOMEBODY, SOMEBODY));
	put("ours", "hello");
	CHECK(chmod("ours", 0600));
}

void act(void)
{
	REQUIRE(enter());
	FAILS(open("theirs", O_RDONLY), EACCES);
	take("ours");
	expect("input ours");
}
