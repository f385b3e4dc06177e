/* elsewhere.h - workloads that leave the root or the mounts they began with.
 *
 * Built with AS_USER they do it as an ordinary user, in a user namespace. */
#ifndef ELSEWHERE_H
#define ELSEWHERE_H

#include <sched.h>
#include <sys/mount.h>

#include "workload.h"

#ifdef AS_USER
enum { OWN_USERS = CLONE_NEWUSER };
#else
enum { OWN_USERS = 0 };
#endif

/* In prepare(), behind all files: who will run it, and whether that is possible. */
static inline void prepare_elsewhere(int namespaces)
{
	pid_t pid;
	int status = 0;

	if (!OWN_USERS && geteuid() != 0)
		skip("needs root");
	pid = CHECK(fork());
	if (pid == 0)
		_exit(unshare(namespaces | OWN_USERS) < 0);
	CHECK(waitpid(pid, &status, 0));
	if (status)
		skip("no such namespaces here");
}

static inline void write_proc(const char *path, const char *text)
{
	int fd = CHECK(open(path, O_WRONLY));

	REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(close(fd));
}

/* As `unshare -r` does it: files that are made belong to somebody. */
static inline void map_users(uid_t uid, gid_t gid)
{
	char text[64];

	write_proc("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", (unsigned)uid);
	write_proc("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", (unsigned)gid);
	write_proc("/proc/self/gid_map", text);
}

/* Leaves; nothing that is mounted from now on is seen outside. */
static inline void go_elsewhere(int namespaces)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	int all = namespaces | OWN_USERS;

	if (all)
		CHECK(unshare(all));
	if (OWN_USERS)
		map_users(uid, gid);
	if (namespaces & CLONE_NEWNS)
		CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

#endif
