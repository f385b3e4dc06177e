/* access.h - permissions of calls.
 *
 * Without a token file every client is an administrator.  With one, a call sends
 * "authorization: Bearer TOKEN" and has the permissions of its token.  A call may also name
 * a job ("roar-job"): then it is limited to that job, which its messages need not name
 * again.
 *
 * The permissions of a call are a scope.  Calls with the same token and job share a scope,
 * so that a call needs no memory; a few unused scopes are kept for later calls. */
#ifndef COORDINATOR_ACCESS_H
#define COORDINATOR_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "rpc/tokens.h"

struct scope {
	const char *job; /* NULL: all */
	bool admin;
	bool withdrawn; /* the token was withdrawn */
	uint32_t refs; /* calls that use it */
	struct scope *next, *prev; /* list of unused scopes, the oldest first */
	uint32_t key_len;
	char *key; /* struct scope_key and the job; stored after this struct */
};

struct access {
	const char *path; /* of the token file; NULL: none */
	struct tokens *tokens;
	struct map scopes; /* by key */
	struct scope *oldest, *newest; /* of the unused */
	unsigned n_unused;
	struct scope all; /* without tokens, if no job is named */
	/* In progress per token, except for administrators. */
	uint32_t max_calls;
};

enum access_verdict {
	ACCESS_GRANTED,
	ACCESS_UNKNOWN, /* no token, or an unknown one */
	ACCESS_DENIED, /* valid, but for another job */
	ACCESS_INVALID, /* invalid name of a job */
	ACCESS_NO_MEMORY,
	ACCESS_BUSY, /* too many calls in progress with its token */
};

int access_open(struct access *a, const char *path, struct roar_error *err);
void access_close(struct access *a);

/* Reads the file again, and marks the scopes whose tokens were removed.  On failure nothing
 * changes. */
int access_reload(struct access *a, struct roar_error *err);

/* In both functions `authorization` and `job` may be NULL. */
/* Is the token valid, or is none needed? */
bool access_knows(const struct access *a, const char *authorization);
/* Release a granted scope with access_done(). */
enum access_verdict access_check(struct access *a, const char *authorization,
				 const char *job, struct scope **ret);
void access_done(struct access *a, struct scope *s);

/* The token in "Bearer TOKEN"; frames bring the token alone. */
const char *access_token(const char *authorization);

/* A sentence for each verdict. */
const char *access_sentence(enum access_verdict verdict);

#endif
