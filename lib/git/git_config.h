/* git_config.h - the few settings of a repository that a query needs.
 *
 * Only the repository's own file is read here, without its includes: git itself writes
 * the settings below there.  (The user's global settings take effect through the git
 * program.) */
#ifndef ROAR_GIT_CONFIG_H
#define ROAR_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct git_repo;

struct git_config {
	bool bare; /* core.bare */
	bool trust_ctime; /* core.trustctime, true by default */
	size_t hash_len; /* bytes of an object id: 20, or 32 for SHA-256 */
	char *worktree; /* core.worktree as written, or NULL */
	char *remote; /* URL of origin or of the only remote, redacted */
};

void git_config_release(struct git_config *config);

/* Reads the settings; a missing or unreadable file gives the defaults, a malformed one
 * the settings before the error.  Returns 0 or -ENOMEM. */
int git_config_read(const struct git_repo *repo, struct git_config *ret_config);

/* Calls `fn` for each setting of a configuration text.  `key` is
 * "section.name" or "section.subsection.name" with section and name in lower
 * case; `value` is NULL where the text has no "=".  Stops when `fn` returns
 * non-zero and returns that; -EBADMSG for a syntax error, -ENOMEM. */
int git_config_parse(const char *text, size_t len,
		     int (*fn)(void *ctx, const char *key, const char *value),
		     void *ctx);

/* A copy of `url` without user:password@ and, for the web, without anything
 * that may be a token (a lone user name, the query).  NULL without memory. */
char *git_url_redact(const char *url);

#endif
