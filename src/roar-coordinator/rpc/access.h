/* access.h - what a call may see and change.
 *
 * Without a file of tokens everybody is the administrator.  With one, a call brings
 * "authorization: Bearer TOKEN" and may do what its token is for.  A call may also name
 * a job ("roar-job"): then it is about that job alone, which its messages need
 * not name again.
 *
 * What a call may is a scope.  Calls with the same token about the same job share one, so
 * that no memory is taken a call; a few that nobody uses are kept for the next. */
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
	bool withdrawn; /* the token is good no more */
	uint32_t refs; /* calls that have it */
	struct scope *next, *prev; /* among the unused, the oldest first */
	uint32_t key_len;
	char *key; /* struct scope_key and the job; behind this */
};

struct access {
	const char *path; /* of the tokens, NULL: there are none */
	struct tokens *tokens;
	struct map scopes; /* by key */
	struct scope *oldest, *newest; /* of the unused */
	unsigned n_unused;
	struct scope all; /* without tokens, and no job named */
	uint32_t max_calls; /* under way with one token, which is not the administrator's */
};

enum access_verdict {
	ACCESS_GRANTED,
	ACCESS_UNKNOWN, /* no token, or none that is known */
	ACCESS_DENIED, /* a good one, for another job */
	ACCESS_INVALID, /* what is named cannot be a job */
	ACCESS_NO_MEMORY,
	ACCESS_BUSY, /* as many calls as its token may have are under way */
};

int access_open(struct access *a, const char *path, struct roar_error *err);
void access_close(struct access *a);

/* Reads the file again, and marks the scopes whose tokens are gone; on failure all stays
 * as it is. */
int access_reload(struct access *a, struct roar_error *err);

/* `authorization` and `job` may be NULL.  A scope that was granted is given back with
 * access_done(). */
/* Does it bring a good token, or need none? */
bool access_knows(const struct access *a, const char *authorization);
enum access_verdict access_check(struct access *a, const char *authorization,
				 const char *job, struct scope **ret);
void access_done(struct access *a, struct scope *s);

/* The token in "Bearer TOKEN"; frames bring the token alone. */
const char *access_token(const char *authorization);

/* A sentence for each verdict. */
const char *access_sentence(enum access_verdict verdict);

#endif
