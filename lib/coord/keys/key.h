/* key.h - the keys of a job: values with versions and an optional time to live.
 *
 *	key.c		the sorted array of keys, expiry, records
 *	key_calls.c	the KV methods
 *	key_wait.c	calls that wait for a key to change
 *	key_requests.c	numbered requests that were carried out, for retries
 *
 * Keys expire by service time (service_time.c), not by the wall clock. */
#ifndef COORD_KEYS_KEY_H
#define COORD_KEYS_KEY_H

#include "coord/core/state.h"

struct key {
	struct job *job;
	uint64_t version;
	int64_t expires_ms; /* service time; 0: never */
	struct alarm expiry; /* by service time */
	uint8_t *value;
	size_t len;
	char name[];
};

struct waited { /* a key that calls wait for; it need not exist */
	struct list waits;
	char name[];
};

struct key_wait {
	struct wait wait;
	struct waited *on;
	struct list in_waited;
	uint64_t after_version;
};

/* NULL: there is none, or it has expired. */
struct key *key_find(const struct job *job, const char *name);
bool key_expired(const struct key *key);
/* Index of the first key that is not before `name`. */
size_t key_index(const struct job *job, const char *name);
void key_view(const struct job *job, const char *name, const struct key *key,
	      Roar__KvEntry *ret);
void keys_free(struct job *job);

/* Record a new value, or that the key is gone.  `request` is the request number, 0: none. */
int key_record(struct job *job, const char *name, const uint8_t *value,
	       size_t len, int64_t expires_ms, uint64_t request);
int key_record_gone(struct job *job, const char *name, uint64_t request);

/* Notifies watchers and waiting calls after a change. */
void key_changed(struct job *job, const char *name);
/* Lets the request wait for a version after the one it names. */
int key_wait(const struct request *q, struct job *job,
	     const Roar__KvGetRequest *m);

#endif
