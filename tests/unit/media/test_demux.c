/* test_demux.c - files that are media, and files that are not. */
#include "media/demux.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
// clang-format off: cmocka needs the headers before it
#include <cmocka.h>
// clang-format on

#include "base/error.h"
#include "clips.h"
#include "media/media_probe.h"

static int demux(const void *data, size_t len, enum media_kind kind,
		 struct media_packets **ret, struct roar_error *err)
{
	CLEANUP(media_source_closep) struct media_source *source = NULL;

	assert_int_equal(media_source_memory(data, len, &source), 0);
	return media_demux(source, "the data", kind, ret, err);
}

static void refused(const void *data, size_t len, int r, const char *word)
{
	struct media_packets *p = NULL;
	struct roar_error err = { "" };

	assert_int_equal(demux(data, len, MEDIA_VIDEO, &p, &err), r);
	assert_null(p);
	assert_non_null(strstr(err.text, "the data"));
	assert_non_null(strstr(err.text, word));
}

static void memory_and_file_give_the_same(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_packets *q = NULL;
	size_t len;
	char *bytes = clips_read("b.mp4", &len);

	(void)state;
	assert_int_equal(demux(bytes, len, MEDIA_VIDEO, &q, NULL), 0);
	assert_int_equal(p->n_packets, 30);
	assert_int_equal(q->n_packets, 30);
	assert_int_equal(p->params->codec_id, AV_CODEC_ID_H264);
	assert_int_equal(p->params->width, 320);
	assert_int_equal(p->frame_rate.num, 30);
	assert_true(media_packets_bytes(p) == media_packets_bytes(q));
	assert_true(p->packets[0]->flags & AV_PKT_FLAG_KEY);
	media_packets_free(p);
	media_packets_free(q);
	free(bytes);
}

/* No look at the pictures is needed for that, and what it would tell is known. */
static void tables_say_what_decoding_would(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_packets *q = clips_video("b.mkv", "libx264", 2);
	CLEANUP(media_source_closep) struct media_source *source = NULL;
	size_t len;
	char *bytes = clips_read("b.mp4", &len);
	AVFormatContext *format = avformat_alloc_context();

	(void)state;
	assert_int_equal(media_source_memory(bytes, len, &source), 0);
	format->pb = source->io;
	assert_int_equal(avformat_open_input(&format, "b", NULL, NULL), 0);
	assert_true(probe_header_suffices(format, MEDIA_VIDEO));
	assert_false(probe_header_suffices(format, MEDIA_AUDIO));
	avformat_close_input(&format);
	assert_int_equal(p->params->format, AV_PIX_FMT_YUV420P);
	assert_int_equal(p->params->format, q->params->format);
	/* The encoder promises a bound, the times say what it came to. */
	assert_in_range(p->params->video_delay, 1, q->params->video_delay);
	media_packets_free(p);
	media_packets_free(q);
	free(bytes);
}

static void zeros_are_behind_every_packet(void **state)
{
	static const uint8_t zeros[MEDIA_PADDING];
	static const char *const files[][2] = { { "b.mp4", "libx264" },
						{ "a.ts", "libx264" },
						{ "r.h264", "libx264" },
						{ "m.mkv", "mpeg4" } };

	(void)state;
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
		struct media_packets *p = clips_video(files[f][0], files[f][1],
						      0);

		for (size_t i = 0; i < p->n_packets; i++) {
			const AVPacket *a = p->packets[i];

			assert_true(a->data + a->size + MEDIA_PADDING <=
				    a->buf->data + a->buf->size);
			assert_memory_equal(a->data + a->size, zeros,
					    MEDIA_PADDING);
		}
		media_packets_free(p);
	}
}

static void what_is_no_media_file_is_refused(void **state)
{
	char garbage[4096];
	uint32_t x = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(garbage); i++)
		garbage[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
	refused("", 0, -EBADMSG, "media file");
	refused(garbage, sizeof(garbage), -EBADMSG, "media file");
	refused("hello, world\n", 13, -EBADMSG, "media file");
}

