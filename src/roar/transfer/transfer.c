/* transfer.c - what all parts of a transfer share */
#include "transfer/transfer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "git/git.h"
#include "s3/s3_driver.h"
#include "transfer/fetched_files.h"

volatile int transfer_stop;

static void on_signal(int number)
{
	transfer_stop = number;
}

void transfer_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &action, NULL);
}

void transfer_release(struct transfer *t)
{
	struct git_facts ignored = { 0 };

	if (t->git)
		(void)git_state_finish(t->git, 0, &ignored);
	git_facts_release(&ignored);
	fetched_files_close(t);
	s3_driver_free(t->driver);
	free(t->items);
	free(t->trees);
	pool_release(&t->pool);
}

struct transfer_item *transfer_add(struct transfer *t, const char *path,
				   const char *place)
{
	struct transfer_item *item;

	if (t->n == TRANSFER_MAX_ITEMS)
		return NULL;
	item = VEC_PUSH(t->items, t->n, t->cap);
	if (!item)
		return NULL;
	item->path = pool_strdup(&t->pool, path);
	item->place = pool_strdup(&t->pool, place);
	item->etag = item->version = "";
	item->size_bytes = -1;
	return item->path && item->place ? item : NULL;
}

void transfer_tick(void *data)
{
	struct transfer *t = data;

	progress_show(&t->progress, &t->done);
}

void transfer_advance(struct transfer *t, uint64_t len)
{
	t->done.bytes_done += len;
	t->done.bytes_read += len;
}

void transfer_finish_item(struct transfer *t, struct transfer_item *item)
{
	item->is_done = true;
	t->done.n_done++;
}

int transfer_connect(struct transfer *t, const char *scheme,
		     struct roar_error *err)
{
	bool is_gcs = !strcmp(scheme, "gs");
	int r = s3_driver_new(TRANSFER_CONNECTIONS, &t->driver, err);

	t->endpoint = "";
	if (r < 0)
		return r;
	if (strncmp(scheme, "http", 4) == 0)
		return s3_driver_plain_client(t->driver, &t->client, err);
	r = s3_driver_client(t->driver, is_gcs, &t->client, err);
	if (r < 0)
		return r;
	t->endpoint = s3_client_endpoint(t->client)->url;
	if (!t->endpoint)
		t->endpoint = pool_printf(
			&t->pool, "https://s3.%s.amazonaws.com",
			s3_client_endpoint(t->client)->region);
	return t->endpoint ? 0 : error_set(err, -ENOMEM, "out of memory");
}
