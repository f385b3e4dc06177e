/* proxy.c - see proxy.h */
#include "http/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/number.h"

/* ---- the environment ---- */

/* An empty variable is one that is not set. */
static const char *get(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static const char *get_either(const char *lower, const char *upper)
{
	const char *value = get(lower);

	return value ? value : get(upper);
}

static int copy(const char *value, const char *instead, char **ret)
{
	value = value ? value : instead;
	*ret = value ? strdup(value) : NULL;
	return value && !*ret ? -ENOMEM : 0;
}

int http_proxies_init(struct http_proxies *p)
{
	const char *all = get_either("all_proxy", "ALL_PROXY");

	*p = (struct http_proxies){ 0 };
	if (copy(get("http_proxy"), all, &p->http) < 0 ||
	    copy(get_either("https_proxy", "HTTPS_PROXY"), all, &p->https) < 0 ||
	    copy(get_either("no_proxy", "NO_PROXY"), NULL, &p->direct) < 0) {
		http_proxies_release(p);
		return -ENOMEM;
	}
	return 0;
}

void http_proxies_release(struct http_proxies *p)
{
	free(p->http);
	free(p->https);
	free(p->direct);
	*p = (struct http_proxies){ 0 };
}

/* ---- no_proxy ---- */

/* The bytes of an address: 4, 16, or 0 when it is a name. */
static size_t parse_address(const char *text, unsigned char bytes[16])
{
	if (inet_pton(AF_INET, text, bytes) == 1)
		return 4;
	return inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

static bool has_prefix(const unsigned char *a, const unsigned char *b,
		       unsigned long bits)
{
	unsigned rest = bits % 8;

	return memcmp(a, b, bits / 8) == 0 &&
	       (!rest || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0);
}

/* `item` is "ADDRESS" or "ADDRESS/BITS". */
static bool matches_address(char *item, const char *host)
{
	unsigned char network[16], address[16];
	char *slash = strchr(item, '/');
	int64_t bits;
	size_t len;

	if (slash)
		*slash = '\0';
	len = parse_address(item, network);
	if (!len || parse_address(host, address) != len)
		return false;
	bits = (int64_t)(8 * len);
	if (slash && number_parse(slash + 1, 0, bits, &bits) < 0)
		return false;
	return has_prefix(network, address, (size_t)bits);
}

static bool matches_name(const char *item, const char *host)
{
	size_t item_len = strlen(item), len = strlen(host);

	if (len && host[len - 1] == '.')
		len--;
	if (item_len && item[item_len - 1] == '.')
		item_len--;
	if (item_len == 0 || item_len > len ||
	    strncasecmp(host + len - item_len, item, item_len) != 0)
		return false;
	return item_len == len || host[len - item_len - 1] == '.';
}

static bool matches(const char *text, size_t len, const char *host)
{
	unsigned char address[16];
	char item[256];

	if (len >= 2 && *text == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len && *text == '.') {
		text++;
		len--;
	}
	if (len >= sizeof(item))
		return false;
	memcpy(item, text, len);
	item[len] = '\0';
	if (strcmp(item, "*") == 0)
		return true;
	return parse_address(host, address) ? matches_address(item, host) :
					      matches_name(item, host);
}

static bool is_direct(const struct http_proxies *p, const char *host)
{
	const char *at = p->direct ? p->direct : "";

	for (at += strspn(at, ", "); *at; at += strspn(at, ", ")) {
		size_t len = strcspn(at, ", ");

		if (matches(at, len, host))
			return true;
		at += len;
	}
	return false;
}

const char *http_proxies_find(const struct http_proxies *p, bool is_tls,
			      const char *host)
{
	const char *proxy = is_tls ? p->https : p->http;

	return proxy && !is_direct(p, host) ? proxy : NULL;
}

/* ---- credentials ---- */

static void add_base64(struct str *out, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		unsigned long group = (unsigned long)bytes[i] << 16 |
				      (i + 1 < len ? (unsigned long)bytes[i + 1]
							     << 8 :
						     0) |
				      (i + 2 < len ? bytes[i + 2] : 0);

		str_addc(out, digits[group >> 18]);
		str_addc(out, digits[group >> 12 & 63]);
		str_addc(out, i + 1 < len ? digits[group >> 6 & 63] : '=');
		str_addc(out, i + 2 < len ? digits[group & 63] : '=');
	}
}

/* An escape that is malformed stands for itself, as curl has it. */
static void add_decoded(struct str *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int c = i + 2 < len ? hex_byte(text + i + 1) : -1;

		if (text[i] == '%' && c >= 0) {
			str_addc(out, (char)c);
			i += 2;
		} else {
			str_addc(out, text[i]);
		}
	}
}

void http_proxy_add_credentials(const struct http_url *proxy, struct str *out)
{
	CLEANUP(str_release) struct str plain = STR_INIT;

	add_decoded(&plain, proxy->userinfo, proxy->userinfo_len);
	if (!memchr(str_cstr(&plain), ':', plain.len))
		str_addc(&plain, ':');
	out->failed |= plain.failed;
	add_base64(out, (const unsigned char *)str_cstr(&plain), plain.len);
}
