/* test_packet_layout.c - a set of packets goes into a blob and buffers and comes back,
 * and nothing else does. */
#include "media/packet_layout.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
// clang-format off: cmocka needs the headers before it
#include <cmocka.h>
// clang-format on

#include "../base/alloc_fail.h"
#include "base/error.h"
#include "clips.h"
#include "media/decode.h"
#include "media/packet_meta.h"

enum { MAX_BUFFERS = 256 };

static atomic_int n_released;

static void count_release(void *opaque)
{
	(void)opaque;
	n_released++;
}

static const struct media_owner counted = { .release = count_release };

/* A copy of a layout in memory of its own, as a transport makes it. */
struct moved {
	struct str meta;
	struct media_span spans[MAX_BUFFERS];
	size_t n;
};

static void move(const struct media_packets *p, struct moved *m)
{
	CLEANUP(media_layout_release) struct media_layout l = { 0 };

	*m = (struct moved){ 0 };
	assert_int_equal(media_layout_make(p, &l), 0);
	assert_true(l.n_buffers <= MAX_BUFFERS);
	str_add(&m->meta, l.meta.data, l.meta.len);
	for (size_t i = 0; i < l.n_buffers; i++) {
		void *copy = aligned_alloc(64, (l.buffers[i].len + 63) & ~63UL);

		memcpy(copy, l.buffers[i].data, l.buffers[i].len);
		m->spans[m->n++] = (struct media_span){ copy,
							l.buffers[i].len };
	}
}

static void moved_release(struct moved *m)
{
	str_release(&m->meta);
	for (size_t i = 0; i < m->n; i++)
		free((void *)m->spans[i].data);
}

static int restore(const struct moved *m, struct media_packets **ret)
{
	return media_layout_restore(m->meta.data, m->meta.len, m->spans, m->n,
				    counted, ret, NULL);
}

static void same_packet(const AVPacket *a, const AVPacket *b)
{
	assert_true(a->pts == b->pts && a->dts == b->dts);
	assert_true(a->duration == b->duration);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->size, b->size);
	if (a->size)
		assert_memory_equal(a->data, b->data, a->size + MEDIA_PADDING);
	assert_int_equal(a->side_data_elems, b->side_data_elems);
	for (int i = 0; i < a->side_data_elems; i++) {
		assert_int_equal(a->side_data[i].type, b->side_data[i].type);
		assert_int_equal(a->side_data[i].size, b->side_data[i].size);
		assert_memory_equal(a->side_data[i].data, b->side_data[i].data,
				    a->side_data[i].size);
	}
}

static void same_frames(const struct media_packets *a,
			const struct media_packets *b, int n_threads)
{
	struct media_decode_options o = { .pixels = AV_PIX_FMT_NONE,
					  .n_threads = n_threads,
					  .max_bytes = 1 << 28 };
	struct media_frames x;
	struct media_frames y;

	assert_int_equal(media_decode(a, &o, &x, NULL), 0);
	assert_int_equal(media_decode(b, &o, &y, NULL), 0);
	assert_int_equal(x.len, y.len);
	assert_memory_equal(x.data, y.data, x.len);
	media_frames_release(&x);
	media_frames_release(&y);
}

static void comes_back(struct media_packets *p)
{
	struct media_packets *q = NULL;
	struct moved m;

	move(p, &m);
	n_released = 0;
	assert_int_equal(restore(&m, &q), 0);
	assert_int_equal(p->n_packets, q->n_packets);
	for (size_t i = 0; i < p->n_packets; i++)
		same_packet(p->packets[i], q->packets[i]);
	assert_int_equal(p->params->extradata_size, q->params->extradata_size);
	same_frames(p, q, 1);
	assert_int_equal(n_released, 0);
	media_packets_free(q);
	assert_int_equal(n_released, 1);
	moved_release(&m);
	media_packets_free(p);
}

static void every_kind_comes_back(void **state)
{
	(void)state;
	comes_back(clips_video("b.mp4", "libx264", 2));
	comes_back(clips_video("a.ts", "libx264", 0));
	comes_back(clips_video("m.mkv", "mpeg4", 0));
	comes_back(clips_video("j.avi", "mjpeg", 0));
	comes_back(clips_audio("a.m4a", "aac"));
	comes_back(clips_audio("a.flac", "flac"));
	comes_back(clips_audio("o.mkv", "libopus"));
	comes_back(clips_audio("l.mp3", "libmp3lame"));
	comes_back(clips_audio("a.wav", "pcm_s16le"));
}

