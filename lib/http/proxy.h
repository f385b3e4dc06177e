/* proxy.h - which requests go through a proxy, by the environment variables that curl has.
 *
 *	http_proxy	for http.  In lower case only: a CGI program gets the Proxy field of
 *			a request as HTTP_PROXY.
 *	https_proxy	for https; HTTPS_PROXY counts where it is not set
 *	all_proxy	for both, where theirs is not set; ALL_PROXY likewise
 *	no_proxy	hosts that are reached directly, by commas; NO_PROXY likewise
 *
 * no_proxy has names, which stand for their subdomains too (with or without a dot in
 * front), IP addresses, networks ("10.0.0.0/8"), or "*" for all hosts. */
#ifndef HTTP_PROXY_H
#define HTTP_PROXY_H

#include <stdbool.h>

#include "base/str.h"
#include "http/url.h"

struct http_proxies {
	char *http, *https; /* URLs; NULL: requests go to the server itself */
	char *direct; /* the list of no_proxy; NULL: it is empty */
};

/* Reads the environment.  0 or -ENOMEM. */
int http_proxies_init(struct http_proxies *p);
void http_proxies_release(struct http_proxies *p);

/* The URL of the proxy for this host, or NULL. */
const char *http_proxies_find(const struct http_proxies *p, bool is_tls,
			      const char *host);

/* Appends user and password of the proxy's URL as "Basic" wants them (RFC 7617). */
void http_proxy_add_credentials(const struct http_url *proxy, struct str *out);

#endif
