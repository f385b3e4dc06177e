/* clip_main.c - makes a clip from the command line.
 *
 *	clip OUT --codec libx264 --width 3840 --height 2160 --fps 30 \
 *		--seconds 2 --bytes 33554432 [--b-frames 2] */
#include <getopt.h>
#include <libavutil/log.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clip.h"

static const struct option options[] = {
	{ "codec", required_argument, NULL, 'c' },
	{ "width", required_argument, NULL, 'w' },
	{ "height", required_argument, NULL, 'h' },
	{ "fps", required_argument, NULL, 'f' },
	{ "seconds", required_argument, NULL, 's' },
	{ "bytes", required_argument, NULL, 'n' },
	{ "b-frames", required_argument, NULL, 'b' },
	{ 0 },
};

static void usage(void)
{
	fputs("usage: clip OUT [--codec NAME] [--width N] [--height N] [--fps N]\n"
	      "            [--seconds N] [--bytes N] [--b-frames N]\n",
	      stderr);
	exit(2);
}

static int number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < 0 || value > INT_MAX)
		usage();
	return (int)value;
}

static void set(struct clip *clip, int option, const char *value)
{
	int *place = NULL;

	switch (option) {
	case 'c':
		clip->codec = value;
		return;
	case 'n':
		clip->size_bytes = (uint64_t)number(value);
		return;
	case 'w':
		place = &clip->width;
		break;
	case 'h':
		place = &clip->height;
		break;
	case 'f':
		place = &clip->fps;
		break;
	case 's':
		place = &clip->seconds;
		break;
	case 'b':
		place = &clip->b_frames;
		break;
	default:
		usage();
	}
	*place = number(value);
}

int main(int argc, char *argv[])
{
	struct clip clip = { .codec = "libx264",
			     .width = 320,
			     .height = 240,
			     .fps = 30,
			     .seconds = 2 };
	int option;
	int r;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		set(&clip, option, optarg);
	if (optind + 1 != argc || !clip.fps || !clip.seconds)
		usage();
	clip.path = argv[optind];
	av_log_set_level(AV_LOG_ERROR);
	r = clip_make(&clip);
	if (r < 0)
		fprintf(stderr, "clip: \"%s\" cannot be made with %s: %s\n",
			clip.path, clip.codec, strerror(-r));
	return r < 0;
}
