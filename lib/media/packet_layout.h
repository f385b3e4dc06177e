/* packet_layout.h - a set of packets as a blob and a few buffers, and back.
 *
 *	packets --media_layout_make()--> blob + buffers
 *		(the caller moves the buffers to another process)
 *	blob + buffers --media_layout_restore()--> packets over those buffers
 *
 * Large packets are not copied: the buffer is the packet's own memory with its zero
 * padding.  Small ones are gathered in one buffer, at least 64 bytes apart, because a table
 * of a thousand buffers costs more than the copy.
 *
 * Restoring copies nothing: the packets' AVBufferRefs point into the given buffers and keep
 * them until the last reference is dropped, in any thread of a decoder. */
#ifndef ROAR_MEDIA_PACKET_LAYOUT_H
#define ROAR_MEDIA_PACKET_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "media/packets.h"

struct roar_error;

enum {
	MEDIA_ALIGN = 64, /* of data in the gathered buffer */
	MEDIA_SMALL = 16 * 1024, /* packets below this are gathered */
};

struct media_buffer {
	const uint8_t *data;
	size_t len; /* including the padding at its end */
	AVBufferRef *ref; /* the reference that keeps it */
};

struct media_layout {
	struct str meta; /* as of packet_meta.h */
	struct media_buffer *buffers;
	size_t n_buffers;
};

/* The layout of `p`, to be released by the caller; it outlives `p`.  -ENOMEM. */
int media_layout_make(const struct media_packets *p, struct media_layout *ret);
void media_layout_release(struct media_layout *l);

/* Memory of the caller, and the callback that returns it. */
struct media_span {
	const void *data;
	size_t len;
};

struct media_owner {
	void (*release)(void *opaque); /* from any thread */
	void *opaque;
};

/* Packets over the `n` buffers.  owner.release() is called once: when the last packet's
 * data is gone, or before this returns, if it fails or no packet has data.
 * -EBADMSG when the blob is damaged or does not fit the buffers, -EPROTO for one of
 * another version, -ENOMEM. */
int media_layout_restore(const void *meta, size_t len,
			 const struct media_span *buffers, size_t n,
			 struct media_owner owner, struct media_packets **ret,
			 struct roar_error *err);

#endif
