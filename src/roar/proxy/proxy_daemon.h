/* proxy_daemon.h - a proxy that serves several runs of a project.
 *
 * `.roar/proxy.json` says which process it is and where it listens, and
 * `.roar/proxy.sock` is its control socket.  The process at the other end of that socket
 * is the daemon, if its pid is the recorded one; all else is left over from one that
 * was killed. */
#ifndef ROAR_PROXY_DAEMON_H
#define ROAR_PROXY_DAEMON_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "proxy/proxy_process.h"

struct str;

#define PROXY_DAEMON_SOCKET "proxy.sock"

struct proxy_daemon {
	pid_t pid;
	char endpoint[PROXY_URL_MAX]; /* for requests outside of a run */
	char upstream[PROXY_URL_MAX]; /* "": as the AWS configuration says */
	int64_t started_ns;
};

/* Finds the daemon of the project whose folder `dirfd` is.  1; 0 when there is none,
 * and what a killed one has left is removed. */
int proxy_daemon_find(int dirfd, struct proxy_daemon *ret);

/* Records a daemon that was just started; and forgets it. */
int proxy_daemon_keep(int dirfd, const struct proxy_daemon *daemon);
void proxy_daemon_forget(int dirfd);

/* A listener for one run, whose requests go to the object log at this absolute path.
 * Ending it waits until the log is complete.  A sentence on failure. */
int proxy_daemon_open(int dirfd, const char *log, char ret_url[PROXY_URL_MAX],
		      struct roar_error *err);
int proxy_daemon_end(int dirfd, const char *log, struct roar_error *err);

/* Appends its counters, a JSON object. */
int proxy_daemon_status(int dirfd, struct str *out, struct roar_error *err);

#endif
