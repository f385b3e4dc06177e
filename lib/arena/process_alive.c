/* process_alive.c - see process_alive.h */
#include "arena/process_alive.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"

uint64_t process_alive_pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

/* Without a descriptor: it is not there, or is a child of ours that has ended. */
static bool has_ended(int pid)
{
	int status;

	return process_alive_status(pid, &status) ||
	       (kill(pid, 0) < 0 && errno == ESRCH);
}

int process_alive_open(int pid, uint64_t started)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t now;

	if (fd < 0)
		return has_ended(pid) ? PROCESS_GONE : PROCESS_UNKNOWN;
	/* Only now: from here on the pid stays this process's. */
	now = started ? proc_started(pid) : 0;
	if (now && now != started) {
		(void)close(fd);
		return PROCESS_GONE;
	}
	return fd;
}

bool process_alive_status(int pid, int *ret_status)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid != pid)
		return false;
	*ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 :
		      info.si_code == CLD_DUMPED ? info.si_status | 0x80 :
						   info.si_status;
	return true;
}
