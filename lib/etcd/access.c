/* access.c - see access.h */
#include "etcd/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/tls/tls_client.h"

static const struct address_kind KIND = {
	.service = "etcd",
	.form = "http://HOST:PORT or https://HOST:PORT",
	.schemes = "http:// ",
	.tls_scheme = "https://",
	.port = "2379",
	.max = ETCD_MAX_MEMBERS,
};

void etcd_door_release(struct etcd_door *d)
{
	address_list_release(&d->addresses);
	tls_client_free(d->tls);
	free(d->user);
	if (d->password)
		explicit_bzero(d->password, strlen(d->password));
	free(d->password);
	*d = (struct etcd_door){ 0 };
}

static bool any_is_tls(const struct address_list *a)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->list[i].is_tls)
			return true;
	}
	return false;
}

static int open_tls(struct etcd_door *d, const struct etcd_access *a,
		    struct roar_error *err)
{
	if (!a->cert != !a->key)
		return error_set(err, -EINVAL,
				 "a certificate for etcd and its key need each "
				 "other");
	if (any_is_tls(&d->addresses))
		return tls_client_new(a->ca, a->cert, a->key, "h2", &d->tls,
				      err);
	if (a->ca || a->cert)
		return error_set(err, -EINVAL,
				 "certificates for etcd have no use, since '%s' "
				 "is without TLS; write https://",
				 a->addresses);
	return 0;
}

static int take_user(struct etcd_door *d, const struct etcd_access *a,
		     struct roar_error *err)
{
	if (!a->user)
		return 0;
	if (!*a->user || strlen(a->user) > ETCD_MAX_SECRET)
		return error_set(err, -EINVAL,
				 "a user of etcd has a name of 1 to %d bytes",
				 ETCD_MAX_SECRET);
	if (!a->password || !*a->password ||
	    strlen(a->password) > ETCD_MAX_SECRET)
		return error_set(
			err, -EINVAL,
			"the user '%s' of etcd needs a password of 1 to "
			"%d bytes",
			a->user, ETCD_MAX_SECRET);
	d->user = strdup(a->user);
	d->password = strdup(a->password);
	if (!d->user || !d->password)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

int etcd_door_open(struct etcd_door *d, const struct etcd_access *access,
		   struct roar_error *err)
{
	int r;

	*d = (struct etcd_door){ 0 };
	r = address_list_parse(access->addresses, &KIND, &d->addresses, err);
	if (r == 0)
		r = open_tls(d, access, err);
	if (r == 0)
		r = take_user(d, access, err);
	if (r < 0)
		etcd_door_release(d);
	return r;
}
