/* redact_token.c - secrets with a known format.
 *
 * Each row is a prefix, the characters that may follow and their minimum number.  A row
 * only matches after a character that is not a letter or digit, so that "task-..." is
 * not "sk-...". */
#include "lineage/redact_internal.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"

struct token {
	const char *prefix;
	const char *extra; /* may follow besides letters and digits */
	size_t min; /* characters after the prefix */
	enum token_flags {
		CAPITALS = 1 << 0, /* no small letters after the prefix */
		EXACT = 1 << 1, /* `min` and no more */
		KEEP = 1 << 2, /* the prefix itself is not secret */
		ANY_CASE = 1 << 3, /* of the prefix */
	} flags;
};

static const struct token tokens[] = {
	{ "AKIA", "", 16, CAPITALS | EXACT }, /* AWS */
	{ "ASIA", "", 16, CAPITALS | EXACT },
	{ "AIza", "_-", 35, 0 }, /* Google */
	{ "ya29.", "_-", 20, 0 },
	{ "ghp_", "", 20, 0 }, /* GitHub */
	{ "gho_", "", 20, 0 },
	{ "ghu_", "", 20, 0 },
	{ "ghs_", "", 20, 0 },
	{ "ghr_", "", 20, 0 },
	{ "github_pat_", "_", 20, 0 },
	{ "glpat-", "_-", 16, 0 }, /* GitLab */
	{ "sk-proj-", "_-", 20, 0 }, /* OpenAI */
	{ "sk-svcacct-", "_-", 20, 0 },
	{ "sk-admin-", "_-", 20, 0 },
	{ "sk-ant-", "_-", 20, 0 }, /* Anthropic */
	{ "sk-or-v1-", "", 20, 0 },
	/* Without '-': "sk-learn-..." is a name. */
	{ "sk-", "", 20, 0 },
	{ "hf_", "", 20, 0 }, /* Hugging Face */
	{ "xoxa-", "-", 10, 0 }, /* Slack */
	{ "xoxb-", "-", 10, 0 },
	{ "xoxe-", "-", 10, 0 },
	{ "xoxp-", "-", 10, 0 },
	{ "xoxr-", "-", 10, 0 },
	{ "xoxs-", "-", 10, 0 },
	{ "npm_", "", 30, 0 },
	{ "pypi-", "_-", 50, 0 },
	{ "hooks.slack.com/services/", "/_-", 8, KEEP },
	{ "discord.com/api/webhooks/", "/_-", 8, KEEP },
	{ "Bearer ", "._~+/=-", 8, KEEP | ANY_CASE },
};

static bool is_in(char c, const char *extra, bool capitals)
{
	if (isalnum((unsigned char)c))
		return !capitals || !islower((unsigned char)c);
	return c && strchr(extra, c);
}

static size_t span_of(const char *text, size_t len, const char *extra,
		      bool capitals)
{
	size_t n = 0;

	while (n < len && is_in(text[n], extra, capitals))
		n++;
	return n;
}

static bool has_prefix(const char *text, size_t len, const struct token *t)
{
	size_t n = strlen(t->prefix);

	if (len < n)
		return false;
	return t->flags & ANY_CASE ? !strncasecmp(text, t->prefix, n) :
				     !memcmp(text, t->prefix, n);
}

static struct redact_span match_row(const char *text, size_t len,
				    const struct token *t)
{
	size_t prefix = strlen(t->prefix);
	size_t rest = len - prefix;
	size_t n;

	/* Long enough?  Only then is all of it read, which keeps a text of near misses
	 * linear. */
	n = span_of(text + prefix, rest < t->min ? rest : t->min, t->extra,
		    t->flags & CAPITALS);
	if (n < t->min)
		return (struct redact_span){ 0 };
	n = span_of(text + prefix, rest, t->extra, t->flags & CAPITALS);
	if (t->flags & EXACT && n > t->min)
		return (struct redact_span){ 0 };
	return (struct redact_span){ .keep = t->flags & KEEP ? prefix : 0,
				     .len = prefix + n };
}

/* The first characters of all rows, so that other places cost one look. */
static bool may_start(char c)
{
	return c && strchr("ABbdghnpsxy", c);
}

static struct redact_span match_rows(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
		struct redact_span span = { 0 };

		if (has_prefix(text, len, &tokens[i]))
			span = match_row(text, len, &tokens[i]);
		if (span.len)
			return span;
	}
	return (struct redact_span){ 0 };
}

/* ---- shapes that are more than a prefix ---- */

