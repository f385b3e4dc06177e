/* redact_name.c - which names mark their value as secret.
 *
 * A name is cut into lower-case parts at '_', '-', '.', and where a capital follows a
 * small letter: "AWS_SECRET_ACCESS_KEY", "--hub-token", "apiKey".  Some parts are
 * enough by themselves ("password"); "key" and "token" have ordinary meanings as well,
 * so their neighbours decide. */
#include "lineage/redact.h"

#include <ctype.h>
#include <string.h>

enum { NAME_MAX_LEN = 128, PARTS_MAX = 16, PART_MAX = 32 };

struct parts {
	char part[PARTS_MAX][PART_MAX + 1];
	size_t n;
	bool capitals; /* the name is written as environment variables are */
};

typedef const char *const word_list[];

/* Anywhere inside of a part. */
static word_list strong_words = { "password",	   "passwd",	 "passphrase",
				  "secret",	   "credential", "apikey",
				  "authkey",	   "accesskey",	 "privatekey",
				  "apitoken",	   "authtoken",	 "accesstoken",
				  "authorization", NULL };

/* After a secret word these mean that the value only points to the secret or describes
 * it: --password-file, KEY_SIZE, --key-frames. */
static word_list describing_words = {
	"file",	   "files",	"path",	      "dir",	 "name",    "names",
	"type",	   "len",	"length",     "size",	 "count",   "frame",
	"frames",  "point",	"points",     "column",	 "columns", "col",
	"field",   "fields",	"index",      "dim",	 "dims",    "bits",
	"limit",   "budget",	"rate",	      "dropout", "mask",    "padding",
	"ring",	   "map",	"mixing",     "level",	 "ids",	    "weight",
	"weights", "embedding", "embeddings", NULL
};

/* "X key" is something to sign or to log in with. */
static word_list key_words = { "api",	 "access",  "secret",	  "private",
			       "auth",	 "signing", "encryption", "account",
			       "master", "service", "deploy",	  "storage",
			       "client", "license", NULL };

/* "X key" is a column, an index, or public: matters for capitals, where any
 * other key is taken as secret. */
static word_list plain_key_words = { "public",	  "primary", "foreign", "sort",
				     "partition", "cache",   "group",	"text",
				     "image",	  "label",   "data",	NULL };

/* "X token" is one of a tokenizer's, or a number of them. */
static word_list plain_token_words = {
	"pad",	  "eos",     "bos",	    "mask",   "cls",	 "sep",
	"unk",	  "stop",    "special",	    "start",  "end",	 "begin",
	"image",  "img",     "video",	    "audio",  "num",	 "n",
	"max",	  "min",     "total",	    "new",    "first",	 "last",
	"per",	  "next",    "prefix",	    "suffix", "trigger", "text",
	"forced", "decoder", "placeholder", "tokens", NULL
};

/* "X pass" is one of several. */
static word_list counting_words = { "num",   "n",      "max",	 "min",	  "per",
				    "first", "second", "single", "multi", "two",
				    "low",   "high",   "band",	 NULL };

static bool is_one_of(const char *word, word_list list)
{
	for (size_t i = 0; list[i]; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

static bool contains_one_of(const char *word, word_list list)
{
	for (size_t i = 0; list[i]; i++)
		if (strstr(word, list[i]))
			return true;
	return false;
}

static bool ends_with(const char *word, const char *tail)
{
	size_t n = strlen(word);
	size_t t = strlen(tail);

	return n >= t && !strcmp(word + n - t, tail);
}

static bool has_lower(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (islower((unsigned char)name[i]))
			return true;
	return false;
}

static void split(struct parts *p, const char *name, size_t len)
{
	size_t filled = 0;

	p->n = 0;
	p->capitals = !has_lower(name, len);
	for (size_t i = 0; i <= len && p->n < PARTS_MAX; i++) {
		unsigned char c = i < len ? (unsigned char)name[i] : 0;
		bool hump = i && isupper(c) &&
			    islower((unsigned char)name[i - 1]);

		if (filled && (!isalnum(c) || hump)) {
			p->part[p->n++][filled] = '\0';
			filled = 0;
		}
		if (isalnum(c) && filled < PART_MAX && p->n < PARTS_MAX)
			p->part[p->n][filled++] = (char)tolower(c);
	}
}

static bool is_described(const struct parts *p, size_t from)
{
	for (size_t i = from + 1; i < p->n; i++)
		if (is_one_of(p->part[i], describing_words))
			return true;
	return false;
}

/* Only digits may follow: "token", "token2", "TOKEN_2". */
static bool is_last(const struct parts *p, size_t i)
{
	while (++i < p->n)
		if (strspn(p->part[i], "0123456789") != strlen(p->part[i]))
			return false;
	return true;
}

static bool is_secret_key(const struct parts *p, size_t i)
{
	const char *before = i ? p->part[i - 1] : "";

	if (is_one_of(before, key_words))
		return true;
	return p->capitals && !strcmp(p->part[i], "key") &&
	       !is_one_of(before, plain_key_words);
}

static bool is_secret_token(const struct parts *p, size_t i)
{
	const char *before = i ? p->part[i - 1] : "";

	if (!strcmp(p->part[i], "tokens"))
		return is_one_of(before, key_words);
	if (is_one_of(before, plain_token_words))
		return false;
	return p->capitals || is_last(p, i);
}

static bool is_secret_part(const struct parts *p, size_t i)
{
	const char *part = p->part[i];

	if (contains_one_of(part, strong_words))
		return true;
	if (!strcmp(part, "key") || !strcmp(part, "keys"))
		return is_secret_key(p, i);
	if (!strcmp(part, "token") || !strcmp(part, "tokens"))
		return is_secret_token(p, i);
	/* PGPASSWORD is caught above; PWD alone is a directory. */
	if (!strcmp(part, "pwd"))
		return i > 0;
	/* DB_PASS, --smtp-pass; but --pass 2 and --num-pass count something. */
	if (!strcmp(part, "pass"))
		return i > 0 && is_last(p, i) &&
		       !is_one_of(p->part[i - 1], counting_words);
	/* REDISCLI_AUTH, NPM_CONFIG__AUTH, DOCKER_AUTH_CONFIG; not SSH_AUTH_SOCK. */
	if (p->capitals && !strcmp(part, "auth"))
		return i > 0 &&
		       (is_last(p, i) || !strcmp(p->part[i + 1], "config"));
	if (!strcmp(part, "cred") || !strcmp(part, "creds"))
		return true;
	if (p->capitals && ends_with(part, "pass")) /* SSHPASS */
		return !ends_with(part, "bypass") &&
		       !ends_with(part, "compass");
	/* A presigned URL is as good as a key: X-Amz-Signature, X-Goog-Signature. */
	if (!strcmp(part, "signature"))
		return i > 0 && (!strcmp(p->part[i - 1], "amz") ||
				 !strcmp(p->part[i - 1], "goog"));
	if (!strcmp(part, "cookie") || !strcmp(part, "cookies"))
		return is_last(p, i);
	return p->capitals && ends_with(part, "token");
}

bool redact_is_secret_name(const char *name, size_t len)
{
	struct parts p;

	if (len > NAME_MAX_LEN)
		return false;
	split(&p, name, len);
	for (size_t i = 0; i < p.n; i++)
		if (is_secret_part(&p, i) && !is_described(&p, i))
			return true;
	return false;
}
