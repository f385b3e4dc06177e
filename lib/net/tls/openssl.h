/* openssl.h - OpenSSL's libssl, loaded when the first TLS handle is created.
 *
 * Most programs never use TLS, and linking would cost each start about a millisecond.  So
 * no program links to libssl.  `ssl` has its functions under their own names and types:
 *
 *	ssl.SSL_read(...)
 *
 * Macros of OpenSSL's headers that call a function are redirected below. */
#ifndef NET_OPENSSL_H
#define NET_OPENSSL_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "base/error.h"

#define OPENSSL_FUNCTIONS(X)                  \
	X(BIO_clear_flags)                    \
	X(BIO_free)                           \
	X(BIO_get_data)                       \
	X(BIO_get_new_index)                  \
	X(BIO_meth_free)                      \
	X(BIO_meth_new)                       \
	X(BIO_meth_set_ctrl)                  \
	X(BIO_meth_set_read)                  \
	X(BIO_meth_set_write)                 \
	X(BIO_new)                            \
	X(BIO_set_data)                       \
	X(BIO_set_flags)                      \
	X(BIO_set_init)                       \
	X(ERR_clear_error)                    \
	X(ERR_peek_last_error)                \
	X(ERR_reason_error_string)            \
	X(SSL_CTX_ctrl)                       \
	X(SSL_CTX_free)                       \
	X(SSL_CTX_load_verify_file)           \
	X(SSL_CTX_new)                        \
	X(SSL_CTX_set_alpn_protos)            \
	X(SSL_CTX_set_alpn_select_cb)         \
	X(SSL_CTX_set_default_verify_paths)   \
	X(SSL_CTX_set_num_tickets)            \
	X(SSL_CTX_set_options)                \
	X(SSL_CTX_set_verify)                 \
	X(SSL_CTX_use_PrivateKey_file)        \
	X(SSL_CTX_use_certificate_chain_file) \
	X(SSL_ctrl)                           \
	X(SSL_do_handshake)                   \
	X(SSL_free)                           \
	X(SSL_get0_alpn_selected)             \
	X(SSL_get0_param)                     \
	X(SSL_get_error)                      \
	X(SSL_get_verify_result)              \
	X(SSL_is_init_finished)               \
	X(SSL_is_server)                      \
	X(SSL_new)                            \
	X(SSL_read)                           \
	X(SSL_select_next_proto)              \
	X(SSL_set1_host)                      \
	X(SSL_set_accept_state)               \
	X(SSL_set_bio)                        \
	X(SSL_set_connect_state)              \
	X(SSL_shutdown)                       \
	X(SSL_write)                          \
	X(TLS_client_method)                  \
	X(TLS_server_method)                  \
	X(X509_VERIFY_PARAM_set1_ip_asc)      \
	X(X509_verify_cert_error_string)

struct openssl {
#define OPENSSL_FIELD(name) __typeof__(&(name)) name;
	OPENSSL_FUNCTIONS(OPENSSL_FIELD)
#undef OPENSSL_FIELD
};

#define BIO_clear_flags ssl.BIO_clear_flags
#define BIO_set_flags ssl.BIO_set_flags
#define SSL_CTX_ctrl ssl.SSL_CTX_ctrl
#define SSL_ctrl ssl.SSL_ctrl

/* Written once, by openssl_load(). */
extern struct openssl ssl;

/* Must have returned 0 before `ssl` is used.  Any thread; only the first call loads.  -ENOSYS
 * with a sentence where the library is not installed. */
int openssl_load(struct roar_error *err);

#endif
