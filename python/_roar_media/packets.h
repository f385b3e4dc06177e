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

/* An object over the set, which is taken over, also when it fails. */
PyObject *packets_wrap(const struct state *state, struct media_packets *p);

/* The set of an object; NULL with a TypeError when it is something else. */
const struct media_packets *packets_of(const struct state *state,
				       PyObject *object);

#endif
