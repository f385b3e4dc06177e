/* login.h - a name and a password for a token, which a connection shows from then on.
 *
 * etcd that knows users gives tokens, and may forget them; who has none any more logs in on
 * a new connection. */
#ifndef ETCD_LOGIN_H
#define ETCD_LOGIN_H

#include "net/grpc/grpc_client.h"

/* Held by its owner, zeroed before its first use. */
struct login {
	/* The owner's.  NULL: the connection shows its token now.  Else why not. */
	void (*done)(struct login *l, const char *sentence);

	/* Its own. */
	struct grpc_client_call rpc;
	struct grpc_client *client;
	struct loop *loop;
	struct loop_timer timer;
	bool has_token; /* one came */
};

/* Asks for a token.  `done` is called from the loop.  -ENOMEM. */
int login_begin(struct login *l, struct loop *loop, struct grpc_client *c,
		const char *user, const char *password);
/* Nobody wants it any more. */
void login_end(struct login *l);

#endif
