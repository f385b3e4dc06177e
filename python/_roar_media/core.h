/* core.h - what the files of the extension _roar_media share.
 *
 *	packets		VideoPackets and AudioPackets: the result of a demuxer
 *	transfer	packets -> (bytes, buffers) -> packets, without a copy
 *	work		demuxing and decoding, with the GIL released
 *	buffer		memory of FFmpeg or of a decoder as a Python buffer
 *	errors		errno and a sentence -> exception
 *
 * GIL rule: release the GIL around every FFmpeg call that may wait for FFmpeg's threads.
 * Such a thread may drop the last reference to Python memory, and needs the GIL for
 * that (transfer.c). */
#ifndef ROAR_PYTHON_MEDIA_CORE_H
#define ROAR_PYTHON_MEDIA_CORE_H

#include "common/module.h"

#include "media/packets.h"

struct roar_error;

struct state {
	PyObject *error; /* roar.media.MediaError */
	PyObject *packets_types[2]; /* by enum media_kind */
	PyObject *buffer_type;
	PyObject *info_type; /* one packet, as packets[i] gives it */
};

/* Sets the exception for a negative errno and its sentence; returns NULL. */
PyObject *core_fail(const struct state *state, int r,
		    const struct roar_error *err);

#endif
