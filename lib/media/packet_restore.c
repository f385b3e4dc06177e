/* packet_restore.c - packets over memory that somebody else owns; see packet_layout.h.
 *
 * Each packet's AVBuffer has one count of a `struct hold`; the thread that
 * drops the last count gives the memory back to its owner.  The restoring call has
 * one itself, so that nothing is given back while it still looks. */
#include "media/packet_layout.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "media/packet_meta.h"

struct hold {
	/* References: AVBuffers, dropped by any thread, and the call that makes them. */
	atomic_size_t n;
	struct media_owner owner;
};

static void drop(void *opaque, uint8_t *data)
{
	struct hold *hold = opaque;

	(void)data;
	/* Whoever is last sees all that the others did with the memory. */
	if (atomic_fetch_sub_explicit(&hold->n, 1, memory_order_acq_rel) != 1)
		return;
	hold->owner.release(hold->owner.opaque);
	free(hold);
}

static void dropp(struct hold **hold)
{
	if (*hold)
		drop(*hold, NULL);
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	static const uint8_t zeros[MEDIA_PADDING];

	return memcmp(bytes, zeros, len) == 0;
}

/* The bytes of a place in its buffer, with zeros behind them; NULL: it has no such. */
static const uint8_t *find(const struct media_place *place,
			   const struct media_span *buffers, size_t n)
{
	uint64_t need = (uint64_t)place->size_bytes + MEDIA_PADDING;

	if (place->buffer >= n)
		return NULL;

	const struct media_span *b = &buffers[place->buffer];
	if (need > b->len || place->offset > b->len - need)
		return NULL;

	const uint8_t *data = (const uint8_t *)b->data + place->offset;
	return is_zero(data + place->size_bytes, MEDIA_PADDING) ? data : NULL;
}

/* AV_BUFFER_FLAG_READONLY: whoever wants to write gets a copy, and FFmpeg's missing
 * const does no harm. */
static int attach(AVPacket *packet, const uint8_t *data, uint32_t size,
		  struct hold *hold)
{
	packet->buf = av_buffer_create((uint8_t *)data, size + MEDIA_PADDING,
				       drop, hold, AV_BUFFER_FLAG_READONLY);
	if (!packet->buf)
		return -ENOMEM;
	atomic_fetch_add_explicit(&hold->n, 1, memory_order_relaxed);
	packet->data = packet->buf->data;
	packet->size = (int)size;
	return 0;
}

static int attach_all(const struct media_meta *m,
		      const struct media_span *buffers, size_t n,
		      struct hold *hold, struct roar_error *err)
{
	if (m->n_buffers != n)
		return error_set(err, -EBADMSG,
				 "the packets are in %u buffers and %zu were "
				 "given, give all that to_buffers() returned",
				 m->n_buffers, n);
	for (size_t i = 0; i < m->packets->n_packets; i++) {
		const struct media_place *place = &m->places[i];
		const uint8_t *data = NULL;

		if (!place->size_bytes)
			continue;
		data = find(place, buffers, n);
		if (!data)
			return error_set(
				err, -EBADMSG,
				"packet %zu is not in buffer %u with zeros "
				"after it, give the buffers as to_buffers() "
				"returned them",
				i, place->buffer);
		if (attach(m->packets->packets[i], data, place->size_bytes,
			   hold) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int media_layout_restore(const void *meta, size_t len,
			 const struct media_span *buffers, size_t n,
			 struct media_owner owner, struct media_packets **ret,
			 struct roar_error *err)
{
	CLEANUP(dropp) struct hold *hold = calloc(1, sizeof(*hold));
	CLEANUP(media_meta_release) struct media_meta m = { 0 };
	int r;

	if (!hold) {
		owner.release(owner.opaque);
		return error_set(err, -ENOMEM, "out of memory");
	}
	hold->owner = owner;
	atomic_init(&hold->n, 1);

	r = media_meta_read(meta, len, &m, err);
	if (r < 0)
		return r;
	r = attach_all(&m, buffers, n, hold, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m.packets);
	return 0;
}
