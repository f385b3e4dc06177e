/* tokens.h - which token is good for which job.
 *
 * A file of lines
 *
 *	JOB TOKEN
 *
 * where '*' for JOB makes a token the administrator's, which is good for all jobs.  A job
 * may have several tokens, so that one can be replaced while the other is in use.  Empty
 * lines and those that begin with '#' are skipped.  Nobody but the file's owner may
 * be able to read it.
 *
 * In memory tokens are digests, made with a secret of this process: how long a search
 * takes says nothing about a token. */
#ifndef COORDINATOR_TOKENS_H
#define COORDINATOR_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "hash/blake3/b3.h"

struct tokens;

struct token {
	uint8_t digest[BLAKE3_LEN];
	char job[]; /* that it is for; "*": the administrator's */
};

enum {
	TOKEN_MIN = 8, /* bytes */
	TOKEN_MAX = 512,
	TOKENS_MAX_FILE = 16 << 20,
};

/* Reads the file.  -EACCES when others may read it, -EINVAL for a line that is none. */
int tokens_load(const char *path, struct tokens **ret, struct roar_error *err);
void tokens_free(struct tokens *t);
DEFINE_CLEANUP(struct tokens *, tokens_free)

/* NULL for one that is not known.  Lives as long as `t`. */
const struct token *tokens_find(const struct tokens *t, const char *token,
				size_t len);

/* Is the token of that digest in `t`, for that job? */
bool tokens_hold(const struct tokens *t, const uint8_t digest[BLAKE3_LEN],
		 const char *job);

#endif
