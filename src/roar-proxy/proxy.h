/* proxy.h - how the parts of roar-proxy are joined.
 *
 *	serve.c		from the options to the end of the program
 *	run.c		listeners, and the object log of the run that they belong to
 *	passage.c	one request: from the client to the upstream
 *	passage_reply.c	its reply: from the upstream to the client
 *	upstream.c	where a request goes, its fields and its signature
 *	upload.c	the body of a request: payload modes and checksums
 *	record.c	what a request did, as a line of the log
 *	hash_lane.c	content that a second thread hashes
 *	object_tree.c	the BLAKE3 of objects that pass in pieces
 *	object_parts.c	the parts of uploads among them
 *	peer_process.c	which process a connection comes from
 *	control.c	the socket by which a daemon gets and loses runs
 *
 * Everything but the hashing of large bodies runs on one loop and one thread.  Bodies stream
 * both ways; each direction of a request has at most PASSAGE_ENOUGH bytes waiting, and one read
 * more.
 *
 * The client's own signature is for the proxy's address and is not checked: clients of our own
 * user have the proxy's access rights, and those of others are refused. */
#ifndef PROXY_H
#define PROXY_H

#include "base/list.h"
#include "base/log_lines.h"
#include "base/map.h"
#include "base/pool.h"
#include "event/object_log.h"
#include "hash/digest/multihash.h"
#include "hash_lane.h"
#include "http/http_client.h"
#include "http/server.h"
#include "net/listen.h"
#include "object_tree.h"
#include "options.h"
#include "peer_process.h"
#include "s3/credentials.h"
#include "s3/s3_checksum.h"
#include "s3/s3_chunks.h"
#include "s3/s3_request.h"
#include "s3/s3_url.h"

struct aws_config;
struct control;
struct tls_client;

enum {
	PASSAGE_ENOUGH = 128 << 10, /* bytes that may wait in a direction */
	PASSAGE_MAX_KEPT = 4 << 20, /* of a small document that is read here */
	PROXY_GRACE_MS = 2000, /* for open requests at the end */
	PROXY_MAX_RUNS = 256,
};

struct proxy {
	const struct options *options;
	struct loop *loop;
	struct log_lines lines;
	struct tls_client *tls;
	struct http_proxies web_proxies;
	struct http_client *client;
	struct aws_config *config;
	struct credentials *credentials; /* NULL: there are none */
	struct roar_error no_credentials; /* why */
	struct s3_endpoint endpoint;
	char base_host[HTTP_MAX_HOST + 1]; /* of the upstream */
	struct sigv4 *signer;
	struct pool region_pool; /* of `regions` */
	struct map regions; /* of buckets that are elsewhere */
	char time[SIGV4_TIME_SIZE]; /* X-Amz-Date of `time_s` */
	int64_t time_s;
	struct object_trees trees;
	struct hash_lane lane;
	struct peer_processes peers;
	struct list runs;
	struct list detached; /* passages without a client */
	struct control *control; /* NULL: not a daemon */
	struct loop_fd signals, end;
	bool ends;
	uint64_t n_requests,
		n_failed; /* the latter: without a reply of the upstream */
};

int proxy_serve(const struct options *options, struct roar_error *err);
/* Ends all runs, then the loop. */
void proxy_stop(struct proxy *p);

/* ---- run.c ---- */

struct run {
	struct proxy *proxy;
	struct list link; /* of the proxy */
	char *log_path; /* NULL: nothing is recorded */
	struct object_log *log; /* NULL likewise */
	struct http_server *server;
	struct listen_socket sockets[OPTIONS_MAX_LISTEN];
	size_t n_sockets;
	unsigned n_open; /* requests */
	bool ends; /* no new requests */
	bool log_failed; /* was reported */
	struct loop_timer grace;
	struct loop_later later;
	void (*ended)(void *ctx, int error); /* may be NULL */
	void *ctx;
};

/* `log_path` may be NULL. */
int run_new(struct proxy *p, const char *log_path, struct run **ret,
	    struct roar_error *err);
/* Listens at `address`, or at the socket `fd` where that is NULL. */
int run_listen(struct run *run, const char *address, int fd,
	       struct roar_error *err);
/* Appends "http://127.0.0.1:PORT", or "unix:PATH", of its first listener. */
void run_add_url(const struct run *run, struct str *out);
/* Open requests get PROXY_GRACE_MS; then the log gets its end, the run is freed and
 * `ended` is called. */
