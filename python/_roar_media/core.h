/* core.h - what the files of the extension _roar_media share.
 *
 * The extension speaks the limited API of Python 3.11.  All state is in the module, and
 * every type is a heap type.
 *
 *	packets		VideoPackets and AudioPackets: what a demuxer found
 *	transfer	packets -> (bytes, buffers) -> packets, without a copy
 *	work		demuxing and decoding, with the GIL released
 *	buffer		memory of FFmpeg's or of a decoder's as a Python buffer
 *	errors		errno and a sentence -> exception
 *
 * The rule of the GIL: no call into FFmpeg that may wait for a thread of its own is
 * made with the GIL held, because that thread may drop the last reference to memory
 * of Python's and needs the GIL for that (transfer.c). */
#ifndef ROAR_PYTHON_MEDIA_CORE_H
#define ROAR_PYTHON_MEDIA_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "media/packets.h"

struct roar_error;

struct state {
	PyObject *error; /* roar.media.MediaError */
	PyObject *packets_types[2]; /* by enum media_kind */
	PyObject *buffer_type;
	PyObject *info_type; /* one packet, as packets[i] gives it */
};

struct state *core_state(PyObject *module);

/* An object of one of our types, all its fields zero. */
void *core_new(PyObject *type);

/* Ends an object of a heap type: its memory, and its hold on the type. */
void core_free(PyObject *self);

/* Sets the exception for a negative errno and its sentence; returns NULL. */
PyObject *core_fail(const struct state *state, int r,
		    const struct roar_error *err);

#endif
