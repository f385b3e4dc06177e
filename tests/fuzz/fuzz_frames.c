/* fuzz_frames.c - frames of the fast path.
 *
 * What comes back must be frames as well: no longer than what was sent could lead to, with
 * known numbers where they are the server's. */
#include "net/frames/frames.h"

#include <string.h>

#include "fuzz_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What of the replies was read. */
struct reader {
	uint8_t head[FRAME_HEADER_LEN];
	size_t have; /* of `head` */
	uint32_t skip; /* of a message */
};

static void check(const struct frame *f)
{
	require(f->len <= MAX_UNSENT * 32);
	require((f->flags & ~FRAME_END) == 0);
	if (f->method >= FRAME_HELLO) {
		require(f->method >= FRAME_PING && f->method <= FRAME_GOAWAY);
		require(f->len == 0 && f->flags == 0);
		return;
	}
	require(f->flags & FRAME_END || f->number == 0);
}

static void read_replies(void *arg, const uint8_t *data, size_t len)
{
	struct reader *r = arg;

	for (; len > 0; data++, len--) {
		struct frame f;

		if (r->skip > 0) {
			r->skip--;
			continue;
		}
		r->head[r->have++] = *data;
		if (r->have < FRAME_HEADER_LEN)
			continue;
		frame_unpack(r->head, &f);
		check(&f);
		r->have = 0;
		r->skip = f.len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_wire w;
	struct reader r = { 0 };

	fuzz_wire_open(&w);
	fuzz_wire_run(&w, FRAMES_PREFACE, FRAMES_PREFACE_LEN, data, len,
		      read_replies, &r);
	fuzz_wire_close(&w);
	return 0;
}
