/* login.c - see login.h */
#include "etcd/login.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "etcd.pb-c.h"

enum { LOGIN_MS = 4000 }; /* passwords are slow to check, by intention */

void login_end(struct login *l)
{
	if (!l->client)
		return;
	grpc_client_cancel(&l->rpc);
	loop_timer_clear(l->loop, &l->timer);
	l->client = NULL;
}

static void finish(struct login *l, const char *sentence)
{
	login_end(l);
	l->done(l, sentence);
}

static void on_timer(struct loop_timer *t)
{
	finish(container_of(t, struct login, timer),
	       "no token for the user in time");
}

static void on_message(struct grpc_client_call *rpc, const void *data,
		       size_t len)
{
	struct login *l = container_of(rpc, struct login, rpc);
	Etcd__AuthenticateResponse *m = etcd__authenticate_response__unpack(
		NULL, len, data);

	l->has_token = m && *m->token &&
		       grpc_client_set_field(l->client, "token", m->token) == 0;
	if (m)
		etcd__authenticate_response__free_unpacked(m, NULL);
}

static void on_ended(struct grpc_client_call *rpc, unsigned status,
		     const char *sentence)
{
	struct login *l = container_of(rpc, struct login, rpc);

	if (status == 0 && l->has_token)
		finish(l, NULL);
	else
		finish(l, *sentence ? sentence : "no token for the user came");
}

int login_begin(struct login *l, struct loop *loop, struct grpc_client *c,
		const char *user, const char *password)
{
	Etcd__AuthenticateRequest m = ETCD__AUTHENTICATE_REQUEST__INIT;
	uint8_t bytes[1024];
	int r = -EMSGSIZE;

	assert(l->done && !l->client);
	l->loop = loop;
	l->has_token = false;
	l->rpc.message = on_message;
	l->rpc.ended = on_ended;
	l->timer.due = on_timer;
	m.name = (char *)user;
	m.password = (char *)password;
	if (etcd__authenticate_request__get_packed_size(&m) <= sizeof(bytes))
		r = grpc_client_begin(
			c, &l->rpc, "/etcdserverpb.Auth/Authenticate", bytes,
			etcd__authenticate_request__pack(&m, bytes), true);
	explicit_bzero(bytes, sizeof(bytes));
	if (r < 0)
		return r;
	l->client = c;
	(void)loop_timer_set(loop, &l->timer, loop_now_ms(loop) + LOGIN_MS);
	return 0;
}
