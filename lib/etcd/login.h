/* login.h - exchanges name and password for a token, which the connection then sends.
 *
 * An etcd with users issues tokens, and may forget them; the client then logs in on a new
 * connection. */
#ifndef ETCD_LOGIN_H
#define ETCD_LOGIN_H

#include "net/grpc/grpc_client.h"

/* Owned by the caller, zeroed before its first use. */
struct login {
	/* Set by the owner.  `sentence` NULL: the connection sends its token now; otherwise
	 * the reason of the failure. */
	void (*done)(struct login *l, const char *sentence);

	/* Private. */
	struct grpc_client_call rpc;
	struct grpc_client *client;
	struct loop *loop;
	struct loop_timer timer;
	bool has_token; /* received */
};

/* Requests a token.  `done` is called from the loop.  -ENOMEM. */
int login_begin(struct login *l, struct loop *loop, struct grpc_client *c,
		const char *user, const char *password);
/* Cancels the login. */
void login_end(struct login *l);

#endif
