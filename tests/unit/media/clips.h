/* clips.h - clips of the tests' own: made once by a program, gone at its end. */
#ifndef ROAR_TESTS_MEDIA_CLIPS_H
#define ROAR_TESTS_MEDIA_CLIPS_H

#include "media/packets.h"

/* A folder for the files of this program. */
const char *clips_folder(void);

/* The packets of a new clip `name`, freed by the caller.  Fails the test. */
struct media_packets *clips_video(const char *name, const char *codec,
				  int b_frames);
struct media_packets *clips_audio(const char *name, const char *codec);

/* The whole file of a clip that was made, malloc()ed. */
char *clips_read(const char *name, size_t *ret_len);

/* Group teardown for cmocka: removes the folder. */
int clips_remove(void **state);

#endif
