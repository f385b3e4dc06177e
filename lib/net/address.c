/* address.c - see address.h */
#include "net/address.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/vec.h"

enum { SHOWN = 200 }; /* bytes of a wrong address that a sentence repeats */

static void address_release(struct address *a)
{
	free(a->text);
	free(a->name);
	free(a->host);
	free(a->port);
	free(a->path);
}

void address_list_release(struct address_list *a)
{
	for (size_t i = 0; i < a->n; i++)
		address_release(&a->list[i]);
	free(a->list);
	*a = (struct address_list){ 0 };
}

const char *address_split(char *text, char **ret_host, char **ret_port)
{
	bool bracket = text[0] == '[';
	char *end = bracket ? strchr(text, ']') : strchr(text, ':');

	if (bracket && !end)
		return "a bracket is not closed";
	if (bracket && end[1] && end[1] != ':')
		return "what follows the host is not a port";
	if (!bracket && end && strchr(end + 1, ':'))
		return "an IPv6 address must be in brackets";
	*ret_host = text + bracket;
	*ret_port = NULL;
	if (!end)
		return NULL;
	if (!bracket || end[1])
		*ret_port = end + bracket + 1;
	*end = '\0';
	return NULL;
}

bool address_is_port(const char *port, int min)
{
	size_t n = strspn(port, "0123456789");

	return n && n < 6 && !port[n] && atoi(port) >= min &&
	       atoi(port) < 65536;
}

/* Returns what is wrong; NULL: nothing, or no memory. */
static const char *parse_unix(struct address *a, const char *path)
{
	if (strncmp(path, "//", 2) == 0)
		path += 2;
	if (!*path)
		return "the path is missing";
	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return "the path is too long for a socket";
	a->path = strdup(path);
	if (asprintf(&a->name, "unix:%s", path) < 0)
		a->name = NULL;
	return NULL;
}

static const char *parse_host(struct address *a, char *text,
			      const struct address_kind *kind)
{
	char *host, *port;
	const char *wrong = address_split(text, &host, &port);

	if (wrong)
		return wrong;
	if (!*host)
		return "the host is missing";
	if (port && !address_is_port(port, 1))
		return "the port is not a number from 1 to 65535";
	a->host = strdup(host);
	a->port = strdup(port ? port : kind->port);
	if (asprintf(&a->name, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
		     port ? port : kind->port) < 0)
		a->name = NULL;
	return NULL;
}

/* The length of the scheme that the text starts with, 0 for none. */
static size_t scheme_len(const char *text, const struct address_kind *kind,
			 bool *ret_is_tls)
{
	size_t n = kind->tls_scheme ? strlen(kind->tls_scheme) : 0;

	*ret_is_tls = n && strncmp(text, kind->tls_scheme, n) == 0;
	if (*ret_is_tls)
		return n;
	for (const char *s = kind->schemes; *s; s += n + 1) {
		n = strcspn(s, " ");
		if (strncmp(text, s, n) == 0)
			return n;
	}
	return 0;
}

static const char *parse_url(struct address *a, char *rest,
			     const struct address_kind *kind)
{
	size_t n = scheme_len(rest, kind, &a->is_tls);
	char *slash = strchr(rest + n, '/');

	if (!n && strstr(rest, "://"))
		return "its scheme is unknown";
	if (slash && slash[1])
		return "a path has no meaning here";
	if (slash)
		*slash = '\0';
	return parse_host(a, rest + n, kind);
}

static int parse_one(struct address *a, const char *text, size_t len,
		     const struct address_kind *kind, struct roar_error *err)
{
	CLEANUP(freep) char *copy = strndup(text, len);
	const char *wrong;

	a->text = strndup(text, len);
	if (!copy || !a->text)
		return -ENOMEM;
	if (kind->has_unix && strncmp(copy, "unix:", 5) == 0)
		wrong = parse_unix(a, copy + 5);
	else
		wrong = parse_url(a, copy, kind);
	if (wrong)
		return error_set(err, -EINVAL,
				 "'%.*s' is not an address of %s: %s; write %s",
				 SHOWN, a->text, kind->service, wrong,
				 kind->form);
	return a->name && (a->path || (a->host && a->port)) ? 0 : -ENOMEM;
}

int address_list_parse(const char *text, const struct address_kind *kind,
		       struct address_list *ret, struct roar_error *err)
{
	struct address_list all = { 0 };
	int r = 0;

	assert(text);
	for (size_t len; r == 0; text += len + 1) {
		struct address *a = VEC_PUSH(all.list, all.n, all.cap);

		len = strcspn(text, ",");
		if (!a)
			r = -ENOMEM;
		else if (all.n > kind->max)
			r = error_set(err, -EINVAL,
				      "there are more than %zu addresses of "
				      "%s: leave some out",
				      kind->max, kind->service);
		else
			r = parse_one(a, text, len, kind, err);
		if (!text[len])
			break;
	}
	if (r == -ENOMEM)
		(void)error_set(err, r, "out of memory");
	if (r < 0) {
		address_list_release(&all);
		return r;
	}
	*ret = all;
	return 0;
}
