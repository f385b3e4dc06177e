/* tokens.c - see tokens.h */
#include "rpc/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/id.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/private_file.h"
#include "base/str.h"

enum { SALT_LEN = 32 };

struct tokens {
	struct map by_digest; /* of struct token */
	struct pool pool;
};

/* One for all files that are read while the process lives, so that they can be
 * compared. */
static const uint8_t *salt(void)
{
	static uint8_t bytes[SALT_LEN];
	static bool made;

	if (!made && getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes))
		made = true;
	return made ? bytes : NULL;
}

static void digest_of(const char *token, size_t len, uint8_t ret[BLAKE3_LEN])
{
	uint8_t text[SALT_LEN + TOKEN_MAX];

	memcpy(text, salt(), SALT_LEN);
	memcpy(text + SALT_LEN, token, len);
	b3_hash(text, SALT_LEN + len, ret);
	explicit_bzero(text, sizeof(text));
}

/* ---- the file ---- */

static bool is_token(const char *token, size_t len)
{
	if (len < TOKEN_MIN || len > TOKEN_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (token[i] <= ' ' || token[i] > '~')
			return false;
	}
	return true;
}

static int add(struct tokens *t, const char *job, size_t job_len,
	       const char *token, size_t token_len)
{
	struct token *e = pool_alloc(&t->pool, sizeof(*e) + job_len + 1);

	if (!e)
		return -ENOMEM;
	digest_of(token, token_len, e->digest);
	memcpy(e->job, job, job_len);
	e->job[job_len] = '\0';
	if (map_get(&t->by_digest, e->digest, sizeof(e->digest)))
		return -EEXIST;
	return map_set(&t->by_digest, e->digest, sizeof(e->digest), e);
}

/* A line without its end.  The sentence never shows the token. */
static int parse_line(struct tokens *t, const char *line, size_t len,
		      const char *path, size_t number, struct roar_error *err)
{
	size_t job_len = 0;
	size_t at;
	int r;

	while (len > 0 && strchr(" \t\r", line[len - 1]))
		len--;
	if (len == 0 || line[0] == '#')
		return 0;
	while (job_len < len && line[job_len] != ' ' && line[job_len] != '\t')
		job_len++;
	at = job_len;
	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	if (!id_is_valid(line, job_len) && !(job_len == 1 && line[0] == '*'))
		return error_set(err, -EINVAL,
				 "line %zu of '%s' has no valid job name: it "
				 "must be 'JOB TOKEN'",
				 number, path);
	if (!is_token(line + at, len - at))
		return error_set(err, -EINVAL,
				 "line %zu of '%s' has no valid token: %d to %d "
				 "printable characters without spaces",
				 number, path, TOKEN_MIN, TOKEN_MAX);
	r = add(t, line, job_len, line + at, len - at);
	if (r == -EEXIST)
		return error_set(err, -EINVAL,
				 "line %zu of '%s' repeats a token", number,
				 path);
	return r;
}

static int parse(struct tokens *t, const struct str *text, const char *path,
		 struct roar_error *err)
{
	const char *at = str_cstr(text);
	const char *end = at + text->len;
	int r = 0;

	for (size_t number = 1; r == 0 && at < end; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		stop = stop ? stop : end;
		r = parse_line(t, at, (size_t)(stop - at), path, number, err);
		at = stop + 1;
	}
	return r;
}

int tokens_load(const char *path, struct tokens **ret, struct roar_error *err)
{
	CLEANUP(tokens_freep) struct tokens *t = calloc(1, sizeof(*t));
	CLEANUP(str_release) struct str text = STR_INIT;
	int r = t ? private_file_read(path, "tokens", TOKENS_MAX_FILE, &text,
				      err) :
		    -ENOMEM;

	if (r == 0 && !salt())
		return error_set(err, -EIO,
				 "the kernel has no random bytes to keep "
				 "tokens safely");
	if (r == 0)
		r = parse(t, &text, path, err);
	private_wipe(&text);
	if (r < 0)
		return r == -ENOMEM ? error_set(err, r, "out of memory") : r;
	*ret = TAKE_PTR(t);
	return 0;
}

void tokens_free(struct tokens *t)
{
	if (!t)
		return;
	map_release(&t->by_digest);
	pool_release(&t->pool);
	free(t);
}

/* ---- looking ---- */

const struct token *tokens_find(const struct tokens *t, const char *token,
				size_t len)
{
	uint8_t digest[BLAKE3_LEN];

	if (!is_token(token, len))
		return NULL;
	digest_of(token, len, digest);
	return map_get(&t->by_digest, digest, sizeof(digest));
}

bool tokens_hold(const struct tokens *t, const uint8_t digest[BLAKE3_LEN],
		 const char *job)
{
	const struct token *found = map_get(&t->by_digest, digest, BLAKE3_LEN);

	return found && strcmp(found->job, job) == 0;
}
