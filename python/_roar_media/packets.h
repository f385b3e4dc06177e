/* packets.h - VideoPackets and AudioPackets. */
#ifndef ROAR_PYTHON_MEDIA_PACKETS_H
#define ROAR_PYTHON_MEDIA_PACKETS_H

#include "core.h"

struct packets {
	PyObject_HEAD struct media_packets *packets;
	PyObject *weak_references;
};

extern PyType_Spec video_packets_spec;
extern PyType_Spec audio_packets_spec;
extern PyStructSequence_Desc packets_info;

/* Wraps the packets in an object.  Takes ownership of them, also if it fails. */
PyObject *packets_wrap(const struct state *state, struct media_packets *p);

/* The packets of an object; NULL with a TypeError if it has another type. */
const struct media_packets *packets_of(const struct state *state,
				       PyObject *object);

#endif
