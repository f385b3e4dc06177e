/* client.c - roar/coord.h: a client from its options to its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "coord/client/client.h"
#include "coordinator.pb-c.h"
#include "net/tls/tls_client.h"

enum {
	JOIN_MS = 10000,
	LEAVE_MS = 5000,
	METADATA_MAX = 1024, /* pairs; the coordinator takes fewer */
};

/* ---- making ---- */

static void free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static void release(struct roar_coord *c)
{
	/* In a child, those who wait are its parent's. */
	if (!c->forked)
		client_calls_end(c, -ECANCELED, NULL);
	while (c->ended_first) {
		struct client_call *call = c->ended_first;

		c->ended_first = call->next;
		client_call_release(call);
		free(call);
	}
	client_session_release(c);
	client_link_close(c);
	loop_free(c->loop);
	closep(&c->wake.fd);
	closep(&c->nudge);
	tls_client_free(c->tls);
	client_meet_forget(c);
	address_list_release(&c->addresses);
	free_words(c->metadata);
	free(c->job);
	free(c->worker_id);
	free(c->token);
	free(c->hostname);
	free(c->tls_name);
	free(c->task);
	free(c);
}

API void roar_coord_free(struct roar_coord *c)
{
	if (!c)
		return;
	if (getpid() != c->pid) {
		/* A child by fork() has a whole copy; one by other means may not. */
		if (c->forked)
			release(c);
		return;
	}
	client_list_remove(c);
	client_stop(c);
	release(c);
}

static bool is_id(const char *id)
{
	return id_is_valid(id, strlen(id));
}

static int check(const struct roar_coord_options *o)
{
	bool observer = o->flags & ROAR_COORD_OBSERVER;

	if (!o->address || !*o->address)
		return sentence_fail(-EINVAL,
				     "no address of a coordinator was given: "
				     "HOST:PORT or unix:PATH");
	if (!observer && (!o->worker_id || !is_id(o->worker_id)))
		return sentence_fail(-EINVAL,
				     "a worker's id has 1 to %d characters of "
				     "A-Z, a-z, 0-9, '_', '.' and '-'",
				     ID_MAX);
	if (o->job && *o->job && !is_id(o->job))
		return sentence_fail(-EINVAL,
				     "a job's name has 1 to %d characters of "
				     "A-Z, a-z, 0-9, '_', '.' and '-'",
				     ID_MAX);
	return 0;
}

/* NULL and "" are the same; false without memory. */
static bool copy(char **to, const char *from)
{
	if (!from || !*from)
		return true;
	*to = strdup(from);
	return *to != NULL;
}

static int copy_metadata(struct roar_coord *c, const char *const *metadata)
{
	size_t n = 0;

	while (metadata && metadata[n] && metadata[n + 1])
		n += 2;
	if (n / 2 > METADATA_MAX)
		return sentence_fail(
			-EINVAL, "%zu entries of metadata are too many", n / 2);
	c->metadata = calloc(n + 1, sizeof(*c->metadata));
	for (size_t i = 0; c->metadata && i < n; i++) {
		c->metadata[i] = strdup(metadata[i]);
		if (!c->metadata[i])
			return -ENOMEM;
	}
	return c->metadata ? 0 : -ENOMEM;
}

static int copy_options(struct roar_coord *c,
			const struct roar_coord_options *o)
{
	struct roar_error err = { 0 };
	char hostname[256] = "";
	int r;

	(void)gethostname(hostname, sizeof(hostname) - 1);
	c->port = o->port;
	c->gpu_count = o->gpu_count;
	c->memory_bytes = o->memory_bytes;
	c->observer = o->flags & ROAR_COORD_OBSERVER;
	c->has_thread = !(o->flags & ROAR_COORD_NO_THREAD);
	if (!copy(&c->job, o->job) || !copy(&c->worker_id, o->worker_id) ||
	    !copy(&c->token, o->token) || !copy(&c->tls_name, o->tls_name) ||
	    !copy(&c->hostname, o->hostname ? o->hostname : hostname))
		return -ENOMEM;
	r = address_list_parse(o->address, &client_address_kind, &c->addresses,
			       &err);
	if (r == 0 && o->tls_ca && *o->tls_ca)
		r = tls_client_new(o->tls_ca, NULL, NULL, FRAMES_ALPN, &c->tls,
				   &err);
	if (r < 0)
		last_error_set("%s", err.text);
	return r < 0 ? r : copy_metadata(c, o->metadata);
}

int client_make(const struct roar_coord_options *o, struct roar_coord **ret)
{
	struct roar_coord *c;
	int r;

	r = check(o);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->pid = getpid();
	c->wake.fd = c->nudge = -1;
	(void)pthread_mutex_init(&c->lock, NULL);
	client_session_init(c);
	r = client_cond_init(&c->changed);
	if (r == 0)
		r = client_cond_init(&c->left);
	if (r == 0)
		r = copy_options(c, o);
	if (r < 0) {
		release(c);
		return r;
	}
	client_list_add(c);
	*ret = c;
	return 0;
}

/* ---- joining ---- */

/* A negative time: each address is tried once. */
static int await_place(struct roar_coord *c, int64_t timeout_ms)
{
	int64_t deadline = client_deadline_ms(timeout_ms > 0 ? timeout_ms :
							       JOIN_MS);
	int r = client_enter(c);

	if (r < 0)
		return r;
	while (!client_is_up(c) && !c->dead && client_now_ms() < deadline &&
	       (timeout_ms >= 0 || !c->link.frames.dial.n_pauses))
		client_wait(c, &c->changed, deadline);
	if (c->dead)
		r = sentence_fail(c->dead, "%s", c->dead_text);
	else if (!client_is_up(c))
		r = sentence_fail(-ENOTCONN, "%s",
				  c->link.failure[0] ?
					  c->link.failure :
					  "the coordinator did not answer in "
					  "time");
	client_leave(c);
	return r;
}

API int roar_coord_join(const struct roar_coord_options *options,
			struct roar_coord **ret)
{
	struct roar_coord *c = NULL;
	int r = client_make(options, &c);

	if (r == -ENOMEM)
		last_error_set("out of memory");
	if (r < 0)
		return r;
	r = client_start(c);
	if (r < 0)
		last_error_set("cannot start a client: %s", strerror(-r));
	else
		r = await_place(c, options->connect_timeout_ms);
	if (r < 0) {
		roar_coord_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int client_give_place_up(struct roar_coord *c)
{
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;
	int r;

	if (c->observer)
		return 0;
	m.worker_id = c->worker_id;
	m.job_id = (char *)(c->job ? c->job : "");
	m.session = c->session;
	r = client_call_run(c, METHOD_DEREGISTER_WORKER, &m.base, LEAVE_MS,
			    NULL, NULL);
	return r == -ENOENT ? 0 : r; /* asked again: it is done */
}

API int roar_coord_leave(struct roar_coord *c)
{
	int r = 0;

	if (!c)
		return 0;
	if (getpid() != c->pid)
		r = client_enter(c);
	else
		r = client_give_place_up(c);
	roar_coord_free(c);
	return r;
}
