/* waits.c - calls that wait: the GIL is released, and signals are noticed.
 *
 * A call is begun once and waited for in slices; between two of them the client is left,
 * so that a signal's handler may do with it what it likes, also close it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "coord/client/client.h"
#include "core.h"

/* How late a signal may be noticed.  Python's handlers run in its main thread, which is
 * nearly always the process's first: others need not be woken so often. */
enum { SLICE_MS = 100, SLICE_OTHERS_MS = 1000 };

/* Runs the handlers of signals that have come; -1 when one of them raises. */
static int check_signals(PyThreadState **saved)
{
	int r;

	PyEval_RestoreThread(*saved);
	r = PyErr_CheckSignals();
	*saved = PyEval_SaveThread();
	return r;
}

/* Waits until a call that was begun is done.  Returns 0, or -EINTR with an exception, for
 * which the call was taken back.  *ret_inside: the client is still entered; it is not when
 * it is being freed, which has ended the call. */
static int wait_for(struct client_call *call, PyThreadState **saved,
		    bool *ret_inside)
{
	struct roar_coord *c = call->c;
	int64_t slice_ms = gettid() == c->pid ? SLICE_MS : SLICE_OTHERS_MS;

	*ret_inside = true;
	while (!client_call_wait(call, client_now_ms() + slice_ms)) {
		int interrupted;

		client_leave(c);
		interrupted = check_signals(saved);
		*ret_inside = client_enter(c) == 0;
		if (interrupted < 0 && *ret_inside)
			client_call_cancel(call);
		if (interrupted < 0)
			return -EINTR;
		if (!*ret_inside)
			return -ECANCELED;
	}
	return 0;
}

/* ---- any call ---- */

/* The client is entered. */
static int begin_and_wait(struct client_call *call, PyThreadState **saved)
{
	bool inside;
	int r;

	client_call_begin(call);
	r = wait_for(call, saved, &inside);
	if (r == 0)
		r = client_call_told(call);
	if (inside)
		client_leave(call->c);
	return r;
}

static int run_call(struct roar_coord *c, const char *path, const void *data,
		    size_t len, int64_t timeout_ms, struct client_call *call)
{
	PyThreadState *saved = PyEval_SaveThread();
	int r = client_enter(c);

	if (r == 0) {
		r = client_call_init_packed(call, c, path, data, len,
					    timeout_ms);
		if (r < 0)
			client_leave(c);
		else
			r = begin_and_wait(call, &saved);
	}
	PyEval_RestoreThread(saved);
	return r;
}

static PyObject *ask(struct client *self, const char *path,
		     const struct coord_method *method, PyObject *request,
		     int64_t timeout_ms)
{
	struct client_call call = { 0 };
	ProtobufCMessage *m = message_from_dict(method->request, request);
	PyObject *reply = NULL;
	uint8_t *bytes;
	size_t len;
	int r;

	if (!m)
		return NULL;
	len = protobuf_c_message_get_packed_size(m);
	bytes = malloc(len + 1);
	if (bytes)
		(void)protobuf_c_message_pack(m, bytes);
	protobuf_c_message_free_unpacked(m, NULL);
	r = bytes ? run_call(self->c, path, bytes, len, timeout_ms, &call) :
		    -ENOMEM;
	free(bytes);
	if (r == 0)
		reply = message_bytes_to_dict(self->state, method->reply,
					      str_cstr(&call.reply),
					      call.reply.len);
	else if (r != -EINTR)
		(void)error_raise(self->state, r, false);
	client_call_release(&call);
	return reply;
}

PyObject *client_call_method(PyObject *self, PyObject *args)
{
	struct client *client = (struct client *)self;
	const struct coord_method *method;
	long long timeout_ms;
	const char *path;
	PyObject *request;
	PyObject *reply;

	if (!PyArg_ParseTuple(args, "sOL:call", &path, &request, &timeout_ms))
		return NULL;
	method = coord_method_unary(path);
	if (!method) {
		PyErr_Format(PyExc_ValueError,
			     "'%s' is not a unary method of the coordinator",
			     path);
		return NULL;
	}
	if (client_hold(client) < 0)
		return NULL;
	reply = ask(client, path, method, request, timeout_ms);
	client_let_go(client);
	return reply;
}

/* ---- meetings ---- */

/* The client is entered; the use is counted, also of a meeting that was given up. */
static int meet_and_wait(struct client_call *call, PyThreadState **saved)
{
	bool inside;
	int waited;
	int r = 0;

	client_call_begin(call);
	waited = wait_for(call, saved, &inside);
	if (inside) {
		r = client_meet_end(call, NULL);
		client_leave(call->c);
	}
	return waited < 0 ? waited : r;
}

static int run_meet(struct roar_coord *c, const struct client_meet *m,
		    struct client_call *call)
{
	PyThreadState *saved = PyEval_SaveThread();
	int r = client_enter(c);

	if (r == 0) {
		last_error_set_absent(NULL);
		r = client_meet_init(call, c, m);
		if (r < 0)
			client_leave(c);
		else
			r = meet_and_wait(call, &saved);
	}
	PyEval_RestoreThread(saved);
	return r;
}

/* A list of str as C has it, ending with NULL; the texts are those of the objects. */
static const char **group_of(PyObject *list)
{
	Py_ssize_t n = PyList_Size(list);
	const char **group = calloc((size_t)n + 1, sizeof(*group));

	if (!group)
		return (const char **)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < n; i++) {
		group[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i),
						   NULL);
		if (!group[i]) {
			free(group);
			return NULL;
		}
	}
	return group;
}

