/* address.c - see address.h */
#include "coord/client/address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/macros.h"
#include "base/vec.h"

enum { SHOWN = 200 }; /* bytes of a wrong address that a sentence repeats */

static void address_release(struct client_address *a)
{
	free(a->text);
	free(a->host);
	free(a->port);
	free(a->path);
}

void client_addresses_release(struct client_addresses *a)
{
	for (size_t i = 0; i < a->n; i++)
		address_release(&a->list[i]);
	free(a->list);
	*a = (struct client_addresses){ 0 };
}

static int refuse(const char *text, const char *why, struct roar_error *err)
{
	return error_set(err, -EINVAL,
			 "'%.*s' is no address of a coordinator: %s; it is "
			 "HOST:PORT or unix:PATH",
			 SHOWN, text, why);
}

/* Behind "grpc://" and the like; a path behind the port has no meaning. */
static bool skip_scheme(const char **text)
{
	static const char *const schemes[] = { "grpc://", "http://", "tcp://",
					       "dns:///" };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (strncmp(*text, schemes[i], n) == 0) {
			*text += n;
			return true;
		}
	}
	return false;
}

static int parse_unix(struct client_address *a, const char *path,
		      struct roar_error *err)
{
	if (strncmp(path, "//", 2) == 0)
		path += 2;
	if (!*path)
		return refuse(a->text, "the path is missing", err);
	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return refuse(a->text, "the path is too long for a socket",
			      err);
	a->path = strdup(path);
	return a->path ? 0 : -ENOMEM;
}

static bool is_port(const char *port)
{
	size_t n = strspn(port, "0123456789");

	return n && n < 6 && !port[n] && atoi(port) > 0 && atoi(port) < 65536;
}

/* The host ends at the colon before the port; that of version 6 is in brackets. */
static int parse_host(struct client_address *a, const char *text,
		      struct roar_error *err)
{
	bool bracket = text[0] == '[';
	const char *end = bracket ? strchr(text, ']') : strchr(text, ':');
	char standard[8];
	const char *port = standard;

	(void)snprintf(standard, sizeof(standard), "%d", ADDRESS_PORT);
	if (bracket && !end)
		return refuse(a->text, "a bracket is not closed", err);
	if (!end)
		end = text + strlen(text);
	if (!bracket && *end && strchr(end + 1, ':'))
		return refuse(a->text,
			      "an address of IPv6 is written in brackets", err);
	a->host = strndup(text + bracket, (size_t)(end - text) - bracket);
	end += bracket;
	if (*end == ':')
		port = end + 1;
	else if (*end)
		return refuse(a->text, "what follows the host is no port", err);
	if (!is_port(port))
		return refuse(a->text, "the port is none from 1 to 65535", err);
	a->port = strdup(port);
	if (!a->host || !a->port)
		return -ENOMEM;
	return *a->host ? 0 : refuse(a->text, "the host is missing", err);
}

static int parse_one(struct client_address *a, const char *text, size_t len,
		     struct roar_error *err)
{
	const char *rest;
	char *slash;

	a->text = strndup(text, len);
	if (!a->text)
		return -ENOMEM;
	rest = a->text;
	if (strncmp(rest, "unix:", 5) == 0)
		return parse_unix(a, rest + 5, err);
	if (skip_scheme(&rest)) {
		slash = strchr(rest, '/');
		if (slash && !slash[1])
			*slash = '\0';
	}
	if (strstr(rest, "://"))
		return refuse(a->text,
			      "of URLs, grpc:// and http:// are known "
			      "(TLS is asked for by a file of certificates)",
			      err);
	return parse_host(a, rest, err);
}

int client_addresses_parse(const char *text, struct client_addresses *ret,
			   struct roar_error *err)
{
	struct client_addresses all = { 0 };
	int r = 0;

	while (r == 0) {
		size_t len = strcspn(text, ",");
		struct client_address *a = VEC_PUSH(all.list, all.n, all.cap);

		if (!a)
			r = error_set(err, -ENOMEM,
				      "no memory for the addresses");
		else if (all.n > ADDRESS_MAX)
			r = error_set(err, -EINVAL,
				      "there are more than %d addresses",
				      ADDRESS_MAX);
		else
			r = parse_one(a, text, len, err);
		if (!text[len])
			break;
		text += len + 1;
	}
	if (r < 0) {
		client_addresses_release(&all);
		return r;
	}
	*ret = all;
	return 0;
}