void run_end(struct run *run, void (*ended)(void *ctx, int error), void *ctx);
/* The same at once. */
void run_free(struct run *run);
/* A request was over. */
void run_release_one(struct run *run);

/* ---- passage.c ---- */

struct passage {
	struct run *run;
	struct http_exchange *exchange; /* NULL: the client has left */
	struct http_call *call; /* NULL: not begun, or ended */
	struct list link; /* while it is detached */
	struct pool pool;
	struct s3_request q;
	struct credentials_wait wait;
	bool waits; /* for credentials */
	bool is_retry; /* it was sent to another region before */
	const char *region; /* where it is sent then */
	bool holds; /* the reply, which may ask for another region */
	bool may_write; /* the upstream takes the body */
	bool has_sent; /* a byte of the body */
	bool body_ended; /* of the request, and all of it was sent */
	bool is_refused; /* the proxy has ended it with an error of its own */
	struct str kept; /* of a document that is read here */
	struct str sent; /* the same of the request */
	bool keeps, keeps_sent;

	/* upload.c */
	struct s3_chunk_decoder *decoder; /* NULL: the body is sent as it is */
	struct s3_chunk_encoder encoder;
	struct sigv4_chain claimed; /* signatures of the client's chunks */
	struct s3_checksum claimed_sum; /* of the chunk at hand */
	bool checks_chunks;
	char claimed_signature[SIGV4_HEX_SIZE]; /* of the chunk at hand */
	struct s3_checksum sum; /* that a trailer has */
	bool has_sum, chunks_ended;
	struct http_field trailers[S3_CHUNK_MAX_TRAILERS];
	size_t n_trailers;

	/* record.c */
	struct object_op op;
	bool is_recorded; /* has a line to come */
	bool hashes; /* content, by `hash` */
	struct multihash hash;
	bool is_aside; /* the lane may have pieces of it */
	struct object_piece piece; /* by leaves, where it is a part */
	uint64_t n_content; /* bytes that were stored or delivered */
	int64_t first; /* of them in the object */
	int64_t content_length; /* that are to come; -1: not known */
};

extern const struct http_handler passage_handler;

/* Sends the request to the upstream as soon as there are keys to sign it. */
void passage_send(struct passage *p);
/* Sends the request to the upstream, with these keys; NULL: anonymous. */
void passage_forward(struct passage *p, const struct sigv4_credentials *keys);
/* Answers with an error of S3. */
void passage_answer(struct passage *p, unsigned status, const char *code,
		    const char *message);
/* The same, or cuts the reply that has begun; the passage has ended then. */
void passage_refuse(struct passage *p, unsigned status, const char *code,
		    const char *message);
/* Ends those whose clients have left. */
void passage_end_detached(struct run *run);
void passage_free(struct passage *p);

/* ---- passage_reply.c ---- */

extern const struct http_call_events passage_events;

/* ---- upstream.c ---- */

/* The request as it is sent; all strings are in the passage's pool.  0, -ENOMEM, -EINVAL;
 * -ECANCELED: it was refused. */
int upstream_request(struct passage *p, const struct sigv4_credentials *keys,
		     struct http_call_request *ret);
/* The region that requests for this bucket are signed for. */
const char *upstream_region(const struct passage *p);
/* The bucket is in this region. */
int upstream_learn(struct proxy *p, const char *bucket, const char *region);
/* Has the kept reply refused our keys as expired?  Then new ones are fetched. */
void upstream_check_expired(struct passage *p);

/* ---- upload.c ---- */

/* Before the request is sent: how long its body is.  0, -ENOMEM, -ECANCELED: it was refused. */
int upload_begin(struct passage *p, const struct sigv4_credentials *keys,
		 int64_t *ret_length);
/* Bytes of the body.  0, or -errno after passage_refuse(). */
int upload_add(struct passage *p, const char *data, size_t len);
/* The client has sent all of it. */
void upload_end(struct passage *p);
void upload_release(struct passage *p);

/* ---- record.c ---- */

/* Before the request is sent. */
void record_begin(struct passage *p);
/* Content that is stored. */
void record_sent(struct passage *p, const void *data, size_t len);
/* The upstream's reply begins, a part of it has come, and it has ended. */
void record_head(struct passage *p, const struct http_head *reply);
void record_received(struct passage *p, const void *data, size_t len);
/* Waits until what was added is hashed. */
void record_settle(struct passage *p);
/* Writes the line.  `error` is not 0 when the reply is not whole. */
void record_end(struct passage *p, int error);

#endif
