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
	const char *
		ca; /* PEM file of trusted authorities, for https://; NULL: those of
			 * the system */
	const char *cert,
		*key; /* that we show them, files of PEM; both or none */
	const char *user, *password; /* both or none */
};

struct tls_client;

/* The same, checked and read. */
struct etcd_door {
	struct address_list addresses;
	struct tls_client *tls; /* NULL: nobody speaks it */
	char *user, *password; /* or NULL */
};

/* -EINVAL with a sentence for what cannot be; -ENOMEM. */
int etcd_door_open(struct etcd_door *d, const struct etcd_access *access,
		   struct roar_error *err);
void etcd_door_release(struct etcd_door *d);

#endif
