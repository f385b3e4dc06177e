/* core.h - what the files of the extension _roar_coord share.
 *
 *	client		one client of a coordinator (lib/coord/client)
 *	waits		calls that wait, with the GIL released and signals noticed
 *	message		dict -> message of protobuf -> dict, by its description
 *	errors		errno and a sentence -> exception */
#ifndef ROAR_PYTHON_COORD_CORE_H
#define ROAR_PYTHON_COORD_CORE_H

#include "common/module.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

struct client_call;
struct roar_coord;

struct state {
	PyObject *errors; /* roar._coord_errors; NULL until the first failure */
	PyObject *client_type;
};

/* ---- errors.c ---- */

/* Raises the exception for a negative errno, with the text of the thread's last failure and
 * the workers that a meeting waited for.  Returns NULL. */
void *error_raise(struct state *state, int r, bool meeting);

/* ---- message.c ---- */

/* A message made of a dict whose keys are names of fields; enumerations by number or name,
 * maps as dicts, repeated fields as sequences.  To be freed with
 * protobuf_c_message_free_unpacked(); NULL with an exception. */
ProtobufCMessage *message_from_dict(const ProtobufCMessageDescriptor *type,
				    PyObject *dict);
/* All its fields; enumerations by name in lower case, messages that are absent as None. */
PyObject *message_to_dict(const ProtobufCMessage *message);
/* Parses bytes and returns the fields; raises for -EPROTO if they are not such a message. */
PyObject *message_bytes_to_dict(struct state *state,
				const ProtobufCMessageDescriptor *type,
				const void *data, size_t len);

/* ---- client.c ---- */

struct client {
	PyObject ob_base;
	struct state *state;
	struct roar_coord *c; /* NULL: closed */
	bool closing;
	unsigned n_inside; /* methods that use `c`; guarded by the GIL */
};

extern PyType_Spec client_spec;

/* join(options...) -> Client */
PyObject *client_join(PyObject *module, PyObject *args, PyObject *kwargs);

/* Every use of `c` is between these; the first raises if it is closed. */
int client_hold(struct client *self);
void client_let_go(struct client *self);

/* ---- waits.c ---- */

/* call(path, request, timeout_ms) -> dict */
PyObject *client_call_method(PyObject *self, PyObject *args);
/* meet(kind, id, generation, group, policy, timeout_ms, value, in_favour) -> bytes */
PyObject *client_meet_method(PyObject *self, PyObject *args);
/* meet_reply(bytes) -> dict: parses the result of meet() */
PyObject *meet_reply(PyObject *module, PyObject *bytes);
/* command(timeout_ms) -> str */
PyObject *client_command_method(PyObject *self, PyObject *args);
/* wait_world(epoch, timeout_ms) -> dict */
PyObject *client_wait_world_method(PyObject *self, PyObject *args);

#endif
