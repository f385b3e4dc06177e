/* certificate.h - a self-signed certificate in files of its own, for tests of TLS. */
#ifndef TESTS_NET_CERTIFICATE_H
#define TESTS_NET_CERTIFICATE_H

struct certificate {
	char cert[64], key[64]; /* names of PEM files */
};

/* Valid for an hour, for the host `name` and for 127.0.0.1. */
void certificate_make(struct certificate *c, const char *name);
void certificate_remove(const struct certificate *c);

#endif
