/* address.h - parses a comma-separated list of server addresses.
 *
 *	HOST:PORT  [V6]:PORT  HOST	the kind's port where none is named
 *	SCHEME HOST:PORT		with or without a slash at the end
 *	unix:PATH  unix://PATH		a Unix socket
 *
 * Names are resolved on connecting (host_lookup.h), not here. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The address syntax of one service. */
struct address_kind {
	const char *service; /* in error messages: "etcd" */
	const char *form; /* likewise: "HOST:PORT or unix:PATH" */
	const char *
		schemes; /* without TLS, each followed by a space: "http:// " */
	const char *tls_scheme; /* "https://"; NULL: no scheme selects TLS */
	const char *port; /* the default */
	size_t max; /* addresses in a list */
	bool has_unix; /* Unix sockets are possible */
};

struct address {
	char *text; /* as given */
	char *name; /* "HOST:PORT", "[V6]:PORT" or "unix:PATH" */
	char *host; /* without brackets; NULL: a Unix socket */
	char *port;
	char *path; /* of a Unix socket, else NULL */
	bool is_tls;
};

struct address_list {
	struct address *list;
	size_t n, cap;
};

/* -EINVAL, with a message that quotes the invalid address; -ENOMEM, with a message as
 * well. */
int address_list_parse(const char *text, const struct address_kind *kind,
		       struct address_list *ret, struct roar_error *err);
void address_list_release(struct address_list *a);

/* Splits "HOST:PORT", "[V6]:PORT", "HOST" or ":PORT" in place.  *ret_port is NULL if there
 * is none.  Returns NULL, or a phrase that names the error.  The port is not checked. */
const char *address_split(char *text, char **ret_host, char **ret_port);
/* Is it a decimal number from `min` to 65535? */
bool address_is_port(const char *port, int min);

#endif
