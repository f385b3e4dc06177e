/* load_rings.c - the rings that runs borrow, and when they are in the map */
#include "trace/ebpf/load_internal.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/thread.h"
#include "trace/ebpf/bpf.h"

int load_add_rings(struct ebpf *e, int rings, unsigned n)
{
	assert(n <= EBPF_RINGS);
	for (__u32 i = 0; i < n; i++) {
		int r;

		if (e->maps.rings[i] >= 0)
			continue;
		e->maps.rings[i] = bpf_ring_new(EBPF_RING_BYTES);
		if (e->maps.rings[i] < 0)
			return e->maps.rings[i];
		r = bpf_map_update(rings, &i, &e->maps.rings[i], BPF_ANY);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The first ring is put into the map in parallel to the loading of the programs.  The
 * kernel does so at once and then waits; only this thread waits with it. */
static void *add_first_ring(void *arg)
{
	struct ebpf *e = arg;
	int ring = bpf_ring_new(EBPF_RING_BYTES);
	__u32 key = 0;

	atomic_store(&e->first_ring, ring);
	e->ring_error = ring < 0 ?
				ring :
				bpf_map_update(e->rings, &key, &ring, BPF_ANY);
	return NULL;
}

/* Takes the ring over from the thread. */
static void keep_first_ring(struct ebpf *e)
{
	int ring = atomic_exchange(&e->first_ring, -1);

	if (ring >= 0)
		e->maps.rings[0] = ring;
}

void load_start_ring(struct ebpf *e)
{
	e->ring_started = thread_start(&e->ring_thread, NULL, add_first_ring,
				       e) == 0;
	if (!e->ring_started)
		(void)add_first_ring(e);
}

int load_await_ring(struct ebpf *e)
{
	if (e->ring_started)
		(void)pthread_join(e->ring_thread, NULL);
	e->ring_started = false;
	keep_first_ring(e);
	return e->ring_error;
}

void ebpf_retire_ring(struct ebpf *e, unsigned i)
{
	assert(i < EBPF_RINGS);
	(void)load_await_ring(e);
	closep(&e->maps.rings[i]);
	e->maps.rings[i] = -1;
}

/* The kernel waits for running programs after the first step: their last records of an
 * ended run do not get into the new ring. */
int ebpf_renew_ring(struct ebpf *e, unsigned i)
{
	__u32 key = i;
	int ring;
	int r;

	assert(i < EBPF_RINGS);
	ebpf_retire_ring(e, i);
	r = bpf_map_delete(e->rings, &key);
	if (r < 0 && r != -ENOENT)
		return r;
	ring = bpf_ring_new(EBPF_RING_BYTES);
	if (ring < 0)
		return ring;
	r = bpf_map_update(e->rings, &key, &ring, BPF_ANY);
	if (r < 0)
		(void)close(ring);
	else
		e->maps.rings[i] = ring;
	return r;
}

int load_ring_in_place(struct ebpf *e)
{
	enum { TURNS = 200, TURN_US = 50 };
	__u32 key = 0;
	__u32 id;

	for (int i = 0; i < TURNS && e->ring_started; i++) {
		if (bpf_map_lookup(e->rings, &key, &id) == 0) {
			keep_first_ring(e);
			return 0;
		}
		(void)usleep(TURN_US);
	}
	return load_await_ring(e);
}
