/* signing_key.c - see signing_key.h */
#include "export/signing_key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "hash/file/file_hash.h"

enum { FILE_MAX = 64 * 1024 };

static const char pem_begin[] = "-----BEGIN PRIVATE KEY-----";
static const char ssh_begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
static const char ssh_type[] = "ssh-ed25519";

void base64_add(struct str *out, const void *data, size_t len)
{
	size_t n = 4 * ((len + 2) / 3);

	if (str_reserve(out, n + 1) < 0)
		return;
	(void)EVP_EncodeBlock((unsigned char *)out->data + out->len, data,
			      (int)len);
	out->len += n;
}

/* What stands between the two lines of dashes. */
static int decode(const char *text, const char *begin, struct str *ret)
{
	CLEANUP(str_release) struct str packed = STR_INIT;
	const char *c = strstr(text, begin) + strlen(begin);
	size_t n_pads = 0;
	int n;

	for (; *c && *c != '-'; c++) {
		n_pads += *c == '=';
		if (!strchr(" \t\r\n", *c))
			str_addc(&packed, *c);
	}
	if (packed.failed || str_reserve(ret, packed.len + 1) < 0)
		return -ENOMEM;
	if (!packed.len || packed.len % 4 || n_pads > 2)
		return -EINVAL;
	n = EVP_DecodeBlock((unsigned char *)ret->data,
			    (const unsigned char *)packed.data,
			    (int)packed.len);
	if (n < (int)n_pads)
		return -EINVAL;
	ret->len = (size_t)n - n_pads;
	return 0;
}

/* ---- PKCS #8 ---- */

/* SEQUENCE { 0, { Ed25519 }, OCTET STRING { OCTET STRING of 32 bytes */
static const uint8_t der_head[] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30,
				    0x05, 0x06, 0x03, 0x2b, 0x65, 0x70,
				    0x04, 0x22, 0x04, 0x20 };

static int parse_der(const struct str *der, struct signing_key *ret)
{
	if (der->len != sizeof(der_head) + SIGNING_KEY_LEN ||
	    memcmp(der->data, der_head, sizeof(der_head)) != 0)
		return -EINVAL;
	memcpy(ret->seed, der->data + sizeof(der_head), SIGNING_KEY_LEN);
	return 0;
}

/* ---- OpenSSH ----
 *
 *	"openssh-key-v1\0" cipher kdf options number-of-keys public private
 *
 * each a length of four bytes, most significant first, and that many bytes; the number is
 * the four bytes alone.  Private is two equal numbers, type, public key, secret key (the
 * seed and the public key), comment and padding. */

struct reader {
	const uint8_t *data;
	size_t len;
};

static bool read_number(struct reader *r, uint32_t *ret)
{
	if (r->len < 4)
		return false;
	*ret = (uint32_t)r->data[0] << 24 | (uint32_t)r->data[1] << 16 |
	       (uint32_t)r->data[2] << 8 | r->data[3];
	r->data += 4;
	r->len -= 4;
	return true;
}

static bool read_string(struct reader *r, struct reader *ret)
{
	uint32_t n;

	if (!read_number(r, &n) || n > r->len)
		return false;
	*ret = (struct reader){ r->data, n };
	r->data += n;
	r->len -= n;
	return true;
}

static bool equals(const struct reader *r, const char *text)
{
	return r->len == strlen(text) && memcmp(r->data, text, r->len) == 0;
}

static int parse_secret(struct reader secret, struct signing_key *ret)
{
	struct reader type, public, pair;
	uint32_t a, b;

	if (!read_number(&secret, &a) || !read_number(&secret, &b) || a != b ||
	    !read_string(&secret, &type) || !equals(&type, ssh_type) ||
	    !read_string(&secret, &public) || !read_string(&secret, &pair) ||
	    pair.len != SIGNING_KEY_LEN + sizeof(ret->public))
		return -EINVAL;
	memcpy(ret->seed, pair.data, SIGNING_KEY_LEN);
	return 0;
}

