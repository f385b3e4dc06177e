/* transfer.h - packets as bytes and buffers, and back: media/packet_layout.h in Python. */
#ifndef ROAR_PYTHON_MEDIA_TRANSFER_H
#define ROAR_PYTHON_MEDIA_TRANSFER_H

#include "core.h"

extern const char transfer_to_doc[];
extern const char transfer_from_doc[];

PyObject *transfer_to_buffers(PyObject *module, PyObject *packets);
PyObject *transfer_from_buffers(PyObject *module, PyObject *args);

/* The result of __reduce_ex__(protocol). */
PyObject *transfer_reduce(const struct state *state,
			  const struct media_packets *p, long protocol);
/* All data as one bytes object. */
PyObject *transfer_state(const struct state *state,
			 const struct media_packets *p);

#endif
