/* url.c - see url.h */
#include "http/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *default_port(bool is_tls)
{
	return is_tls ? "443" : "80";
}

/* Where the authority begins; NULL for a scheme that is not HTTP. */
static const char *skip_scheme(const char *text, bool *ret_is_tls)
{
	const char *colon = strstr(text, "://");

	*ret_is_tls = false;
	if (!colon)
		return text;
	if (colon - text == 4 && strncasecmp(text, "http", 4) == 0)
		return colon + 3;
	*ret_is_tls = true;
	return colon - text == 5 && strncasecmp(text, "https", 5) == 0 ?
		       colon + 3 :
		       NULL;
}

/* Characters of names and of addresses; '%' begins the zone of an IPv6 address. */
static bool is_host(const char *host, size_t len, bool is_v6)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)host[i];

		if (c <= ' ' || c >= 0x7f || strchr("/?#@\\[]<>\"", c) ||
		    (!is_v6 && (c == ':' || c == '%')))
			return false;
	}
	return len > 0 && len <= HTTP_MAX_HOST;
}

static int parse_port(const char *text, size_t len, struct http_url *u)
{
	size_t n = strspn(text, "0123456789");
	unsigned long port = strtoul(text, NULL, 10);

	if (n != len || n == 0 || n >= sizeof(u->port) || port == 0 ||
	    port > 65535)
		return -EINVAL;
	memcpy(u->port, text, len);
	u->port[len] = '\0';
	return 0;
}

/* "HOST", "HOST:PORT", "[ADDRESS]" or "[ADDRESS]:PORT" */
static int parse_host(const char *text, size_t len, struct http_url *u)
{
	bool is_v6 = len && *text == '[';
	const char *end = is_v6 ? memchr(text, ']', len) :
				  memrchr(text, ':', len);
	const char *host = text + is_v6;
	const char *after;

	if (!end)
		end = text + len;
	if (is_v6 && end == text + len)
		return -EINVAL;
	if (!is_host(host, (size_t)(end - host), is_v6))
		return -EINVAL;
	memcpy(u->host, host, (size_t)(end - host));
	u->host[end - host] = '\0';
	after = end + is_v6;
	if (after == text + len) {
		(void)snprintf(u->port, sizeof(u->port), "%s",
			       default_port(u->is_tls));
		return 0;
	}
	if (*after != ':')
		return -EINVAL;
	return parse_port(after + 1, (size_t)(text + len - after - 1), u);
}

int http_url_parse(const char *text, struct http_url *ret)
{
	struct http_url u = { 0 };
	const char *at = skip_scheme(text, &u.is_tls);
	const char *user_end;
	size_t len;
	int r;

	if (!at)
		return -EINVAL;
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return -EINVAL;
	len = strcspn(at, "/?#");
	u.target = at + len;
	user_end = memrchr(at, '@', len);
	if (user_end) {
		u.userinfo = at;
		u.userinfo_len = (size_t)(user_end - at);
		len -= u.userinfo_len + 1;
		at = user_end + 1;
	}
	r = parse_host(at, len, &u);
	if (r == 0)
		*ret = u;
	return r;
}

bool http_url_is_default_port(const struct http_url *u)
{
	return strcmp(u->port, default_port(u->is_tls)) == 0;
}
