/* certificate.c - see certificate.h */
#include "certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

static FILE *open_file(char *name, size_t size)
{
	int fd;

	(void)snprintf(name, size, "/tmp/roar-test-XXXXXX");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	return fdopen(fd, "w");
}

static void add_extension(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(e);
	assert_int_equal(X509_add_ext(x, e, -1), 1);
	X509_EXTENSION_free(e);
}

static X509 *make(EVP_PKEY *key, const char *name)
{
	char names[128];
	X509 *x = X509_new();
	X509_NAME *subject = X509_get_subject_name(x);

	(void)snprintf(names, sizeof(names), "DNS:%s,IP:127.0.0.1", name);
	(void)X509_set_version(x, 2);
	(void)ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	(void)X509_gmtime_adj(X509_getm_notBefore(x), -60);
	(void)X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	(void)X509_set_pubkey(x, key);
	(void)X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
					 (const unsigned char *)name, -1, -1,
					 0);
	(void)X509_set_issuer_name(x, subject);
	add_extension(x, NID_basic_constraints, "critical,CA:TRUE");
	add_extension(x, NID_subject_alt_name, names);
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	return x;
}

void certificate_make(struct certificate *c, const char *name)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = make(key, name);
	FILE *cert_file = open_file(c->cert, sizeof(c->cert));
	FILE *key_file = open_file(c->key, sizeof(c->key));

	assert_int_equal(PEM_write_X509(cert_file, x), 1);
	assert_int_equal(PEM_write_PrivateKey(key_file, key, NULL, NULL, 0,
					      NULL, NULL),
			 1);
	assert_int_equal(fclose(cert_file) | fclose(key_file), 0);
	X509_free(x);
	EVP_PKEY_free(key);
}

void certificate_remove(const struct certificate *c)
{
	(void)unlink(c->cert);
	(void)unlink(c->key);
}
