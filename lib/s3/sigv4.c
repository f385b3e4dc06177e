/* sigv4.c - see sigv4.h */
#include "s3/sigv4.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "hash/digest/digest.h"

enum { N_KEYS = 16, BLOCK = 64, DATE_LEN = 8 };

/* A signing key, and all that it was made from. */
struct cached_key {
	char id[SIGV4_MAX_ID], secret[SIGV4_MAX_ID];
	char date[DATE_LEN + 1];
	char region[SIGV4_MAX_REGION], service[SIGV4_MAX_REGION];
	uint8_t key[SIGV4_KEY_LEN];
};

struct sigv4 {
	EVP_MD *sha256;
	EVP_MD_CTX *ctx;
	struct str text; /* the canonical request; its memory is kept */
	struct cached_key keys[N_KEYS]; /* id "": unused */
	unsigned next_key; /* the one that is replaced next */
};

int sigv4_new(struct sigv4 **ret)
{
	CLEANUP(sigv4_freep) struct sigv4 *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!s->sha256)
		return -ENOTSUP;
	s->ctx = EVP_MD_CTX_new();
	if (!s->ctx)
		return -ENOMEM;
	*ret = TAKE_PTR(s);
	return 0;
}

void sigv4_free(struct sigv4 *s)
{
	if (!s)
		return;
	EVP_MD_CTX_free(s->ctx);
	EVP_MD_free(s->sha256);
	str_release(&s->text);
	explicit_bzero(s->keys, sizeof(s->keys));
	free(s);
}

/* ---- SHA-256 and HMAC ---- */

struct piece {
	const void *data;
	size_t len;
};

static int hash_pieces(struct sigv4 *s, const struct piece *pieces, size_t n,
		       uint8_t ret[32])
{
	if (!EVP_DigestInit_ex2(s->ctx, s->sha256, NULL))
		return -EIO;
	for (size_t i = 0; i < n; i++)
		if (!EVP_DigestUpdate(s->ctx, pieces[i].data, pieces[i].len))
			return -EIO;
	return EVP_DigestFinal_ex(s->ctx, ret, NULL) ? 0 : -EIO;
}

int sigv4_sha256(struct sigv4 *s, const void *data, size_t len, uint8_t ret[32])
{
	return hash_pieces(s, &(struct piece){ data, len }, 1, ret);
}

/* H(key ^ opad, H(key ^ ipad, text)), for keys of one block at most. */
static int hmac(struct sigv4 *s, const void *key, size_t key_len,
		const void *text, size_t len, uint8_t ret[32])
{
	uint8_t pad[BLOCK] = { 0 }, inner[32];
	int r;

	assert(key_len <= BLOCK);
	memcpy(pad, key, key_len);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36;
	r = hash_pieces(s, (struct piece[]){ { pad, BLOCK }, { text, len } }, 2,
			inner);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	if (r == 0)
		r = hash_pieces(s,
				(struct piece[]){ { pad, BLOCK },
						  { inner, sizeof(inner) } },
				2, ret);
	explicit_bzero(pad, sizeof(pad));
	return r;
}

/* ---- the signing key ---- */

/* HMAC(HMAC(HMAC(HMAC("AWS4" secret, date), region), service), "aws4_request") */
static int derive_key(struct sigv4 *s, struct cached_key *k)
{
	char start[4 + SIGV4_MAX_ID] = "AWS4";
	const char *const parts[] = { k->date, k->region, k->service,
				      "aws4_request" };
	uint8_t hashed[32];
	const void *key = start;
	size_t len = 4 + strlen(k->secret);
	int r = 0;

	memcpy(start + 4, k->secret, len - 4);
	if (len > BLOCK) {
		r = sigv4_sha256(s, start, len, hashed);
		key = hashed;
		len = sizeof(hashed);
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts) && r == 0; i++) {
		r = hmac(s, key, len, parts[i], strlen(parts[i]), k->key);
		key = k->key;
		len = sizeof(k->key);
	}
	explicit_bzero(start, sizeof(start));
	explicit_bzero(hashed, sizeof(hashed));
	return r;
}

static bool is_key(const struct cached_key *k,
		   const struct sigv4_credentials *c, const char *date,
		   const char *region, const char *service)
{
	return strcmp(k->id, c->key_id) == 0 &&
	       strncmp(k->date, date, DATE_LEN) == 0 &&
	       strcmp(k->region, region) == 0 &&
	       strcmp(k->service, service) == 0 &&
	       strcmp(k->secret, c->secret) == 0;
}

