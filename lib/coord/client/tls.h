/* tls.h - TLS as a filter between bytes and bytes; who sends them is not its affair.
 *
 * libssl is loaded when the first connection asks for it: most programs never do, and
 * would pay for it at each start. */
#ifndef COORD_CLIENT_TLS_H
#define COORD_CLIENT_TLS_H

#include <stddef.h>

#include "base/error.h"

struct client_tls;
struct str;

/* A connection to `name`, which must be in the server's certificate, vouched for by one in
 * the file `ca`.  -ENOSYS where libssl is not. */
int client_tls_new(const char *ca, const char *name, struct client_tls **ret,
		   struct roar_error *err);
void client_tls_free(struct client_tls *t);

/* Appends to `wire` what is to be sent.  0 when it is done, -EAGAIN before, -EPROTO. */
int client_tls_handshake(struct client_tls *t, struct str *wire);
/* Takes bytes from the wire, appends what they mean.  0 or -EPROTO. */
int client_tls_read(struct client_tls *t, const void *data, size_t len,
		    struct str *plain);
/* Empties `plain` into `wire`. */
int client_tls_write(struct client_tls *t, struct str *plain, struct str *wire);
/* Why the last of these failed. */
const char *client_tls_error(const struct client_tls *t);

#endif