/* FFmpeg itself would open the file that is named here. */
static void a_playlist_opens_nothing(void **state)
{
	struct media_packets *p = clips_video("a.ts", "libx264", 0);
	char hls[512];
	char concat[512];

	(void)state;
	(void)snprintf(hls, sizeof(hls),
		       "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n"
		       "file://%s/a.ts\n#EXT-X-ENDLIST\n",
		       clips_folder());
	(void)snprintf(concat, sizeof(concat),
		       "ffconcat version 1.0\nfile a.ts\n");
	refused(hls, strlen(hls), -EBADMSG, "refers to other files");
	refused(concat, strlen(concat), -EBADMSG, "media file");
	media_packets_free(p);
}

static void a_stream_that_is_not_there_is_named(void **state)
{
	struct media_packets *p = clips_audio("a.m4a", "aac");
	size_t len;
	char *bytes = clips_read("a.m4a", &len);

	(void)state;
	refused(bytes, len, -ENODATA, "no video stream");
	media_packets_free(p);
	free(bytes);
}

/* The index at the front says what is missing. */
static void every_cut_of_an_mp4_is_refused(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	struct media_packets *q = NULL;
	size_t len;
	char *bytes = clips_read("b.mp4", &len);

	(void)state;
	for (size_t cut = 0; cut < len; cut += len / 97 + 1)
		assert_true(demux(bytes, cut, MEDIA_VIDEO, &q, NULL) < 0);
	refused(bytes, len - 1, -EBADMSG, "truncated");
	refused(bytes, len / 2, -EBADMSG, "truncated");
	media_packets_free(p);
	free(bytes);
}

static void a_cut_stream_gives_what_is_there(void **state)
{
	struct media_packets *p = clips_video("a.ts", "libx264", 0);
	struct media_packets *q = NULL;
	size_t len;
	char *bytes = clips_read("a.ts", &len);

	(void)state;
	assert_int_equal(demux(bytes, len / 2, MEDIA_VIDEO, &q, NULL), 0);
	assert_in_range(q->n_packets, 5, 25);
	media_packets_free(q);
	media_packets_free(p);
	free(bytes);
}

/* No change of a byte does more than to be refused or to give other packets. */
static void a_damaged_file_is_harmless(void **state)
{
	struct media_packets *p = clips_video("b.mp4", "libx264", 2);
	size_t len;
	char *bytes = clips_read("b.mp4", &len);
	uint32_t x = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct media_packets *q = NULL;
		/* The tables are at the front. */
		size_t at = (x = x * 1664525 + 1013904223) % 2500;
		char was = bytes[at];

		bytes[at] = (char)(x >> 24);
		if (demux(bytes, len, MEDIA_VIDEO, &q, NULL) == 0)
			media_packets_free(q);
		bytes[at] = was;
	}
	media_packets_free(p);
	free(bytes);
}

static void only_regular_files_are_opened(void **state)
{
	struct media_source *s = NULL;
	char fifo[256];

	(void)state;
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", clips_folder());
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(media_source_file(fifo, &s), -EINVAL);
	assert_int_equal(media_source_file("/dev/zero", &s), -EINVAL);
	assert_int_equal(media_source_file("/", &s), -EISDIR);
	assert_int_equal(media_source_file("/nonexistent", &s), -ENOENT);
	assert_int_equal(media_source_file("http://localhost/", &s), -ENOENT);
	assert_null(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_and_file_give_the_same),
		cmocka_unit_test(tables_say_what_decoding_would),
		cmocka_unit_test(zeros_are_behind_every_packet),
		cmocka_unit_test(what_is_no_media_file_is_refused),
		cmocka_unit_test(a_playlist_opens_nothing),
		cmocka_unit_test(a_stream_that_is_not_there_is_named),
		cmocka_unit_test(every_cut_of_an_mp4_is_refused),
		cmocka_unit_test(a_cut_stream_gives_what_is_there),
		cmocka_unit_test(a_damaged_file_is_harmless),
		cmocka_unit_test(only_regular_files_are_opened),
	};

	return cmocka_run_group_tests(tests, NULL, clips_remove);
}
