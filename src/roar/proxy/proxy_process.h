/* proxy_process.h - roar-proxy as a child process.
 *
 * The proxy has a session of its own, so that Ctrl-C in the terminal does not reach it,
 * and none of our descriptors: it cannot keep a pipe of the command open.  It ends when
 * it is asked to, or when the last copy of `end_fd` is closed, which is when the
 * processes of roar that hold it are gone. */
#ifndef ROAR_PROXY_PROCESS_H
#define ROAR_PROXY_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum { PROXY_URL_MAX = 256 };

struct proxy_options {
	const char *upstream; /* URL; NULL: as the AWS configuration says */
	const char *region; /* NULL: likewise */
	const char *profile; /* NULL: likewise */
	const char *listen; /* NULL: 127.0.0.1 and a free port */
	const char *log; /* object log; NULL: none */
	const char *control; /* control socket; NULL: none */
	bool no_hash;
	bool sha256; /* beside BLAKE3 */
	bool daemon; /* goes on when we end */
	int dirfd; /* its working directory; -1: ours */
	int errors_fd; /* its standard error; -1: kept in memory */
	char *const *envp;
};

struct proxy_process {
	pid_t pid;
	int pid_fd; /* pidfd; -1: there is no proxy */
	int end_fd; /* -1: a daemon has none */
	int errors_fd; /* what it wrote to its standard error; -1 */
	char endpoint[PROXY_URL_MAX];
};

#define PROXY_PROCESS_INIT \
	((struct proxy_process){ .pid_fd = -1, .end_fd = -1, .errors_fd = -1 })

/* Starts the proxy and waits until it listens.  A sentence when it does not, with what
 * it said; then there is no process. */
int proxy_process_start(const struct proxy_options *o,
			struct proxy_process *ret, struct roar_error *err);

/* Asks a process to end and waits for that; -ETIMEDOUT when it has not.  Also for a
 * process that is not our child. */
int proxy_process_end(int pid_fd, int timeout_ms);

/* Ends it for good, if it is there, and closes the descriptors. */
void proxy_process_release(struct proxy_process *p);

#endif
