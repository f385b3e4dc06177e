/* fuzz_media_meta.c - a description of packets as another process sent it.
 *
 * What is accepted must be written again byte by byte, and packets over buffers
 * must lie in them, with zeros behind, whatever the description says. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "media/packet_layout.h"
#include "media/packet_meta.h"

enum { N_BUFFERS = 4, BUFFER_LEN = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int promise)
{
	if (!promise)
		abort();
}

static void count(void *opaque)
{
	++*(int *)opaque;
}

static void check_written(const struct media_meta *m, const uint8_t *data,
			  size_t len)
{
	CLEANUP(str_release) struct str again = STR_INIT;

	require(media_meta_write(m->packets, m->places, m->n_buffers, &again) ==
		0);
	require(again.len == len && memcmp(again.data, data, len) == 0);
}

static bool inside(const AVPacket *packet, const struct media_span *buffers)
{
	for (size_t i = 0; i < N_BUFFERS; i++) {
		const uint8_t *from = buffers[i].data;

		if (packet->data >= from && packet->data < from + BUFFER_LEN)
			return packet->data + packet->size + MEDIA_PADDING <=
			       from + BUFFER_LEN;
	}
	return false;
}

static void check_restored(const uint8_t *data, size_t len, uint32_t n)
{
	struct media_span buffers[N_BUFFERS];
	struct media_packets *p = NULL;
	int released = 0;
	int r;

	for (size_t i = 0; i < N_BUFFERS; i++) {
		buffers[i].data = calloc(1, BUFFER_LEN);
		buffers[i].len = BUFFER_LEN;
		require(buffers[i].data != NULL);
	}
	r = media_layout_restore(data, len, buffers,
				 n < N_BUFFERS ? n : N_BUFFERS,
				 (struct media_owner){ count, &released }, &p,
				 NULL);
	require(r == 0 || (r == -EBADMSG && released == 1));
	for (size_t i = 0; r == 0 && i < p->n_packets; i++)
		require(!p->packets[i]->size || inside(p->packets[i], buffers));
	media_packets_free(p);
	require(released == 1);
	for (size_t i = 0; i < N_BUFFERS; i++)
		free((void *)buffers[i].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(media_meta_release) struct media_meta m = { 0 };
	int r = media_meta_read(data, len, &m, NULL);

	require(r == 0 || r == -EBADMSG || r == -EPROTO);
	if (r < 0)
		return 0;
	check_written(&m, data, len);
	check_restored(data, len, m.n_buffers);
	return 0;
}
