/* coordinator_ask.c - see coordinator_ask.h */
#include "coordinator/coordinator_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <roar/coord.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/vec.h"
#include "coord/client/client.h"

enum {
	ANSWER_MS = 10000,
	TOKEN_MAX = 4096, /* bytes of the file that holds it */
	PAGES_MAX = 1000, /* then something is wrong at the other end */
};

static const char standard_address[] = "127.0.0.1:50051";

/* ---- connecting ---- */

/* The first line of the file. */
static int read_token(const char *path, struct str *token,
		      struct roar_error *err)
{
	int r = fd_read_file(AT_FDCWD, path, TOKEN_MAX, token);

	if (r < 0)
		return error_set(err, r,
				 "cannot read a token from '%.200s': %s", path,
				 strerror(-r));
	token->len = strcspn(str_cstr(token), "\r\n");
	if (!token->len)
		return error_set(
			err, -EINVAL,
			"'%.200s' contains no token: its first line is empty",
			path);
	token->data[token->len] = '\0';
	return 0;
}

static const char *first(const char *given, const char *variable,
			 const char *standard)
{
	const char *value = given ? given : getenv(variable);

	return value && *value ? value : standard;
}

/* What the client said, with what can be done here about it. */
static int fail(int r, struct roar_error *err)
{
	const char *remedy = "";

	if (r == -ENOTCONN)
		remedy = " (use --address or ROAR_COORDINATOR for another address)";
	if (r == -EACCES)
		remedy = " (use --token-file or ROAR_COORDINATOR_TOKEN to provide a "
			 "token)";
	return error_set(err, r, "%s%s", roar_coord_error(), remedy);
}

int coordinator_open(const struct args *args, struct coordinator *ret,
		     struct roar_error *err)
{
	CLEANUP(str_release) struct str token = STR_INIT;
	const char *file = args_get(args, "token-file");
	struct roar_coord_options o = {
		.address = first(args_get(args, "address"), "ROAR_COORDINATOR",
				 standard_address),
		.job = first(args_get(args, "job"), "ROAR_COORDINATOR_JOB", ""),
		.token = getenv("ROAR_COORDINATOR_TOKEN"),
		.tls_ca = args_get(args, "tls-ca"),
		.tls_name = args_get(args, "tls-name"),
		.connect_timeout_ms = -1,
		.flags = ROAR_COORD_OBSERVER | ROAR_COORD_NO_THREAD,
	};
	struct coordinator c = { .address = strdup(o.address),
				 .job = strdup(o.job),
				 .patience_ms = ANSWER_MS };
	int r = 0;

	if (!c.address || !c.job)
		r = error_set(err, -ENOMEM, "no memory for a connection");
	if (r == 0 && file)
		r = read_token(file, &token, err);
	if (r == 0 && file)
		o.token = str_cstr(&token);
	if (r == 0) {
		r = roar_coord_join(&o, &c.client);
		if (r < 0)
			(void)fail(r, err);
	}
	if (r < 0) {
		coordinator_close(&c);
		return r;
	}
	*ret = c;
	return 0;
}

void coordinator_close(struct coordinator *c)
{
	roar_coord_free(c->client);
	free(c->address);
	free(c->job);
	*c = (struct coordinator){ 0 };
}

int coordinator_ask(struct coordinator *c, enum coord_method_number method,
		    const ProtobufCMessage *request,
		    const ProtobufCMessageDescriptor *type, void *ret,
		    struct roar_error *err)
{
	int r = client_call_run(c->client, method, request, c->patience_ms,
				type, ret);

	return r < 0 ? fail(r, err) : 0;
}

/* ---- lists ---- */

static void free_page(void *page)
{
	protobuf_c_message_free_unpacked(page, NULL);
}

void coordinator_workers_release(struct coordinator_workers *w)
{
	for (size_t i = 0; i < w->n; i++)
		free_page(w->pages[i]);
	free(w->pages);
	*w = (struct coordinator_workers){ 0 };
}

void coordinator_keys_release(struct coordinator_keys *k)
{
	for (size_t i = 0; i < k->n; i++)
		free_page(k->pages[i]);
	free(k->pages);
	*k = (struct coordinator_keys){ 0 };
}

static int no_room(void *page, struct roar_error *err)
{
	free_page(page);
	return error_set(err, -ENOMEM, "no memory for a list");
}

int coordinator_list_workers(struct coordinator *c,
			     struct coordinator_workers *ret,
			     struct roar_error *err)
{
	Roar__ListWorkersRequest m = ROAR__LIST_WORKERS_REQUEST__INIT;
	Roar__ListWorkersReply *page;
	int r;

	m.job_id = c->job;
	do {
		Roar__ListWorkersReply **place;

		r = coordinator_ask(c, METHOD_LIST_WORKERS, &m.base,
				    &roar__list_workers_reply__descriptor,
				    &page, err);
		if (r < 0)
			return r;
		place = VEC_PUSH(ret->pages, ret->n, ret->cap);
		if (!place)
			return no_room(page, err);
		*place = page;
		if (page->n_workers)
			m.first_rank = page->workers[page->n_workers - 1]->rank +
				       1;
	} while (page->more && page->n_workers && ret->n < PAGES_MAX);
	return 0;
}

int coordinator_list_keys(struct coordinator *c, const char *prefix,
			  struct coordinator_keys *ret, struct roar_error *err)
{
	Roar__KvListRequest m = ROAR__KV_LIST_REQUEST__INIT;
	Roar__KvListReply *page;
	int r;

	m.job_id = c->job;
	m.prefix = (char *)prefix;
	do {
		Roar__KvListReply **place;

		r = coordinator_ask(c, METHOD_KV_LIST, &m.base,
				    &roar__kv_list_reply__descriptor, &page,
				    err);
		if (r < 0)
			return r;
		place = VEC_PUSH(ret->pages, ret->n, ret->cap);
		if (!place)
			return no_room(page, err);
		*place = page;
		if (page->n_entries)
			m.after = page->entries[page->n_entries - 1]->key;
	} while (page->more && page->n_entries && ret->n < PAGES_MAX);
	return 0;
}
