/* run_proxy.h - the S3 proxy of a run.
 *
 * With --proxy or proxy.enabled the command gets an S3 endpoint of its own: the daemon
 * of the project (`roar proxy start`) opens a listener for this run, or a proxy is
 * started.  Three variables in the environment of the command name it.  An endpoint that
 * they named before becomes the upstream.
 *
 * When there is no proxy, the command runs without one, and the record has a gap. */
#ifndef ROAR_RUN_RUN_PROXY_H
#define ROAR_RUN_RUN_PROXY_H

#include <stdbool.h>

#include "base/error.h"
#include "proxy/proxy_process.h"

struct pool;
struct run;

struct run_proxy {
	struct proxy_process process;
	bool by_daemon;
	char *log; /* absolute, in the run's pool; NULL: there is no proxy */
};

#define RUN_PROXY_INIT ((struct run_proxy){ .process = PROXY_PROCESS_INIT })

/* If the options of the run ask for it: starts the proxy and returns the environment of
 * the command, else `envp`.  What went wrong is said, unless the run is quiet. */
char **run_proxy_start(struct run_proxy *p, struct run *run, char **envp);

/* After the command: ends the proxy, so that its log is complete. */
void run_proxy_end(struct run_proxy *p, struct run *run);

#endif
