/* host.h - a host for the state machine in tests: keeps what it is told.
 *
 * Calls are numbered as they are made.  At the end of every test the records that were
 * kept are replayed into a second state machine, and both must tell the same
 * snapshot. */
#ifndef TESTS_COORD_HOST_H
#define TESTS_COORD_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "coord/coord.h"

struct reply {
	uint64_t call;
	enum coord_status status;
	ProtobufCMessage *message; /* or NULL */
	char *sentence; /* or NULL */
	char **names;
	size_t n_names;
};

struct kept {
	uint8_t *data;
	size_t len;
};

struct host {
	struct coord *c;
	struct coord_limits limits;
	struct coord_now now;
	struct coord_caller who; /* of the next request */
	int64_t timeout_ms; /* of the next requests; 0: none */
	uint64_t last_call;
	uint64_t last_random;
	int record_error; /* what keeping a record returns */
	Roar__Record__Record__WhatCase refused; /* and always one of this kind */
	struct reply *replies;
	size_t n_replies, cap_replies;
	struct kept *records;
	size_t n_records, cap_records;
};

int host_setup(void **state);
int host_teardown(void **state);
/* The same with these limits. */
struct host *host_new(const struct coord_limits *limits);
void host_free(struct host *h);

/* A state machine made of what was kept, by replaying it; in the place of the first. */
void host_restart(struct host *h);
/* The same of the snapshot of its state. */
void host_restore(struct host *h);
/* The snapshot of the state as bytes. */
void host_snapshot(const struct coord *c, struct str *ret);
/* Replay and the snapshot itself lead to the same state. */
void host_check_replay(const struct host *h);

/* A request on connection `conn`; returns its call. */
uint64_t ask(struct host *h, uint64_t conn, const char *method,
	     const void *message);
/* Time goes by; what is due in between happens when it is due. */
void pass_ms(struct host *h, int64_t ms);
void gone(struct host *h, uint64_t conn);

/* The i-th reply to a call, from 0 on; NULL when there is none. */
const struct reply *reply_at(const struct host *h, uint64_t call, size_t i);
size_t n_replies(const struct host *h, uint64_t call);
/* The only reply: it must be there and have that status. */
const struct reply *expect(const struct host *h, uint64_t call,
			   enum coord_status status);
void expect_waiting(const struct host *h, uint64_t call);
void expect_says(const struct reply *r, const char *part);

/* ---- common requests ---- */

/* Registers and expects success; the reply lives as long as the host. */
const Coordinator__WorkerConfig *join(struct host *h, uint64_t conn,
				      const char *id);
uint64_t ask_register(struct host *h, uint64_t conn, const char *id,
		      uint64_t session);
uint64_t ask_heartbeat(struct host *h, uint64_t conn, const char *id,
		       uint64_t session);
const Coordinator__HeartbeatResponse *beat(struct host *h, uint64_t conn,
					   const char *id);
uint64_t ask_deregister(struct host *h, uint64_t conn, const char *id);
uint64_t ask_barrier(struct host *h, uint64_t conn, const char *id,
		     const char *barrier, uint64_t generation);
void configure(struct host *h, const Roar__JobSettings *settings);
/* The session that it was last told; 0: it has none. */
uint64_t session_of(const struct host *h, const char *id);
/* As ListWorkers tells it; lives as long as the host.  NULL: not in the list. */
const Roar__WorkerView *worker(struct host *h, const char *id);

#define MESSAGE(r, type) ((const type *)(r)->message)

#endif