/* The cached key, or a new one in place of the oldest. */
static int find_key(struct sigv4 *s, const struct sigv4_credentials *c,
		    const char *date, const char *region, const char *service,
		    const uint8_t **ret)
{
	struct cached_key *k = &s->keys[s->next_key];
	int r;

	if (!c->key_id[0] || strlen(c->key_id) >= SIGV4_MAX_ID ||
	    strlen(c->secret) >= SIGV4_MAX_ID ||
	    strlen(region) >= SIGV4_MAX_REGION ||
	    strlen(service) >= SIGV4_MAX_REGION ||
	    strlen(date) != SIGV4_TIME_SIZE - 1)
		return -EINVAL;
	for (size_t i = 0; i < N_KEYS; i++) {
		if (is_key(&s->keys[i], c, date, region, service)) {
			*ret = s->keys[i].key;
			return 0;
		}
	}
	(void)snprintf(k->id, sizeof(k->id), "%s", c->key_id);
	(void)snprintf(k->secret, sizeof(k->secret), "%s", c->secret);
	(void)snprintf(k->region, sizeof(k->region), "%s", region);
	(void)snprintf(k->service, sizeof(k->service), "%s", service);
	memcpy(k->date, date, DATE_LEN);
	r = derive_key(s, k);
	if (r < 0) {
		explicit_bzero(k, sizeof(*k));
		return r;
	}
	s->next_key = (s->next_key + 1) % N_KEYS;
	*ret = k->key;
	return 0;
}

/* ---- the canonical request ---- */

struct parameter {
	const char *text;
	size_t len, name_len;
};

static int compare_bytes(const char *a, size_t a_len, const char *b,
			 size_t b_len)
{
	int r = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return r ? r : (a_len > b_len) - (a_len < b_len);
}

static int compare_parameters(const void *a, const void *b)
{
	const struct parameter *x = a, *y = b;
	int r = compare_bytes(x->text, x->name_len, y->text, y->name_len);

	return r ? r : compare_bytes(x->text, x->len, y->text, y->len);
}

/* Sorted by name, then by value; one without a value gets an empty one. */
static int add_query(struct str *out, const char *query)
{
	struct parameter list[SIGV4_MAX_PARAMETERS];
	size_t n = 0;

	for (const char *at = query; at && *at;) {
		size_t len = strcspn(at, "&");

		if (n == ARRAY_SIZE(list))
			return -EINVAL;
		if (len)
			list[n++] = (struct parameter){ at, len,
							strcspn(at, "=&") };
		at += len + (at[len] == '&');
	}
	qsort(list, n, sizeof(list[0]), compare_parameters);
	for (size_t i = 0; i < n; i++) {
		if (i)
			str_addc(out, '&');
		str_add(out, list[i].text, list[i].len);
		if (list[i].name_len == list[i].len)
			str_addc(out, '=');
	}
	return 0;
}

static int compare_fields(const void *a, const void *b)
{
	const struct http_field *const *x = a, *const *y = b;
	int r = strcasecmp((*x)->name, (*y)->name);

	/* Values of one name keep the order in which they are sent. */
	return r ? r : (*x > *y) - (*x < *y);
}

static void add_lower(struct str *out, const char *text)
{
	for (; *text; text++)
		str_addc(out, (char)tolower((unsigned char)*text));
}

/* Without blanks at its ends, and each run of blanks as one. */
static void add_value(struct str *out, const char *value)
{
	size_t len;

	for (value += strspn(value, " \t"); *value;) {
		len = strcspn(value, " \t");
		str_add(out, value, len);
		value += len;
		value += strspn(value, " \t");
		if (*value)
			str_addc(out, ' ');
	}
}

static bool repeats(const struct http_field *const *list, size_t i)
{
	return i && strcasecmp(list[i - 1]->name, list[i]->name) == 0;
}

static void add_names(struct str *out, const struct http_field *const *list,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (repeats(list, i))
			continue;
		if (i)
			str_addc(out, ';');
		add_lower(out, list[i]->name);
	}
}

static void add_fields(struct str *out, const struct http_field *const *list,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (repeats(list, i)) {
			out->len--; /* the line goes on */
			str_addc(out, ',');
		} else {
			add_lower(out, list[i]->name);
			str_addc(out, ':');
		}
		add_value(out, list[i]->value);
		str_addc(out, '\n');
	}
}

static int add_request(struct str *out, const struct sigv4_request *q,
		       const struct http_field *const *list, size_t n)
{
	int r;

	str_addf(out, "%s\n%s\n", q->method, q->path);
	r = add_query(out, q->query);
	if (r < 0)
		return r;
	str_addc(out, '\n');
	add_fields(out, list, n);
	str_addc(out, '\n');
	add_names(out, list, n);
	str_addc(out, '\n');
	str_adds(out, q->payload);
	return str_error(out);
}

