/* etcd_writer.c - a log in etcd by itself, for tests: writes under whatever token it is told.
 *
 *	etcd_writer URLS CLUSTER TOKEN [SIZE]...
 *
 * Reads the log, prints "read N BYTES", hands in a record of each size, and prints "kept" when
 * all are durable, or "failed: SENTENCE". */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/etcd_log.h"

struct writer {
	struct loop *loop;
	struct record_log *log;
	char **sizes;
	uint64_t n_read, n_bytes, last;
	int status;
};

static int on_record(void *data, const void *record, size_t len)
{
	struct writer *w = data;

	(void)record;
	w->n_read++;
	w->n_bytes += len;
	return 0;
}

static void end(struct writer *w, int status)
{
	w->status = status;
	loop_stop(w->loop);
}

static void on_synced(void *data, int64_t took_us)
{
	(void)data, (void)took_us;
}

static void on_written(void *data)
{
	struct writer *w = data;

	if (w->log->kind->durable(w->log) < w->last)
		return;
	(void)puts("kept");
	end(w, EXIT_SUCCESS);
}

static int append(struct writer *w, size_t size)
{
	char *bytes = malloc(size ? size : 1);
	int r = bytes ? 0 : -ENOMEM;

	if (r == 0) {
		memset(bytes, 'x', size);
		r = w->log->kind->append(w->log, bytes, size, &w->last);
	}
	free(bytes);
	return r;
}

static void on_loaded(void *data)
{
	struct writer *w = data;

	(void)printf("read %" PRIu64 " %" PRIu64 "\n", w->n_read, w->n_bytes);
	for (; *w->sizes; w->sizes++) {
		int r = append(w, strtoul(*w->sizes, NULL, 10));

		if (r < 0) {
			(void)printf("refused: %s\n", strerror(-r));
			end(w, EXIT_FAILURE);
			return;
		}
	}
	if (w->last)
		w->log->kind->commit(w->log);
	else
		end(w, EXIT_SUCCESS);
}

static void on_snapshot_ended(void *data, int error, const char *sentence)
{
	(void)data, (void)error, (void)sentence;
}

static void on_failed(void *data, int error, const char *sentence)
{
	(void)printf("failed: %s (%s)\n", sentence, strerror(-error));
	end(data, EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	static const struct record_log_events events = {
		.record = on_record,
		.loaded = on_loaded,
		.written = on_written,
		.synced = on_synced,
		.snapshot_ended = on_snapshot_ended,
		.failed = on_failed,
	};
	struct roar_error err = { "out of memory" };
	struct writer w = { .sizes = argv + 4, .status = EXIT_FAILURE };
	struct etcd *etcd = NULL;

	if (argc < 4 || loop_new(&w.loop) < 0 ||
	    etcd_new(w.loop, &(struct etcd_access){ .addresses = argv[1] },
		     NULL, NULL, &etcd, &err) < 0 ||
	    etcd_log_open(w.loop, etcd, argv[2], strtoll(argv[3], NULL, 10),
			  false, &events, &w, &w.log) < 0) {
		(void)fprintf(stderr, "etcd_writer: %s\n", err.text);
		return 2;
	}
	(void)loop_run(w.loop);
	w.log->kind->close(w.log);
	etcd_free(etcd);
	loop_free(w.loop);
	return w.status;
}
