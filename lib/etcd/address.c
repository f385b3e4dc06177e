/* address.c - see address.h */
#include "etcd/address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { SHOWN = 200 }; /* bytes of a wrong address that a sentence repeats */

static const char standard_port[] = "2379";

void etcd_addresses_release(struct etcd_addresses *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->list[i].text);
		free(a->list[i].host);
		free(a->list[i].port);
	}
	*a = (struct etcd_addresses){ 0 };
}

static int refuse(const char *text, const char *why, struct roar_error *err)
{
	return error_set(err, -EINVAL,
			 "'%.*s' is no address of etcd: %s; it is "
			 "http://HOST:PORT or https://HOST:PORT",
			 SHOWN, text, why);
}

static bool is_port(const char *port)
{
	size_t n = strspn(port, "0123456789");

	return n && n < 6 && !port[n] && atoi(port) > 0 && atoi(port) < 65536;
}

/* The host ends at the colon before the port; that of version 6 is in brackets. */
static int split(struct etcd_address *a, const char *whole, const char *rest,
		 struct roar_error *err)
{
	bool bracket = rest[0] == '[';
	const char *end = bracket ? strchr(rest, ']') : strchr(rest, ':');
	const char *port = standard_port;

	if (bracket && !end)
		return refuse(whole, "a bracket is not closed", err);
	if (!end)
		end = rest + strlen(rest);
	if (!bracket && *end && strchr(end + 1, ':'))
		return refuse(whole,
			      "an address of IPv6 is written in brackets", err);
	a->host = strndup(rest + bracket, (size_t)(end - rest) - bracket);
	end += bracket;
	if (*end == ':')
		port = end + 1;
	else if (*end)
		return refuse(whole, "what follows the host is no port", err);
	if (!is_port(port))
		return refuse(whole, "the port is none from 1 to 65535", err);
	a->port = strdup(port);
	if (!a->host || !a->port ||
	    asprintf(&a->text, bracket ? "[%s]:%s" : "%s:%s", a->host, port) < 0)
		return -ENOMEM;
	return *a->host ? 0 : refuse(whole, "the host is missing", err);
}

static int parse_one(struct etcd_address *a, const char *text, size_t len,
		     struct roar_error *err)
{
	static const char plain[] = "http://", tls[] = "https://";
	CLEANUP(freep) char *whole = strndup(text, len);
	const char *rest = whole;
	char *slash;

	if (!whole)
		return -ENOMEM;
	a->is_tls = strncmp(rest, tls, sizeof(tls) - 1) == 0;
	if (a->is_tls)
		rest += sizeof(tls) - 1;
	else if (strncmp(rest, plain, sizeof(plain) - 1) == 0)
		rest += sizeof(plain) - 1;
	slash = strchr(rest, '/');
	if (slash && slash[1])
		return refuse(whole, "a path has no meaning here", err);
	if (slash)
		*slash = '\0';
	return split(a, whole, rest, err);
}

int etcd_addresses_parse(const char *text, struct etcd_addresses *ret,
			 struct roar_error *err)
{
	struct etcd_addresses all = { 0 };
	int r = 0;

	while (r == 0) {
		size_t len = strcspn(text, ",");

		if (all.n == ETCD_MAX_MEMBERS)
			r = error_set(err, -EINVAL,
				      "there are more than %d addresses of "
				      "etcd: name some of its members",
				      ETCD_MAX_MEMBERS);
		else
			r = parse_one(&all.list[all.n++], text, len, err);
		if (!text[len])
			break;
		text += len + 1;
	}
	if (r == -ENOMEM)
		(void)error_set(err, r, "no memory for the addresses of etcd");
	if (r < 0) {
		etcd_addresses_release(&all);
		return r;
	}
	*ret = all;
	return 0;
}