/* The reply stays bytes: see roar._meetings. */
static PyObject *meet(struct client *self, const struct client_meet *m)
{
	struct client_call call = { 0 };
	PyObject *reply = NULL;
	int r = run_meet(self->c, m, &call);

	if (r == 0)
		reply = PyBytes_FromStringAndSize(str_cstr(&call.reply),
						  (Py_ssize_t)call.reply.len);
	else if (r != -EINTR)
		(void)error_raise(self->state, r, true);
	client_call_release(&call);
	return reply;
}

PyObject *client_meet_method(PyObject *self, PyObject *args)
{
	struct client *client = (struct client *)self;
	struct roar_coord_meet about = { 0 };
	struct client_meet m = { .meet = &about };
	unsigned long long generation;
	long long timeout_ms;
	const char **group = NULL;
	PyObject *ids;
	PyObject *reply = NULL;
	Py_ssize_t len;
	int in_favour;
	int aside;
	int policy;

	if (!PyArg_ParseTuple(args, "isKOiLy#pp:meet", &m.kind, &about.id,
			      &generation, &ids, &policy, &timeout_ms, &m.value,
			      &len, &in_favour, &aside))
		return NULL;
	if (ids != Py_None) {
		if (!PyList_Check(ids)) {
			PyErr_SetString(PyExc_TypeError,
					"the group must be a list of ids");
			return NULL;
		}
		group = group_of(ids);
		if (!group)
			return NULL;
	}
	about.generation = generation;
	about.group = (const char *const *)group;
	about.policy = (enum roar_coord_policy)policy;
	about.timeout_ms = timeout_ms;
	m.len = (size_t)len;
	m.in_favour = in_favour;
	m.aside = aside;
	if (client_hold(client) == 0) {
		reply = meet(client, &m);
		client_let_go(client);
	}
	free(group);
	return reply;
}

PyObject *meet_reply(PyObject *module, PyObject *bytes)
{
	const struct coord_method *method = coord_method_by_number(METHOD_MEET);
	Py_ssize_t len;
	char *data;

	if (PyBytes_AsStringAndSize(bytes, &data, &len) < 0)
		return NULL;
	return message_bytes_to_dict(PyModule_GetState(module), method->reply,
				     data, (size_t)len);
}

/* ---- commands and the world ---- */

/* The part of the time that is left, at most a slice; false when none is. */
static bool next_slice(int64_t deadline_ms, bool first, int64_t *ret_ms)
{
	int64_t left = deadline_ms - client_now_ms();

	if (deadline_ms == INT64_MAX || left > SLICE_MS)
		left = SLICE_MS;
	*ret_ms = left > 0 ? left : 0;
	return first || left > 0;
}

static int wait_command(struct roar_coord *c, int64_t timeout_ms, char *buffer,
			size_t len)
{
	int64_t deadline = client_deadline_ms(timeout_ms);
	PyThreadState *saved = PyEval_SaveThread();
	int64_t slice;
	int r = 0;

	*buffer = '\0';
	for (bool first = true; next_slice(deadline, first, &slice);
	     first = false) {
		r = roar_coord_command(c, slice, buffer, len);
		if (r < 0 || *buffer)
			break;
		if (check_signals(&saved) < 0) {
			r = -EINTR;
			break;
		}
	}
	PyEval_RestoreThread(saved);
	return r;
}

PyObject *client_command_method(PyObject *self, PyObject *args)
{
	struct client *client = (struct client *)self;
	char buffer[64 << 10];
	long long timeout_ms;
	int r;

	if (!PyArg_ParseTuple(args, "L:command", &timeout_ms) ||
	    client_hold(client) < 0)
		return NULL;
	r = wait_command(client->c, timeout_ms, buffer, sizeof(buffer));
	client_let_go(client);
	if (r == -EINTR)
		return NULL;
	if (r < 0)
		return error_raise(client->state, r, false);
	return PyUnicode_FromString(buffer);
}

static int wait_world(struct roar_coord *c, uint64_t epoch, int64_t timeout_ms,
		      struct roar_coord_world *ret)
{
	int64_t deadline = client_deadline_ms(timeout_ms);
	PyThreadState *saved = PyEval_SaveThread();
	int64_t slice;
	int r = -ETIMEDOUT;

	for (bool first = true; next_slice(deadline, first, &slice);
	     first = false) {
		r = roar_coord_wait_world(c, epoch, slice, ret);
		if (r != -ETIMEDOUT)
			break;
		if (check_signals(&saved) < 0) {
			r = -EINTR;
			break;
		}
	}
	PyEval_RestoreThread(saved);
	return r;
}

PyObject *client_wait_world_method(PyObject *self, PyObject *args)
{
	struct client *client = (struct client *)self;
	struct roar_coord_world w;
	unsigned long long epoch;
	long long timeout_ms;
	int r;

	if (!PyArg_ParseTuple(args, "KL:wait_world", &epoch, &timeout_ms) ||
	    client_hold(client) < 0)
		return NULL;
	r = wait_world(client->c, epoch, timeout_ms, &w);
	client_let_go(client);
	if (r == -EINTR)
		return NULL;
	if (r < 0)
		return error_raise(client->state, r, false);
	Py_RETURN_NONE;
}
