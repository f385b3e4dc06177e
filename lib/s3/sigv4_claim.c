/* sigv4_claim.c - what clients send: claims, targets and times; see sigv4.h */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/hex.h"
#include "base/macros.h"
#include "s3/sigv4.h"

/* ---- Authorization ---- */

/* Copies up to `end`, a '/' or the end of `*text`, and goes after it. */
static int take_part(const char **text, const char *end, char *ret, size_t size)
{
	const char *slash = memchr(*text, '/', (size_t)(end - *text));
	size_t len = (size_t)((slash ? slash : end) - *text);

	if (len == 0 || len >= size)
		return -EINVAL;
	memcpy(ret, *text, len);
	ret[len] = '\0';
	*text += len + (slash != NULL);
	return 0;
}

int sigv4_claim_parse_scope(const char *text, size_t len,
			    struct sigv4_claim *ret)
{
	const char *end = text + len;
	struct sigv4_claim c = { 0 };

	if (take_part(&text, end, c.key_id, sizeof(c.key_id)) < 0 ||
	    take_part(&text, end, c.date, sizeof(c.date)) < 0 ||
	    take_part(&text, end, c.region, sizeof(c.region)) < 0 ||
	    take_part(&text, end, c.service, sizeof(c.service)) < 0 ||
	    strlen(c.date) != sizeof(c.date) - 1)
		return -EINVAL;
	*ret = c;
	return 0;
}

int sigv4_claim_parse(const char *authorization, struct sigv4_claim *ret)
{
	const char *credential, *signature;
	struct sigv4_claim c;
	int r;

	if (strncmp(authorization, "AWS4-", 5) != 0)
		return -EINVAL;
	credential = strstr(authorization, "Credential=");
	if (!credential)
		return -EINVAL;
	credential += strlen("Credential=");
	r = sigv4_claim_parse_scope(credential, strcspn(credential, ", "), &c);
	if (r < 0)
		return r;
	signature = strstr(authorization, "Signature=");
	if (signature) {
		signature += strlen("Signature=");
		if (strspn(signature, "0123456789abcdef") == 64)
			memcpy(c.signature, signature, 64);
	}
	*ret = c;
	return 0;
}

/* Is this the name of a query parameter that only authorises a presigned URL?  Of this
 * version and of the one before. */
static bool is_auth_parameter(const char *name, size_t len)
{
	/* The last three are those of version 2. */
	static const char *const names[] = {
		"X-Amz-Algorithm",
		"X-Amz-Credential",
		"X-Amz-Date",
		"X-Amz-Expires",
		"X-Amz-SignedHeaders",
		"X-Amz-Signature",
		"X-Amz-Security-Token",
		"X-Amz-Content-Sha256",
		"X-Amz-Region-Set",
		"AWSAccessKeyId",
		"Signature",
		"Expires",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len &&
		    strncasecmp(names[i], name, len) == 0)
			return true;
	return false;
}

/* ---- targets ---- */

static bool is_unreserved(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_' ||
	       c == '~';
}

static void add_escaped(struct str *out, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";

	if (is_unreserved(c))
		str_addc(out, (char)c);
	else
		str_add(out, (char[]){ '%', digits[c >> 4], digits[c & 15] },
			3);
}

void sigv4_escape(struct str *out, const char *text, size_t len,
		  bool keeps_slash)
{
	for (size_t i = 0; i < len; i++) {
		if (keeps_slash && text[i] == '/')
			str_addc(out, '/');
		else
			add_escaped(out, (unsigned char)text[i]);
	}
}

/* The byte that the text begins with, escaped or not; -EINVAL. */
static int take_byte(const char **text, const char *end)
{
	const char *at = *text;
	int high, low;

	if (*at != '%') {
		(*text)++;
		return (unsigned char)*at;
	}
	if (end - at < 3)
		return -EINVAL;
	high = hex_digit(at[1]);
	low = hex_digit(at[2]);
	if (high < 0 || low < 0)
		return -EINVAL;
	*text += 3;
	return high << 4 | low;
}

int sigv4_path(struct str *out, const char *path, size_t len)
{
	for (const char *end = path + len; path < end;) {
		int c = take_byte(&path, end);

		if (c < 0)
			return c;
		if (c == '/')
			str_addc(out, '/');
		else
			add_escaped(out, (unsigned char)c);
	}
	return str_error(out);
}

static int add_query_part(struct str *out, const char *part, size_t len)
{
	for (const char *end = part + len; part < end;) {
		bool is_plus = *part == '+';
		int c = take_byte(&part, end);

		if (c < 0)
			return c;
		add_escaped(out, is_plus ? ' ' : (unsigned char)c);
	}
	return 0;
}

int sigv4_query(struct str *out, const char *query, size_t len)
{
	const char *end = query + len, *next;
	size_t start = out->len;
	int r = 0;

	for (; query < end && r == 0; query = next) {
		size_t n = (size_t)(end - query), name_len;
		const char *stop = memchr(query, '&', n), *equals;

		next = stop ? stop + 1 : end;
		n = (size_t)((stop ? stop : end) - query);
		equals = memchr(query, '=', n);
		name_len = equals ? (size_t)(equals - query) : n;
		if (n == 0 || is_auth_parameter(query, name_len))
			continue;
		if (out->len > start)
			str_addc(out, '&');
		r = add_query_part(out, query, name_len);
		if (r < 0 || !equals)
			continue;
		str_addc(out, '=');
		r = add_query_part(out, equals + 1, n - name_len - 1);
	}
	return r < 0 ? r : str_error(out);
}

/* ---- times ---- */

void sigv4_time_format(int64_t unix_s, char ret[SIGV4_TIME_SIZE])
{
	time_t t = (time_t)unix_s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) ||
	    strftime(ret, SIGV4_TIME_SIZE, "%Y%m%dT%H%M%SZ", &tm) == 0)
		memcpy(ret, "19700101T000000Z", SIGV4_TIME_SIZE);
}

int64_t sigv4_time_parse(const char *text)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y%m%dT%H%M%SZ", &tm);

	return end && !*end ? (int64_t)timegm(&tm) : -EINVAL;
}
