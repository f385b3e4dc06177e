/* process_environment.h - the environment variables that each process was started with.
 *
 * They are read from /proc when the exec is reported, so a process that has ended by then
 * is only counted.  A program may change its variables later; that is not seen, but what
 * it passes to the programs it executes is.
 *
 * Every value is redacted before it is kept.  Equal variables are kept once, equal
 * environments too: a thousand processes with fifty variables cost some 300 KiB.  "_" is
 * left out, because a shell sets it to another value for each program.  A set belongs to
 * one thread. */
#ifndef ROAR_CAPTURE_PROCESS_ENVIRONMENT_H
#define ROAR_CAPTURE_PROCESS_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct json;
struct process_environments;
struct redact;

enum {
	PROCESS_ENVIRONMENT_VARIABLES = 8192, /* kept of one process */
	PROCESS_ENVIRONMENT_VALUE = 32 * 1024, /* bytes; a longer value is cut */
};

/* An empty set.  `redact` must live as long; it gets the secret values that are found, so
 * that they are known on command lines.  -ENOMEM. */
int process_environments_new(struct redact *redact,
			     struct process_environments **ret);
void process_environments_free(struct process_environments *set);
DEFINE_CLEANUP(struct process_environments *, process_environments_free)

/* Process `pid` executes `program`: reads its environment from /proc. */
void process_environments_read(struct process_environments *set, int32_t pid,
			       const char *program);

/* The same, given the content of /proc/PID/environ; len 0: it could not be read. */
void process_environments_add(struct process_environments *set, int32_t pid,
			      const char *program, const char *block,
			      size_t len);

/* A child of fork() has the environment of its parent. */
void process_environments_fork(struct process_environments *set, int32_t pid,
			       int32_t parent);

/* The value, redacted, that variable `name` had when the process was started; of the
 * latest process with that pid.  NULL: not set, or not known.  Valid as long as the set. */
const char *process_environments_get(const struct process_environments *set,
				     int32_t pid, const char *name);

/* Writes the document of kind SITUATION_VARIABLES:
 *
 *	{"environments": [
 *	   {"n_processes": N, "programs": ["python3", ...], "variables": {NAME: VALUE}},
 *	   {"n_processes": N, "programs": [...], "changed": {NAME: VALUE}, "unset": [NAME]},
 *	   ...],
 *	 "n_unknown": N, "n_left_out": N}
 *
 * The first environment is that of the command; the others are described by how they
 * differ from it.  "programs" has the first few that were executed with it, n_unknown
 * counts processes whose environment could not be read, n_left_out variables and
 * environments beyond the limits.  It has no pids, so that it is the same for each run
 * in the same situation. */
void process_environments_write(const struct process_environments *set,
				struct json *json);

/* Number of different environments. */
size_t process_environments_count(const struct process_environments *set);

#endif