/* ---- signatures ---- */

static void fill_scope(char scope[SIGV4_SCOPE_SIZE], const char *time,
		       const char *region, const char *service)
{
	(void)snprintf(scope, SIGV4_SCOPE_SIZE, "%.*s/%s/%s/aws4_request",
		       DATE_LEN, time, region, service);
}

int sigv4_chain_init(struct sigv4 *s,
		     const struct sigv4_credentials *credentials,
		     const char *time, const char *region, const char *service,
		     const char *signature, struct sigv4_chain *ret)
{
	const uint8_t *key;
	int r = find_key(s, credentials, time, region, service, &key);

	if (r < 0)
		return r;
	if (strlen(signature) >= SIGV4_HEX_SIZE)
		return -EINVAL;
	memcpy(ret->key, key, SIGV4_KEY_LEN);
	(void)snprintf(ret->time, sizeof(ret->time), "%s", time);
	(void)snprintf(ret->last, sizeof(ret->last), "%s", signature);
	fill_scope(ret->scope, time, region, service);
	return 0;
}

/* Signs `text`; the signature becomes the last of the chain. */
static int sign_text(struct sigv4 *s, struct sigv4_chain *c, const char *text,
		     size_t len)
{
	uint8_t signature[32];
	int r = hmac(s, c->key, sizeof(c->key), text, len, signature);

	if (r == 0)
		digest_hex(c->last, signature, sizeof(signature));
	return r;
}

int sigv4_sign(struct sigv4 *s, const struct sigv4_credentials *credentials,
	       const struct sigv4_request *q, struct str *out,
	       struct sigv4_chain *ret_chain)
{
	const struct http_field *list[HTTP_MAX_FIELDS + 16];
	struct sigv4_chain c;
	uint8_t digest[32];
	char hex[SIGV4_HEX_SIZE];
	int r;

	assert(q->n_fields <= ARRAY_SIZE(list));
	r = sigv4_chain_init(s, credentials, q->time, q->region, q->service, "",
			     &c);
	if (r < 0)
		return r;
	for (size_t i = 0; i < q->n_fields; i++)
		list[i] = &q->fields[i];
	qsort(list, q->n_fields, sizeof(list[0]), compare_fields);
	str_clear(&s->text);
	r = add_request(&s->text, q, list, q->n_fields);
	if (r == 0)
		r = sigv4_sha256(s, s->text.data, s->text.len, digest);
	if (r < 0)
		return r;
	digest_hex(hex, digest, sizeof(digest));
	str_clear(&s->text);
	str_addf(&s->text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", c.time, c.scope,
		 hex);
	r = str_error(&s->text);
	if (r == 0)
		r = sign_text(s, &c, s->text.data, s->text.len);
	if (r < 0)
		return r;
	str_addf(out, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=",
		 credentials->key_id, c.scope);
	add_names(out, list, q->n_fields);
	str_addf(out, ",Signature=%s", c.last);
	if (ret_chain)
		*ret_chain = c;
	explicit_bzero(&c, sizeof(c));
	return str_error(out);
}

/* "ALGORITHM\ntime\nscope\nlast\n[SHA-256 of nothing\n]SHA-256" */
static int sign_link(struct sigv4 *s, struct sigv4_chain *c,
		     const char *algorithm, const char *middle,
		     const uint8_t sha256[32])
{
	char text[128 + SIGV4_TIME_SIZE + SIGV4_SCOPE_SIZE + 3 * SIGV4_HEX_SIZE];
	char hex[SIGV4_HEX_SIZE];
	int n;

	digest_hex(hex, sha256, 32);
	n = snprintf(text, sizeof(text), "%s\n%s\n%s\n%s\n%s%s", algorithm,
		     c->time, c->scope, c->last, middle, hex);
	return sign_text(s, c, text, (size_t)n);
}

int sigv4_chain_chunk(struct sigv4 *s, struct sigv4_chain *c,
		      const uint8_t sha256[32])
{
	return sign_link(s, c, "AWS4-HMAC-SHA256-PAYLOAD",
			 SIGV4_EMPTY_SHA256 "\n", sha256);
}

int sigv4_chain_trailer(struct sigv4 *s, struct sigv4_chain *c,
			const char *lines, size_t len)
{
	uint8_t digest[32];
	int r = sigv4_sha256(s, lines, len, digest);

	return r < 0 ? r :
		       sign_link(s, c, "AWS4-HMAC-SHA256-TRAILER", "", digest);
}
