/* redact.h - removes secrets from command lines before they reach the disk.
 *
 * These are replaced by "[REDACTED]":
 *	- the value of an option or NAME=VALUE whose name marks a secret:
 *	  --api-key X, --token=X, DB_PASSWORD=X, "client_secret": "X"
 *	- Authorization and Bearer values, user:password@ in URLs
 *	- the part after the colon of --auth user:password
 *	- passwords given to programs that are known to take them: curl -u a:b,
 *	  sshpass -p X, mysql -pX, docker login -p X, redis-cli -a X and others
 *	- secrets with a known format: keys of AWS, GitHub, GitLab, OpenAI,
 *	  Anthropic, Hugging Face, Slack, Google, npm and PyPI, JSON web tokens,
 *	  PEM private keys, web hooks of Slack and Discord
 *	- values (8 characters or more) of environment variables whose names
 *	  mark a secret, wherever they appear
 *	- what matches a pattern of the user
 *
 * Names that are only similar stay: --tokenizer, --num-tokens, --keys, --key-frames,
 * --pad-token, TOKENIZERS_PARALLELISM.  The same letters with another meaning stay as
 * well: docker run -p 80:80 -u 1000:1000, mkdir -p, python -u.  The lists are tables in
 * redact_name.c, redact_token.c and redact_program.c.
 *
 * Time is linear in the text, except for patterns.  A redactor that gets no more values is read-only, so threads may
 * share it; it copies what it needs of the environment. */
#ifndef ROAR_LINEAGE_REDACT_H
#define ROAR_LINEAGE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct pool;
struct redact;
struct str;

#define REDACTED "[REDACTED]"

enum { REDACT_VALUE_MIN = 8 }; /* shorter values are too common for patterns */

/* A redactor for the secrets of `envp` (may be NULL) and `n` more secret names.  Names
 * are compared without case, and '-' equals '_'; "*" matches every name on a command
 * line. */
int redact_new(char *const envp[], char *const *extra_names, size_t n,
	       struct redact **ret);

/* The same with all that can be set. */
struct redact_options {
	char *const *envp;
	char *const *names; /* more secret names */
	size_t n_names;
	char *const *allowed; /* names that are never secret, also with "*" */
	size_t n_allowed;
	char *const *patterns; /* extended regular expressions (regex(7)) of texts
				* that are secret; ignored if not valid */
	size_t n_patterns;
};

int redact_new_with(const struct redact_options *options, struct redact **ret);
void redact_free(struct redact *redact);

/* Is it a pattern that redact_options can have?  Else the reason, in `text`. */
bool redact_check_pattern(const char *pattern, char *text, size_t size);

/* Adds a text that is a secret wherever it appears; a shorter one than REDACT_VALUE_MIN is
 * ignored.  Only before other threads use the redactor.  0 or -ENOMEM. */
int redact_add_value(struct redact *redact, const char *value);
/* The same for the value of a variable of a process, "NAME=VALUE", if its name marks a
 * secret; the first 1,024 different ones.  0 or -ENOMEM. */
int redact_add_variable(struct redact *redact, const char *entry, size_t len);
DEFINE_CLEANUP(struct redact *, redact_free)

/* Appends `len` bytes of free text (a URL, a shell script, a command line that
 * was joined) without its secrets. */
void redact_text(const struct redact *redact, const char *text, size_t len,
		 struct str *out);

/* A copy of argv without its secrets.  Strings that have none are shared with
 * `argv`, the others are in the pool. */
int redact_words(const struct redact *redact, char *const argv[],
		 struct pool *pool, char ***ret);

/* Appends an environment variable, "NAME=VALUE".  If the name marks a secret, in capitals
 * or small letters, the whole value is replaced; else the secrets in it. */
void redact_variable(const struct redact *redact, const char *entry, size_t len,
		     struct str *out);

/* Does a variable or option of this name hold a secret? */
bool redact_is_secret_name(const char *name, size_t len);

#endif