/* -EACCES: it is encrypted. */
static int parse_ssh(const struct str *blob, struct signing_key *ret)
{
	static const char magic[] = "openssh-key-v1";
	struct reader r = { (const uint8_t *)blob->data, blob->len };
	struct reader cipher, kdf, options, public, secret;
	uint32_t n_keys;

	if (r.len < sizeof(magic) || memcmp(r.data, magic, sizeof(magic)) != 0)
		return -EINVAL;
	r.data += sizeof(magic);
	r.len -= sizeof(magic);
	if (!read_string(&r, &cipher) || !read_string(&r, &kdf) ||
	    !read_string(&r, &options) || !read_number(&r, &n_keys) ||
	    n_keys != 1 || !read_string(&r, &public) ||
	    !read_string(&r, &secret))
		return -EINVAL;
	if (!equals(&cipher, "none"))
		return -EACCES;
	return parse_secret(secret, ret);
}

/* ---- both ---- */

static EVP_PKEY *open_key(const struct signing_key *key)
{
	return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key->seed,
					    sizeof(key->seed));
}

static int fill_public(struct signing_key *key)
{
	size_t len = sizeof(key->public);
	EVP_PKEY *pkey = open_key(key);
	int ok = pkey ? EVP_PKEY_get_raw_public_key(pkey, key->public, &len) :
			0;

	EVP_PKEY_free(pkey);
	return ok == 1 ? 0 : -EIO;
}

int signing_key_parse(const char *text, struct signing_key *ret,
		      struct roar_error *err)
{
	CLEANUP(str_release) struct str blob = STR_INIT;
	struct signing_key key = { 0 };
	int r = -EINVAL;

	if (strstr(text, pem_begin)) {
		r = decode(text, pem_begin, &blob);
		if (r == 0)
			r = parse_der(&blob, &key);
	} else if (strstr(text, ssh_begin)) {
		r = decode(text, ssh_begin, &blob);
		if (r == 0)
			r = parse_ssh(&blob, &key);
	}
	if (r == 0)
		r = fill_public(&key);
	if (r == 0)
		*ret = key;
	signing_key_release(&key);
	if (blob.len)
		explicit_bzero(blob.data, blob.len);
	if (r == -EACCES)
		return error_set(err, -EINVAL,
				 "the key has a passphrase: make one without, "
				 "such as by 'ssh-keygen -t ed25519 -N \"\"'");
	if (r == -EINVAL)
		return error_set(err, r,
				 "that is not a private Ed25519 key of OpenSSL "
				 "(PEM) or OpenSSH");
	return r < 0 ? error_set(err, r, "%s", strerror(-r)) : 0;
}

int signing_key_read(const char *path, struct signing_key *ret,
		     struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct roar_error why = { 0 };
	int r = fd_read_file(AT_FDCWD, path, FILE_MAX, &text);

	if (r < 0)
		return error_set(err, r, "cannot read the key '%.200s': %s",
				 path, strerror(-r));
	r = signing_key_parse(str_cstr(&text), ret, &why);
	if (text.len)
		explicit_bzero(text.data, text.len);
	return r < 0 ? error_set(err, r, "cannot use the key '%.200s': %s",
				 path, why.text) :
		       0;
}

void signing_key_release(struct signing_key *key)
{
	explicit_bzero(key, sizeof(*key));
}

int signing_key_sign(const struct signing_key *key, const void *data,
		     size_t len, uint8_t ret[SIGNATURE_LEN])
{
	size_t n = SIGNATURE_LEN;
	EVP_PKEY *pkey = open_key(key);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int ok = pkey && ctx &&
		 EVP_DigestSignInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
		 EVP_DigestSign(ctx, ret, &n, data, len) == 1;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	return ok ? 0 : -EIO;
}

void signing_key_add_fingerprint(const struct signing_key *key, struct str *out)
{
	uint8_t blob[4 + sizeof(ssh_type) - 1 + 4 + SIGNING_KEY_LEN] = {
		0, 0, 0, sizeof(ssh_type) - 1
	};
	struct digests d;

	memcpy(blob + 4, ssh_type, sizeof(ssh_type) - 1);
	blob[4 + sizeof(ssh_type) - 1 + 3] = SIGNING_KEY_LEN;
	memcpy(blob + sizeof(blob) - SIGNING_KEY_LEN, key->public,
	       SIGNING_KEY_LEN);
	if (digest_buffer(blob, sizeof(blob), 1 << DIGEST_SHA256, &d) < 0) {
		out->failed = true;
		return;
	}
	str_adds(out, "SHA256:");
	base64_add(out, d.sha256, sizeof(d.sha256));
	while (out->len && out->data[out->len - 1] == '=')
		out->data[--out->len] = '\0';
}
