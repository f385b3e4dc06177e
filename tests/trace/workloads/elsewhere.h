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

/* Leaves; nothing that is mounted from now on is seen outside. */
static inline void go_elsewhere(int namespaces)
{
	if (namespaces | OWN_USERS)
		CHECK(unshare(namespaces | OWN_USERS));
	if (namespaces & CLONE_NEWNS)
		CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

#endif
