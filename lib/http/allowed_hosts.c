/* allowed_hosts.c - see allowed_hosts.h */
#include "http/allowed_hosts.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_NAME = 256 };

/* Is that nothing, or ":PORT", up to the next comma? */
static bool is_port(const char *text)
{
	size_t len = strcspn(text, ",");

	return len == 0 ||
	       (*text == ':' && strspn(text + 1, "0123456789") == len - 1);
}

/* The name in "NAME", "NAME:PORT" or "[ADDRESS]:PORT". */
static bool take_name(const char *text, char name[MAX_NAME])
{
	bool is_v6 = *text == '[';
	size_t len;

	text += is_v6;
	len = strcspn(text, is_v6 ? "]" : ":,");
	if (len == 0 || len >= MAX_NAME || (is_v6 && text[len] != ']') ||
	    !is_port(text + len + is_v6))
		return false;
	memcpy(name, text, len);
	name[len] = '\0';
	return true;
}

/* An address cannot be made to resolve to another one. */
static bool is_address(const char *name)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, name, bytes) == 1 ||
	       inet_pton(AF_INET6, name, bytes) == 1;
}

static bool is_localhost(const char *name)
{
	static const char ending[] = ".localhost";
	size_t len = strlen(name);

	return strcasecmp(name, ending + 1) == 0 ||
	       (len >= sizeof(ending) &&
		strcasecmp(name + len - (sizeof(ending) - 1), ending) == 0);
}

static bool is_machine(const char *name)
{
	char own[MAX_NAME] = "";

	return gethostname(own, sizeof(own) - 1) == 0 && *own &&
	       strcasecmp(name, own) == 0;
}

bool allowed_host_is_own(const char *host)
{
	char name[MAX_NAME];

	return !host ||
	       (take_name(host, name) &&
		(is_address(name) || is_localhost(name) || is_machine(name)));
}

bool allowed_host_is_among(const char *host, const char *names)
{
	char name[MAX_NAME], other[MAX_NAME];

	if (!take_name(host, name))
		return false;
	for (const char *at = names; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (take_name(at, other) && strcasecmp(name, other) == 0)
			return true;
	}
	return false;
}
