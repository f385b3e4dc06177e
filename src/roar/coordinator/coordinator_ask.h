/* coordinator_ask.h - `roar coordinator`: the connection, and what is asked over it.
 *
 * Lists come in pages, which are put together here.  What is returned is freed with
 * protobuf_c_message_free_unpacked(), or the *_release() that belongs to it. */
#ifndef ROAR_COORDINATOR_ASK_H
#define ROAR_COORDINATOR_ASK_H

#include <protobuf-c/protobuf-c.h>

#include "base/error.h"
#include "cli/cli.h"
#include "coord/proto/methods.h"
#include "roar_coordinator.pb-c.h"

struct roar_coord;

struct coordinator {
	struct roar_coord *client;
	char *address; /* as it was named */
	char *job; /* "" where none was named */
	int64_t patience_ms; /* for an answer */
};

/* Connects to what --address or ROAR_COORDINATOR names.  One sentence in *err. */
int coordinator_open(const struct args *args, struct coordinator *ret,
		     struct roar_error *err);
void coordinator_close(struct coordinator *c);

/* One question, one answer of the type; *ret is a pointer to a message. */
int coordinator_ask(struct coordinator *c, enum coord_method_number method,
		    const ProtobufCMessage *request,
		    const ProtobufCMessageDescriptor *type, void *ret,
		    struct roar_error *err);

/* What there is, from as many pages as it takes. */
struct coordinator_workers {
	Roar__ListWorkersReply **pages;
	size_t n, cap;
};

int coordinator_list_workers(struct coordinator *c,
			     struct coordinator_workers *ret,
			     struct roar_error *err);
void coordinator_workers_release(struct coordinator_workers *w);

struct coordinator_keys {
	Roar__KvListReply **pages;
	size_t n, cap;
};

int coordinator_list_keys(struct coordinator *c, const char *prefix,
			  struct coordinator_keys *ret, struct roar_error *err);
void coordinator_keys_release(struct coordinator_keys *k);

#endif
