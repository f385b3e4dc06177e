/* access.h - the addresses of etcd, and our credentials. */
#ifndef ETCD_ACCESS_H
#define ETCD_ACCESS_H

#include "base/error.h"
#include "net/address.h"

enum {
	ETCD_MAX_MEMBERS = 16, /* addresses of a cluster */
	ETCD_MAX_SECRET = 400, /* bytes of a user's name, and of its password */
};

/* As given; only `addresses` is required.  Strings are the caller's. */
struct etcd_access {
	const char *addresses; /* "http://HOST:PORT,https://HOST:PORT" */
	/* PEM file of trusted authorities, for https://; NULL: those of the system. */
	const char *ca;
	/* PEM files of the client's certificate and key; both or neither. */
	const char *cert, *key;
	const char *user, *password; /* both or neither */
};

struct tls_client;

/* The same, validated, with the files loaded. */
struct etcd_door {
	struct address_list addresses;
	struct tls_client *tls; /* NULL: no address uses TLS */
	char *user, *password; /* or NULL */
};

/* -EINVAL, with a message, for invalid values; -ENOMEM. */
int etcd_door_open(struct etcd_door *d, const struct etcd_access *access,
		   struct roar_error *err);
void etcd_door_release(struct etcd_door *d);

#endif
