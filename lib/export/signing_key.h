/* signing_key.h - an Ed25519 private key from a file, and signatures by it.
 *
 * Files of OpenSSL (PKCS #8 in PEM, as `openssl genpkey -algorithm ed25519` writes it) and of
 * OpenSSH (`ssh-keygen -t ed25519`) are read; both without a passphrase. */
#ifndef ROAR_EXPORT_SIGNING_KEY_H
#define ROAR_EXPORT_SIGNING_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct str;

enum { SIGNING_KEY_LEN = 32, SIGNATURE_LEN = 64 };

struct signing_key {
	uint8_t seed[SIGNING_KEY_LEN]; /* the secret */
	uint8_t public[SIGNING_KEY_LEN];
};

/* -EINVAL with a message when the text is not such a key. */
int signing_key_parse(const char *text, struct signing_key *ret,
		      struct roar_error *err);

/* Also as open(2) and read(2). */
int signing_key_read(const char *path, struct signing_key *ret,
		     struct roar_error *err);

/* Overwrites the secret. */
void signing_key_release(struct signing_key *key);

/* 0, or -EIO. */
int signing_key_sign(const struct signing_key *key, const void *data,
		     size_t len, uint8_t ret[SIGNATURE_LEN]);

/* Appends "SHA256:...", the fingerprint that ssh-keygen -l prints. */
void signing_key_add_fingerprint(const struct signing_key *key,
				 struct str *out);

/* Appends `len` bytes in base64. */
void base64_add(struct str *out, const void *data, size_t len);

#endif
