/* coord_wire_store.c - the same barrier by torch's TCPStore, as torch 1.13 speaks it.
 *
 * A worker adds 1 to a key; who gets the number of all sets another key, which the others
 * wait for.  That is how barriers are made of a store (one more round trip than an arrival
 * that waits).  Numbers are of the machine's byte order, texts have 8 bytes of length
 * before them:
 *
 *	u8 3 (add)	text key, i64 amount		reply: i64 sum
 *	u8 0 (set)	text key, text value		no reply
 *	u8 5 (wait)	u64 number of keys, texts	reply: u8 0
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord_load.h"

enum { STORE_SET = 0, STORE_ADD = 3, STORE_WAIT = 5 };

struct visit { /* of one worker at the barrier */
	struct call *call; /* NULL: none is under way */
	uint64_t round;
	bool waits; /* has added, and was not the last */
	uint8_t sum[8];
	size_t n_sum;
};

static void put_u8(struct load *load, uint8_t value)
{
	load_put(load, &value, sizeof(value));
}

static void put_u64(struct load *load, uint64_t value)
{
	load_put(load, &value, sizeof(value));
}

static void put_key(struct load *load, const char *what, uint64_t round)
{
	char key[48];
	int len = snprintf(key, sizeof(key), "%s/%llu", what,
			   (unsigned long long)round);

	put_u64(load, (uint64_t)len);
	load_put(load, key, (size_t)len);
}

static void store_open(struct lane *lane)
{
	lane->store = calloc(1, sizeof(*lane->store));
	if (!lane->store)
		die("no memory");
}

static void store_call(struct lane *lane, struct call *call,
		       const struct method *method)
{
	struct visit *v = lane->store;

	(void)method; /* There is but the barrier. */
	v->call = call;
	v->round++;
	v->waits = false;
	v->n_sum = 0;
	put_u8(lane->load, STORE_ADD);
	put_key(lane->load, "arrived", v->round);
	put_u64(lane->load, 1);
}

static void done(struct visit *v)
{
	struct call *call = v->call;

	v->call = NULL;
	call->status = 0;
	load_end(call);
}

static void added(struct lane *lane, uint64_t sum)
{
	struct visit *v = lane->store;

	if (sum == lane->load->n_lanes) {
		put_u8(lane->load, STORE_SET);
		put_key(lane->load, "go", v->round);
		put_u64(lane->load, 1);
		put_u8(lane->load, '1');
		load_flush(lane);
		done(v);
		return;
	}
	put_u8(lane->load, STORE_WAIT);
	put_u64(lane->load, 1);
	put_key(lane->load, "go", v->round);
	v->waits = true;
}

static void store_input(struct lane *lane, const uint8_t *data, size_t len)
{
	struct visit *v = lane->store;
	uint64_t sum;

	for (; len; data++, len--) {
		if (!v->call)
			die("the store said more than it was asked for");
		if (v->waits) {
			done(v);
			continue;
		}
		v->sum[v->n_sum++] = *data;
		if (v->n_sum == sizeof(v->sum)) {
			memcpy(&sum, v->sum, sizeof(sum));
			added(lane, sum);
		}
	}
}

static void store_drain(struct lane *lane)
{
	(void)lane; /* Requests are put out as they are made. */
}

static void store_close(struct lane *lane)
{
	free(lane->store);
}

const struct wire wire_store = {
	.open = store_open,
	.call = store_call,
	.input = store_input,
	.drain = store_drain,
	.close = store_close,
};
