/* tokens.h - tokens and the jobs they are valid for.
 *
 * A file of lines
 *
 *	JOB TOKEN
 *
 * where the JOB '*' makes an administrator's token, which is valid for all jobs.  A job may
 * have several tokens, so that one can be replaced while the other is in use.  Empty lines
 * and lines that start with '#' are skipped.  Only the file's owner may have read
 * permission.
 *
 * In memory tokens are stored as digests with a secret of this process, so that the time of
 * a search reveals nothing about a token. */
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
	char job[]; /* it is valid for; "*": all, administrator */
};

enum {
	TOKEN_MIN = 8, /* bytes */
	TOKEN_MAX = 512,
	TOKENS_MAX_FILE = 16 << 20,
};

/* Reads the file.  -EACCES: other users may read it; -EINVAL: an invalid line. */
int tokens_load(const char *path, struct tokens **ret, struct roar_error *err);
void tokens_free(struct tokens *t);
DEFINE_CLEANUP(struct tokens *, tokens_free)

/* NULL: unknown token.  Valid as long as `t`. */
const struct token *tokens_find(const struct tokens *t, const char *token,
				size_t len);

/* Is the token of that digest in `t`, for that job? */
bool tokens_hold(const struct tokens *t, const uint8_t digest[BLAKE3_LEN],
		 const char *job);

#endif