static void data_is_not_copied(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_packets *q = NULL;
	struct moved m;

	(void)state;
	move(p, &m);
	assert_int_equal(restore(&m, &q), 0);
	for (size_t i = 0; i < q->n_packets; i++) {
		const uint8_t *data = q->packets[i]->data;
		int inside = 0;

		for (size_t b = 0; b < m.n; b++) {
			const uint8_t *from = m.spans[b].data;

			inside += data >= from && data < from + m.spans[b].len;
		}
		assert_int_equal(inside, 1);
		assert_int_equal((uintptr_t)data % MEDIA_ALIGN, 0);
		assert_false(av_buffer_is_writable(q->packets[i]->buf));
	}
	media_packets_free(q);
	moved_release(&m);
	media_packets_free(p);
}

static void large_packets_are_not_gathered(void **state)
{
	struct media_packets *p = clips_audio("a.m4a", "aac");
	CLEANUP(media_layout_release) struct media_layout l = { 0 };
	AVPacket *large = av_packet_alloc();

	(void)state;
	assert_int_equal(av_new_packet(large, MEDIA_SMALL), 0);
	memset(large->data, 7, MEDIA_SMALL);
	assert_int_equal(media_packets_add(p, large), 0);
	assert_int_equal(media_layout_make(p, &l), 0);
	assert_int_equal(l.n_buffers, 2);
	assert_ptr_equal(l.buffers[1].data, large->data);
	assert_int_equal(l.buffers[1].len, MEDIA_SMALL + MEDIA_PADDING);
	media_packets_free(p);
	assert_int_equal(l.buffers[1].data[0], 7); /* the layout keeps it */
}

static void side_data_and_empty_packets_come_back(void **state)
{
	struct media_packets *p = NULL;
	struct media_packets *q = NULL;
	AVPacket *empty = av_packet_alloc();
	struct moved m;

	(void)state;
	assert_int_equal(media_packets_new(MEDIA_AUDIO, &p), 0);
	p->params->codec_id = AV_CODEC_ID_AAC;
	p->params->ch_layout = (AVChannelLayout)AV_CHANNEL_LAYOUT_STEREO;
	p->time_base = (AVRational){ 1, 48000 };
	memcpy(av_packet_new_side_data(empty, AV_PKT_DATA_NEW_EXTRADATA, 5),
	       "hello", 5);
	assert_int_equal(media_packets_add(p, empty), 0);
	move(p, &m);
	assert_int_equal(m.n, 0);
	n_released = 0;
	assert_int_equal(restore(&m, &q), 0);
	assert_int_equal(n_released, 1); /* nobody needs the memory */
	assert_int_equal(q->n_packets, 1);
	same_packet(p->packets[0], q->packets[0]);
	assert_int_equal(q->params->ch_layout.nb_channels, 2);
	media_packets_free(q);
	media_packets_free(p);
	moved_release(&m);
}

static void every_cut_is_refused(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_packets *q = NULL;
	struct moved m;
	size_t whole;

	(void)state;
	move(p, &m);
	whole = m.meta.len;
	for (size_t len = 0; len < whole; len++) {
		/* A copy of that length, so that a sanitizer sees its end. */
		char *cut = malloc(len ? len : 1);

		memcpy(cut, m.meta.data, len);
		n_released = 0;
		assert_int_equal(media_layout_restore(cut, len, m.spans, m.n,
						      counted, &q, NULL),
				 -EBADMSG);
		assert_int_equal(n_released, 1);
		free(cut);
	}
	moved_release(&m);
	media_packets_free(p);
}

/* Whatever byte is changed: refused, or packets that lie in the buffers. */
static void every_flip_is_harmless(void **state)
{
	struct media_packets *p = clips_audio("a.m4a", "aac");
	struct media_packets *q = NULL;
	struct moved m;

	(void)state;
	move(p, &m);
	for (size_t i = 0; i < m.meta.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			m.meta.data[i] ^= (char)(1 << bit);
			n_released = 0;
			if (restore(&m, &q) == 0)
				media_packets_free(q);
			assert_int_equal(n_released, 1);
			m.meta.data[i] ^= (char)(1 << bit);
		}
	}
	moved_release(&m);
	media_packets_free(p);
}

