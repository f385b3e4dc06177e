/* work.h - demuxing and decoding, with the GIL released. */
#ifndef ROAR_PYTHON_MEDIA_WORK_H
#define ROAR_PYTHON_MEDIA_WORK_H

#include "core.h"

extern const char work_demux_video_doc[];
extern const char work_demux_audio_doc[];
extern const char work_decode_doc[];

PyObject *work_demux_video(PyObject *module, PyObject *source);
PyObject *work_demux_audio(PyObject *module, PyObject *source);
PyObject *work_decode(PyObject *module, PyObject *args);

#endif
