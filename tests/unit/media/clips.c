/* clips.c - see clips.h */
#include "clips.h"

#include <dirent.h>
#include <fcntl.h>
#include <libavutil/log.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
// clang-format off: cmocka needs the headers before it
#include <cmocka.h>
// clang-format on

#include "base/error.h"
#include "base/fd.h"
#include "base/str.h"
#include "clip.h"
#include "media/demux.h"

/* FFmpeg is not built for ThreadSanitizer, which does not see what its threads agree
 * on; our own code is still watched. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:libavcodec.so\nrace:libavutil.so\n"
	       "race:libavformat.so\nrace:libx264.so\n";
}

static char folder[] = "/tmp/roar-media-XXXXXX";
static char *made;

const char *clips_folder(void)
{
	if (!made) {
		av_log_set_level(AV_LOG_QUIET);
		made = mkdtemp(folder);
	}
	assert_non_null(made);
	return made;
}

static void path_of(const char *name, char path[256])
{
	(void)snprintf(path, 256, "%s/%s", clips_folder(), name);
}

static struct media_packets *load(const char *path, enum media_kind kind)
{
	CLEANUP(media_source_closep) struct media_source *source = NULL;
	struct media_packets *p = NULL;
	struct roar_error err = { "" };

	assert_int_equal(media_source_file(path, &source), 0);
	if (media_demux(source, path, kind, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

struct media_packets *clips_video(const char *name, const char *codec,
				  int b_frames)
{
	char path[256];

	path_of(name, path);
	assert_int_equal(clip_make(&(struct clip){ .path = path,
						   .codec = codec,
						   .width = 320,
						   .height = 240,
						   .fps = 30,
						   .seconds = 1,
						   .b_frames = b_frames }),
			 0);
	return load(path, MEDIA_VIDEO);
}

struct media_packets *clips_audio(const char *name, const char *codec)
{
	char path[256];

	path_of(name, path);
	assert_int_equal(clip_make(&(struct clip){ .path = path,
						   .codec = codec,
						   .seconds = 1 }),
			 0);
	return load(path, MEDIA_AUDIO);
}

char *clips_read(const char *name, size_t *ret_len)
{
	struct str s = STR_INIT;
	char path[256];

	path_of(name, path);
	assert_int_equal(fd_read_file(AT_FDCWD, path, 1 << 26, &s), 0);
	*ret_len = s.len;
	return str_take(&s);
}

int clips_remove(void **state)
{
	DIR *dir = made ? opendir(made) : NULL;
	const struct dirent *entry;

	(void)state;
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
	(void)closedir(dir);
	return rmdir(made);
}
