/* Files by way of /proc: the magic links lead where the process is. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	CHECK(mkdir("dir", 0755));
	put("dir/in.txt", "hello");
	put("by-task.txt", "hello");
}

void act(void)
{
	int dir = CHECK(open("dir", O_RDONLY | O_DIRECTORY));
	char name[4200];
	char *here = realpath(".", NULL);

	take("/proc/self/cwd/in.txt");
	snprintf(name, sizeof(name), "/proc/%d/fd/%d/in.txt", (int)getpid(),
		 dir);
	take(name);
	snprintf(name, sizeof(name), "/proc/thread-self/root%s/by-task.txt",
		 here);
	take(name);
	snprintf(name, sizeof(name), "/proc/self/fd/%d/linked.txt", dir);
	CHECK(link("/proc/self/cwd/in.txt", name));
	CHECK(rename(name, "/proc/self/cwd/moved.txt"));
	take("/proc/self/status");
	take("/proc/self/maps");
	take("/proc/cpuinfo");
	FAILS(open("/proc/self/fd/999", O_RDONLY), ENOENT);
	FAILS(open("/proc/self/nothing", O_RDONLY), ENOENT);
	expect("input in.txt");
	expect("input dir/in.txt");
	expect("input by-task.txt");
	expect("output moved.txt");
}
