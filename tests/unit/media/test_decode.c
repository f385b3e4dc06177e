/* test_decode.c - packets become the frames they were, within bounds. */
#include "media/decode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// clang-format off: cmocka needs the headers before it
#include <cmocka.h>
// clang-format on

#include "base/error.h"
#include "clips.h"

static const struct media_decode_options native = { .pixels = AV_PIX_FMT_NONE,
						    .n_threads = 1,
						    .max_bytes = 1 << 28 };
static const struct media_decode_options rgb = { .pixels = AV_PIX_FMT_RGB24,
						 .n_threads = 1,
						 .max_bytes = 1 << 28 };

static void every_frame_comes_out(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_frames f;

	(void)state;
	assert_int_equal(media_decode(p, &rgb, &f, NULL), 0);
	assert_int_equal(f.n, 30);
	assert_int_equal(f.len, 30 * 320 * 240 * 3);
	media_frames_release(&f);
	assert_int_equal(media_decode(p, &native, &f, NULL), 0);
	assert_int_equal(f.len, 30 * 320 * 240 * 3 / 2);
	assert_int_equal(f.format, AV_PIX_FMT_YUV420P);
	media_frames_release(&f);
	media_packets_free(p);
}

/* How far two pictures are from one another. */
static unsigned long distance(const struct media_frames *a, size_t i,
			      const struct media_frames *b, size_t k)
{
	const uint8_t *x = a->data + i * a->unit_bytes;
	const uint8_t *y = b->data + k * b->unit_bytes;
	unsigned long sum = 0;

	for (size_t at = 0; at < a->unit_bytes; at++)
		sum += (unsigned long)abs(x[at] - y[at]);
	return sum;
}

/* A codec that never changes the order made the same pictures. */
static void pictures_are_in_the_order_of_time(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_packets *q = clips_video("j.avi", "mjpeg", 0);
	struct media_frames x;
	struct media_frames y;

	(void)state;
	assert_int_equal(media_decode(p, &native, &x, NULL), 0);
	assert_int_equal(media_decode(q, &native, &y, NULL), 0);
	assert_int_equal(x.n, y.n);
	for (size_t i = 1; i + 1 < x.n; i++) {
		unsigned long here = distance(&x, i, &y, i);

		assert_true(here < distance(&x, i, &y, i - 1));
		assert_true(here < distance(&x, i, &y, i + 1));
	}
	media_frames_release(&x);
	media_frames_release(&y);
	media_packets_free(p);
	media_packets_free(q);
}

/* What was put in comes out, where nothing is lost on the way. */
static void samples_come_side_by_side(void **state)
{
	struct media_packets *p = clips_audio("a.wav", "pcm_s16le");
	struct media_packets *q = clips_audio("a.flac", "flac");
	struct media_frames x;
	struct media_frames y;

	(void)state;
	assert_int_equal(media_decode(p, &native, &x, NULL), 0);
	assert_int_equal(media_decode(q, &native, &y, NULL), 0);
	assert_int_equal(x.n_channels, 2);
	assert_int_equal(x.sample_rate, 48000);
	assert_int_equal(x.format, AV_SAMPLE_FMT_S16);
	assert_true(x.n >= 48000 && y.n >= 48000);
	assert_memory_equal(x.data, y.data, 48000 * 4);
	media_frames_release(&x);
	media_frames_release(&y);
	media_packets_free(p);
	media_packets_free(q);
}

static void planes_of_samples_are_joined(void **state)
{
	struct media_packets *p = clips_audio("a.m4a", "aac");
	struct media_frames f;

	(void)state;
	assert_int_equal(media_decode(p, &native, &f, NULL), 0);
	assert_int_equal(f.format, AV_SAMPLE_FMT_FLT);
	assert_int_equal(f.len, f.n * 8);
	media_frames_release(&f);
	media_packets_free(p);
}

static void too_much_is_refused(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_decode_options o = rgb;
	struct roar_error err = { "" };
	struct media_frames f = { 0 };

	(void)state;
	o.max_bytes = 320 * 240 * 3 * 29;
	assert_int_equal(media_decode(p, &o, &f, &err), -EFBIG);
	assert_non_null(strstr(err.text, "max_bytes"));
	o.max_bytes = 100;
	assert_true(media_decode(p, &o, &f, &err) < 0);
	assert_null(f.data);
	media_packets_free(p);
}

static void a_damaged_packet_is_named(void **state)
{
	struct media_packets *p = clips_video("j.avi", "mjpeg", 0);
	struct roar_error err = { "" };
	struct media_frames f = { 0 };
	AVPacket *packet = p->packets[7];

	(void)state;
	assert_int_equal(av_packet_make_writable(packet), 0);
	memset(packet->data, 0, (size_t)packet->size);
	assert_int_equal(media_decode(p, &native, &f, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "packet 7"));
	media_packets_free(p);
}

static void a_stream_that_changes_shape_is_refused(void **state)
{
	struct media_packets *p = clips_video("j.avi", "mjpeg", 0);
	struct roar_error err = { "" };
	struct media_frames f = { 0 };

	(void)state;
	/* In a JPEG the height is behind the marker FF C0, three bytes and on. */
	AVPacket *packet = p->packets[9];
	assert_int_equal(av_packet_make_writable(packet), 0);
	for (int i = 0; i + 6 < packet->size; i++)
		if (packet->data[i] == 0xff && packet->data[i + 1] == 0xc0)
			packet->data[i + 6] = 120;
	assert_int_equal(media_decode(p, &native, &f, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "frame 9 is 320x120"));
	media_packets_free(p);
}

static void nothing_decoded_is_an_error(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_frames f = { 0 };

	(void)state;
	while (p->n_packets)
		av_packet_free(&p->packets[--p->n_packets]);
	assert_int_equal(media_decode(p, &rgb, &f, NULL), -ENODATA);
	media_packets_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_comes_out),
		cmocka_unit_test(pictures_are_in_the_order_of_time),
		cmocka_unit_test(samples_come_side_by_side),
		cmocka_unit_test(planes_of_samples_are_joined),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(a_damaged_packet_is_named),
		cmocka_unit_test(a_stream_that_changes_shape_is_refused),
		cmocka_unit_test(nothing_decoded_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, clips_remove);
}