/* Three base64url parts with dots, the first two starting like {" in base64.
 * Looked for at the start of a run only: each run is read once. */
static struct redact_span match_jwt(const char *text, size_t len, char before)
{
	size_t head;

	if (len < 3 || memcmp(text, "eyJ", 3) || before == '-' || before == '_')
		return (struct redact_span){ 0 };
	head = span_of(text, len, "_-", false);
	if (head < 10 || len - head < 5 || memcmp(text + head, ".eyJ", 4))
		return (struct redact_span){ 0 };
	return (struct redact_span){
		.len = head + span_of(text + head, len - head, "_-.=", false),
	};
}

/* From the BEGIN line of a private key to its END line, or to the end. */
static struct redact_span match_pem(const char *text, size_t len)
{
	static const char begin[] = "-----BEGIN ";
	static const char end[] = "PRIVATE KEY-----";
	size_t label = len < 64 ? len : 64;
	const char *opened;
	const char *closed;
	size_t rest;

	if (len < sizeof(begin) - 1 || memcmp(text, begin, sizeof(begin) - 1))
		return (struct redact_span){ 0 };
	opened = memmem(text, label, end, sizeof(end) - 1);
	if (!opened)
		return (struct redact_span){ 0 };
	opened += sizeof(end) - 1;
	rest = len - (size_t)(opened - text);
	closed = memmem(opened, rest, end, sizeof(end) - 1);
	if (!closed)
		return (struct redact_span){ .len = len };
	return (struct redact_span){ .len = (size_t)(closed - text) +
					    sizeof(end) - 1 };
}

/* The end of the part of a URL after "://". */
static size_t authority_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && !memchr("/?# \t\r\n\"'<>\\", text[n], 12))
		n++;
	return n;
}

/* "://user:password@" keeps the user; a long user alone is a token. */
static struct redact_span match_url(const char *text, size_t len)
{
	size_t n;
	const char *at;
	const char *colon;

	if (len < 3 || memcmp(text, "://", 3))
		return (struct redact_span){ 0 };
	n = authority_length(text + 3, len - 3);
	at = memrchr(text + 3, '@', n);
	if (!at)
		return (struct redact_span){ 0 };
	colon = memchr(text + 3, ':', (size_t)(at - text - 3));
	if (colon && colon + 1 < at)
		return (struct redact_span){
			.keep = (size_t)(colon - text) + 1,
			.len = (size_t)(at - text),
		};
	if (!colon && at - text - 3 >= 20)
		return (struct redact_span){ .keep = 3,
					     .len = (size_t)(at - text) };
	return (struct redact_span){ 0 };
}

static int class_of(char c)
{
	if (isupper((unsigned char)c))
		return 1;
	if (islower((unsigned char)c))
		return 2;
	return isdigit((unsigned char)c) ? 3 : 4;
}

/* An AWS secret key has no prefix: exactly 40 characters of base64.  A path can
 * be that as well, but random text changes between capitals, small letters and
 * digits about 25 times in 40 characters, names do so rarely. */
static struct redact_span match_aws_secret(const char *text, size_t len)
{
	enum { KEY_LEN = 40, CHANGES_MIN = 16 };
	unsigned seen = 0;
	int changes = 0;

	if (len < KEY_LEN || span_of(text, KEY_LEN, "/+", false) < KEY_LEN ||
	    (len > KEY_LEN && is_in(text[KEY_LEN], "/+=._-", false)))
		return (struct redact_span){ 0 };
	for (size_t i = 0; i < KEY_LEN; i++) {
		seen |= 1u << class_of(text[i]);
		changes += i && class_of(text[i]) != class_of(text[i - 1]);
	}
	if ((seen & 0xe) != 0xe || changes < CHANGES_MIN)
		return (struct redact_span){ 0 };
	/* A commit id has small letters and digits only, so it never gets here. */
	return (struct redact_span){ .len = KEY_LEN };
}

struct redact_span redact_token_at(const char *text, size_t len, size_t pos)
{
	struct redact_span span = { 0 };
	char before = pos ? text[pos - 1] : ' ';
	char c;

	assert(pos < len);
	c = text[pos];
	text += pos;
	len -= pos;
	if (c == ':')
		return match_url(text, len);
	if (isalnum((unsigned char)before))
		return span;
	if (c == '-')
		return match_pem(text, len);
	if (may_start(c))
		span = match_rows(text, len);
	if (!span.len && c == 'e')
		span = match_jwt(text, len, before);
	if (!span.len && !strchr("/+", before) && class_of(c) != 4)
		span = match_aws_secret(text, len);
	return span;
}
