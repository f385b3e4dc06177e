/* address.h - where etcd is: "http://HOST:PORT,https://HOST:PORT". */
#ifndef ETCD_ADDRESS_H
#define ETCD_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { ETCD_MAX_MEMBERS = 16 };

struct etcd_address {
	char *text; /* "HOST:PORT", for sentences and for HTTP/2 */
	char *host; /* without brackets */
	char *port;
	bool is_tls;
};

struct etcd_addresses {
	struct etcd_address list[ETCD_MAX_MEMBERS];
	size_t n;
};

/* "http://" may be left out, and the port, which is 2379 then.  -EINVAL with a sentence for
 * what is no such list; -ENOMEM. */
int etcd_addresses_parse(const char *text, struct etcd_addresses *ret,
			 struct roar_error *err);
void etcd_addresses_release(struct etcd_addresses *a);

#endif
