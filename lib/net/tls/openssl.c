/* openssl.c - see openssl.h */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/macros.h"
#include "net/tls/openssl.h"

#undef BIO_clear_flags
#undef BIO_set_flags
#undef SSL_CTX_ctrl
#undef SSL_ctrl

struct openssl ssl;

static const struct {
	const char *name;
	void *field;
} fields[] = {
#define ROW(name) { #name, &ssl.name },
	OPENSSL_FUNCTIONS(ROW)
#undef ROW
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded; /* set within `once` */

static void load(void)
{
	void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < ARRAY_SIZE(fields); i++) {
		/* This also finds functions of libcrypto, a dependency of libssl. */
		void *found = dlsym(library, fields[i].name);

		if (!found)
			return;
		*(void **)fields[i].field = found;
	}
	is_loaded = library != NULL;
}

int openssl_load(struct roar_error *err)
{
	(void)pthread_once(&once, load);
	if (!is_loaded)
		return error_set(
			err, -ENOSYS,
			"TLS needs OpenSSL's libssl.so.3, which was "
			"not found: install it, or connect without TLS");
	return 0;
}