static void other_versions_are_named(void **state)
{
	struct media_packets *p = clips_audio("a.m4a", "aac");
	struct media_packets *q = NULL;
	struct roar_error err = { "" };
	struct moved m;

	(void)state;
	move(p, &m);
	m.meta.data[10]++;
	assert_int_equal(media_layout_restore(m.meta.data, m.meta.len, m.spans,
					      m.n, counted, &q, &err),
			 -EPROTO);
	assert_non_null(strstr(err.text, "libavcodec"));
	m.meta.data[10]--;
	m.meta.data[8]++;
	assert_int_equal(restore(&m, &q), -EPROTO);
	moved_release(&m);
	media_packets_free(p);
}

static void buffers_that_do_not_fit_are_refused(void **state)
{
	struct media_packets *p = clips_audio("a.m4a", "aac");
	struct media_packets *q = NULL;
	struct moved m;

	(void)state;
	move(p, &m);
	assert_int_equal(m.n, 1);
	m.n = 0;
	assert_int_equal(restore(&m, &q), -EBADMSG);
	m.n = 1;
	m.spans[0].len -= MEDIA_ALIGN;
	assert_int_equal(restore(&m, &q), -EBADMSG);
	m.spans[0].len += MEDIA_ALIGN;
	/* The first byte behind the first packet. */
	((uint8_t *)m.spans[0].data)[p->packets[0]->size] = 1;
	assert_int_equal(restore(&m, &q), -EBADMSG);
	moved_release(&m);
	media_packets_free(p);
}

static void threads_of_a_decoder_give_the_memory_back(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_packets *q = NULL;
	struct moved m;

	(void)state;
	move(p, &m);
	n_released = 0;
	assert_int_equal(restore(&m, &q), 0);
	same_frames(p, q, 4);
	media_packets_free(q);
	assert_int_equal(n_released, 1);
	moved_release(&m);
	media_packets_free(p);
}

static void *drop_reference(void *ref)
{
	AVBufferRef *mine = ref;

	av_buffer_unref(&mine);
	return NULL;
}

static void the_last_of_many_threads_gives_it_back(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_packets *q = NULL;
	pthread_t threads[8];
	struct moved m;

	(void)state;
	move(p, &m);
	n_released = 0;
	assert_int_equal(restore(&m, &q), 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, drop_reference,
				       av_buffer_ref(q->packets[i]->buf)),
			0);
	media_packets_free(q);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(n_released, 1);
	moved_release(&m);
	media_packets_free(p);
}

static void no_memory_is_an_error_at_every_point(void **state)
{
	struct media_packets *p = clips_audio("a.m4a", "aac");
	struct media_packets *q = NULL;
	struct moved m;
	int r = -ENOMEM;

	(void)state;
	move(p, &m);
	for (int n = 0; r < 0; n++) {
		n_released = 0;
		alloc_fail_after(n);
		r = restore(&m, &q);
		alloc_fail_never();
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(n_released, r < 0);
	}
	media_packets_free(q);
	r = -ENOMEM;
	for (int n = 0; r < 0; n++) {
		struct media_layout l = { 0 };

		alloc_fail_after(n);
		r = media_layout_make(p, &l);
		alloc_fail_never();
		assert_true(r == 0 || r == -ENOMEM);
		media_layout_release(&l);
	}
	moved_release(&m);
	media_packets_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_comes_back),
		cmocka_unit_test(data_is_not_copied),
		cmocka_unit_test(large_packets_are_not_gathered),
		cmocka_unit_test(side_data_and_empty_packets_come_back),
		cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(every_flip_is_harmless),
		cmocka_unit_test(other_versions_are_named),
		cmocka_unit_test(buffers_that_do_not_fit_are_refused),
		cmocka_unit_test(threads_of_a_decoder_give_the_memory_back),
		cmocka_unit_test(the_last_of_many_threads_gives_it_back),
		cmocka_unit_test(no_memory_is_an_error_at_every_point),
	};

	return cmocka_run_group_tests(tests, NULL, clips_remove);
}
