/* coordinator_ask.h - `roar coordinator`: the connection and its requests.
 *
 * Lists are sent in pages, which are joined here.  Free results with
 * protobuf_c_message_free_unpacked(), or with the matching *_release(). */
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
	char *address; /* as given */
	char *job; /* "": none given */
	int64_t patience_ms; /* timeout of a request */
};

/* Connects to the address of --address or ROAR_COORDINATOR.  On failure *err has one
 * sentence. */
int coordinator_open(const struct args *args, struct coordinator *ret,
		     struct roar_error *err);
void coordinator_close(struct coordinator *c);

/* Sends a request and waits for its reply of this type; *ret is a pointer to a message. */
int coordinator_ask(struct coordinator *c, enum coord_method_number method,
		    const ProtobufCMessage *request,
		    const ProtobufCMessageDescriptor *type, void *ret,
		    struct roar_error *err);

/* All pages of a list. */
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
