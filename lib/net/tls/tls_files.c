/* tls_files.c - certificates, keys and lists of protocols, for servers and clients. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "net/tls/tls_internal.h"

void tls_alpn_pack(struct tls_alpn *ret, const char *list)
{
	size_t n;

	ret->len = 0;
	assert(*list && strlen(list) <= TLS_MAX_ALPN);
	for (const char *at = list;; at += n + 1) {
		n = strcspn(at, ",");
		assert(n > 0);
		ret->bytes[ret->len] = (unsigned char)n;
		memcpy(ret->bytes + ret->len + 1, at, n);
		ret->len += 1 + n;
		if (!at[n])
			return;
	}
}

const char *tls_reason(const char *file)
{
	const char *text;

	if (file && access(file, R_OK) < 0)
		return strerror(errno);
	text = ssl.ERR_reason_error_string(ssl.ERR_peek_last_error());
	return text ? text : "no reason given";
}

int tls_load_own(SSL_CTX *ctx, const char *cert, const char *key,
		 struct roar_error *err)
{
	if (ssl.SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
		return error_set(err, -EINVAL,
				 "cannot use the certificate '%s': %s", cert,
				 tls_reason(cert));
	if (ssl.SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		return error_set(err, -EINVAL,
				 "cannot use '%s' as the key of '%s': %s", key,
				 cert, tls_reason(key));
	return 0;
}
