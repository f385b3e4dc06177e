/* access.c - see access.h */
#include "rpc/access.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/id.h"
#include "net/rpc/rpc.h"

enum { MAX_UNUSED = 256 };

/* What a scope is found by; the job's name follows. */
struct scope_key {
	uint8_t token[BLAKE3_LEN]; /* its digest; zeros: there are no tokens */
	bool admin;
};

int access_open(struct access *a, const char *path, struct roar_error *err)
{
	*a = (struct access){ .path = path,
			      .all = { .admin = true },
			      .max_calls = RPC_MAX_CALLS / 4 * 3 };
	return path ? tokens_load(path, &a->tokens, err) : 0;
}

void access_close(struct access *a)
{
	struct scope *s;
	size_t at = 0;

	while ((s = map_next(&a->scopes, &at)))
		free(s);
	map_release(&a->scopes);
	tokens_free(a->tokens);
	*a = (struct access){ 0 };
}

static void mark_withdrawn(struct access *a)
{
	struct scope *s;
	size_t at = 0;

	while ((s = map_next(&a->scopes, &at)))
		s->withdrawn = !tokens_hold(a->tokens, (uint8_t *)s->key,
					    s->admin ? "*" : s->job);
}

int access_reload(struct access *a, struct roar_error *err)
{
	struct tokens *fresh;
	int r;

	if (!a->path)
		return 0;
	r = tokens_load(a->path, &fresh, err);
	if (r < 0)
		return r;
	tokens_free(a->tokens);
	a->tokens = fresh;
	mark_withdrawn(a);
	return 0;
}

/* ---- scopes ---- */

static void use(struct access *a, struct scope *s)
{
	if (s->refs++ > 0)
		return;
	*(s->prev ? &s->prev->next : &a->oldest) = s->next;
	*(s->next ? &s->next->prev : &a->newest) = s->prev;
	s->next = s->prev = NULL;
	a->n_unused--;
}

static void forget_oldest(struct access *a)
{
	struct scope *s = a->oldest;

	use(a, s);
	(void)map_remove(&a->scopes, s->key, s->key_len);
	free(s);
}

void access_done(struct access *a, struct scope *s)
{
	assert(s == &a->all || s->refs > 0);
	if (s == &a->all || --s->refs > 0)
		return;
	s->prev = a->newest;
	*(a->newest ? &a->newest->next : &a->oldest) = s;
	a->newest = s;
	if (++a->n_unused > MAX_UNUSED)
		forget_oldest(a);
}

static struct scope *scope_new(struct access *a, const char *key, size_t len)
{
	struct scope *s = calloc(1, sizeof(*s) + len + 1);

	if (!s)
		return NULL;
	s->key = (char *)(s + 1);
	memcpy(s->key, key, len);
	s->key_len = (uint32_t)len;
	s->admin = ((const struct scope_key *)s->key)->admin;
	s->job = len > sizeof(struct scope_key) ?
			 s->key + sizeof(struct scope_key) :
			 NULL;
	s->refs = 1;
	if (map_set(&a->scopes, s->key, len, s) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

static struct scope *scope_get(struct access *a, const struct scope_key *head,
			       const char *job)
{
	char key[sizeof(*head) + ID_MAX];
	size_t job_len = job ? strlen(job) : 0;
	size_t len = sizeof(*head) + job_len;
	struct scope *s;

	memcpy(key, head, sizeof(*head));
	memcpy(key + sizeof(*head), job ? job : "", job_len);
	s = map_get(&a->scopes, key, len);
	if (!s)
		return scope_new(a, key, len);
	use(a, s);
	return s;
}

/* ---- verdicts ---- */

const char *access_token(const char *authorization)
{
	if (strncasecmp(authorization, "bearer ", 7) == 0)
		authorization += 7;
	return authorization + strspn(authorization, " ");
}

static const struct token *find_token(const struct access *a,
				      const char *authorization)
{
	const char *token = authorization ? access_token(authorization) : "";

	return tokens_find(a->tokens, token, strlen(token));
}

bool access_knows(const struct access *a, const char *authorization)
{
	return !a->tokens || find_token(a, authorization);
}

/* What one job may have under way leaves room for the others. */
static enum access_verdict grant(struct access *a, struct scope *s,
				 struct scope **ret)
{
	if (!s)
		return ACCESS_NO_MEMORY;
	if (!s->admin && s->refs > a->max_calls) {
		access_done(a, s);
		return ACCESS_BUSY;
	}
	*ret = s;
	return ACCESS_GRANTED;
}

enum access_verdict access_check(struct access *a, const char *authorization,
				 const char *job, struct scope **ret)
{
	const struct token *token = NULL;
	struct scope_key key = { .admin = true };

	job = job && *job ? job : NULL;
	if (a->tokens)
		token = find_token(a, authorization);
	if (a->tokens && !token)
		return ACCESS_UNKNOWN;
	if (job && !id_is_valid(job, strlen(job)))
		return ACCESS_INVALID;
	if (token) {
		memcpy(key.token, token->digest, sizeof(key.token));
		key.admin = strcmp(token->job, "*") == 0;
	}
	if (!key.admin && job && strcmp(token->job, job) != 0)
		return ACCESS_DENIED;
	if (!a->tokens && !job) {
		*ret = &a->all;
		return ACCESS_GRANTED;
	}
	return grant(a, scope_get(a, &key, key.admin ? job : token->job), ret);
}

const char *access_sentence(enum access_verdict verdict)
{
	static const char *const sentences[] = {
		[ACCESS_GRANTED] = "",
		[ACCESS_UNKNOWN] = "the token is missing or unknown: send "
				   "'authorization: Bearer TOKEN'",
		[ACCESS_DENIED] = "the token is for another job",
		[ACCESS_INVALID] =
			"roar-job is not a valid job name: 1 to 128 characters of "
			"[A-Za-z0-9_.-]",
		[ACCESS_NO_MEMORY] = "out of memory",
		[ACCESS_BUSY] = "too many calls with this token are in progress: "
				"try again when some have ended",
	};

	return sentences[verdict];
}
