/* Everything a program can ask about itself is as it is without a tracer. */
#include <dirent.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "workload.h"

extern char **environ;

static void environment(void)
{
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "TRACE_ROOT=", 11) != 0)
			expect("state env %s", *e);
}

static void descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	REQUIRE(dir);
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		struct stat st;

		if (entry->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		CHECK(fstat(fd, &st));
		expect("state fd %d: type %o flags %x", fd, st.st_mode & S_IFMT,
		       fcntl(fd, F_GETFL));
	}
	closedir(dir);
}

static void limits(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		CHECK(getrlimit((__rlimit_resource_t)i, &limit));
		expect("state limit %d: %llu %llu", i,
		       (unsigned long long)limit.rlim_cur,
		       (unsigned long long)limit.rlim_max);
	}
}

/* The lines of /proc/self/status that a launcher could change. */
static void status(void)
{
	static const char *const keys[] = {
		"Name:",	 "Umask:",	  "Uid:",	  "Gid:",
		"Groups:",	 "Threads:",	  "SigPnd:",	  "ShdPnd:",
		"SigBlk:",	 "SigIgn:",	  "SigCgt:",	  "CapInh:",
		"CapPrm:",	 "CapEff:",	  "CapBnd:",	  "CapAmb:",
		"Cpus_allowed:", "Mems_allowed:", "THP_enabled:",
	};
	FILE *f = fopen("/proc/self/status", "re");
	char line[4096];

	REQUIRE(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				expect("state %s", line);
	}
	fclose(f);
}

static void scheduling(void)
{
	cpu_set_t set;

	CHECK(sched_getaffinity(0, sizeof(set), &set));
	expect("state cpus %d", CPU_COUNT(&set));
	expect("state policy %d", sched_getscheduler(0));
	errno = 0;
	expect("state nice %d", getpriority(PRIO_PROCESS, 0));
	expect("state slack %d", prctl(PR_GET_TIMERSLACK));
	/* ioprio_get(IOPRIO_WHO_PROCESS, self) */
	expect("state io %ld", syscall(SYS_ioprio_get, 1, 0));
}

static void process(void)
{
	int death = -1, reaper = -1;

	CHECK(prctl(PR_GET_PDEATHSIG, &death));
	CHECK(prctl(PR_GET_CHILD_SUBREAPER, &reaper));
	expect("state death signal %d", death);
	expect("state subreaper %d", reaper);
	expect("state dumpable %d", prctl(PR_GET_DUMPABLE));
	expect("state keepcaps %d", prctl(PR_GET_KEEPCAPS));
	/* An ordinary user's filter needs it; root's does not. */
	if (geteuid() == 0)
		expect("state no new privileges %d",
		       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	expect("state parent's group %d", getpgrp() == getpgid(getppid()));
	expect("state parent's session %d", getsid(0) == getsid(getppid()));
	expect("state leads its group %d", getpgrp() == getpid());
	expect("state personality %x", (unsigned)personality(0xffffffff));
	expect("state children %d",
	       waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

void act(void)
{
	char cwd[4096];

	environment();
	descriptors();
	limits();
	status();
	scheduling();
	process();
	REQUIRE(getcwd(cwd, sizeof(cwd)));
}
