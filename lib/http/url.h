/* url.h - the parts of a URL: scheme, user, host, port and target. */
#ifndef HTTP_URL_H
#define HTTP_URL_H

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_MAX_HOST = 255 };

struct http_url {
	bool is_tls; /* https */
	char host[HTTP_MAX_HOST + 1]; /* an IPv6 address without its brackets */
	char port[6]; /* decimal; that of the scheme where none is given */
	const char *
		userinfo; /* "user:password" inside the text, escaped; or NULL */
	size_t userinfo_len;
	const char *target; /* the text from the path on; "" without one */
};

/* Parses "http://host", "https://user:password@[::1]:8443/path".  A text without a scheme is
 * taken for http.  Returns 0; -EINVAL for another scheme, for a host or port that
 * cannot be one, and for control characters and blanks. */
int http_url_parse(const char *text, struct http_url *ret);

/* Is this the port of its scheme, which Host leaves out? */
bool http_url_is_default_port(const struct http_url *u);

#endif
