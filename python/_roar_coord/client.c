/* client.c - one client of a coordinator
 *
 * Any number of threads may be in its methods when one closes it: what they wait for ends
 * at once, and the last of them frees it. */
#include <errno.h>
#include <roar/coord.h>
#include <stdlib.h>
#include <string.h>

#include "coord/client/client.h"
#include "coordinator.pb-c.h"
#include "core.h"

enum { FIRST_TRY_MS = 500 }; /* Ctrl-C is noticed between tries to connect */

/* ---- joining ---- */

/* ["k", "v", ...] as C has it. */
static const char **metadata_of(PyObject *list)
{
	Py_ssize_t n = list == Py_None ? 0 : PyList_Size(list);
	const char **words;

	if (n < 0)
		return NULL;
	words = calloc((size_t)n + 1, sizeof(*words));
	if (!words)
		return (const char **)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < n; i++) {
		words[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i),
						   NULL);
		if (!words[i]) {
			free(words);
			return NULL;
		}
	}
	return words;
}

/* Tries for longer and longer, and looks for signals in between.  -EINTR with an
 * exception. */
static int join(struct roar_coord_options *o, struct roar_coord **ret)
{
	int64_t deadline = client_deadline_ms(o->connect_timeout_ms);
	int64_t slice = FIRST_TRY_MS;
	int r;

	do {
		int64_t left = deadline - client_now_ms();

		o->connect_timeout_ms = left < 1     ? 1 :
					left < slice ? left :
						       slice;
		Py_BEGIN_ALLOW_THREADS;
		r = roar_coord_join(o, ret);
		Py_END_ALLOW_THREADS;
		if (r != -ENOTCONN)
			return r;
		if (PyErr_CheckSignals() < 0)
			return -EINTR;
		slice *= 2;
	} while (client_now_ms() < deadline);
	return r;
}

static PyObject *client_new(struct state *state, struct roar_coord *c)
{
	struct client *self = object_new(state->client_type);

	if (!self) {
		roar_coord_free(c);
		return NULL;
	}
	self->state = state;
	self->c = c;
	return (PyObject *)self;
}

PyObject *client_join(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {
		"address",  "job",	  "worker_id", "token",
		"hostname", "port",	  "gpu_count", "memory_bytes",
		"metadata", "connect_ms", "tls_ca",    "tls_name",
		"observer", NULL
	};
	struct roar_coord_options o = { 0 };
	struct roar_coord *c = NULL;
	long long memory_bytes = 0;
	long long connect_ms = 0;
	PyObject *metadata = Py_None;
	int observer = 0;
	int r;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "zzzzziiLOLzzp:join", names, &o.address,
		    &o.job, &o.worker_id, &o.token, &o.hostname, &o.port,
		    &o.gpu_count, &memory_bytes, &metadata, &connect_ms,
		    &o.tls_ca, &o.tls_name, &observer))
		return NULL;
	o.memory_bytes = memory_bytes;
	o.connect_timeout_ms = connect_ms;
	o.flags = observer ? ROAR_COORD_OBSERVER : 0;
	o.metadata = metadata_of(metadata);
	if (!o.metadata)
		return NULL;
	r = join(&o, &c);
	free((void *)o.metadata);
	if (r == -EINTR)
		return NULL;
	if (r < 0)
		return error_raise(PyModule_GetState(module), r, false);
	return client_new(PyModule_GetState(module), c);
}

/* ---- life ---- */

int client_hold(struct client *self)
{
	if (self->c && !self->closing) {
		self->n_inside++;
		return 0;
	}
	last_error_set("the connection to the coordinator is closed");
	(void)error_raise(self->state, -ECANCELED, false);
	return -1;
}

static void settle(struct client *self)
{
	struct roar_coord *c = self->c;

	if (!self->closing || self->n_inside || !c)
		return;
	self->c = NULL;
	Py_BEGIN_ALLOW_THREADS;
	roar_coord_free(c);
	Py_END_ALLOW_THREADS;
}

void client_let_go(struct client *self)
{
	self->n_inside--;
	settle(self);
}

/* After a fork the client is only memory. */
static void stop(struct client *self)
{
	struct roar_coord *c = self->c;

	if (self->closing || !c)
		return;
	self->closing = true;
	if (getpid() == c->pid) {
		self->n_inside++;
		Py_BEGIN_ALLOW_THREADS;
		client_stop(c);
		Py_END_ALLOW_THREADS;
		self->n_inside--;
	} else {
		self->n_inside = 0; /* those inside were the parent's threads */
	}
	settle(self);
}

static PyObject *close_method(PyObject *self, PyObject *unused)
{
	(void)unused;
	stop((struct client *)self);
	Py_RETURN_NONE;
}

static PyObject *leave_method(PyObject *self, PyObject *unused)
{
	struct client *client = (struct client *)self;
	int r;

	(void)unused;
	if (client_hold(client) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	r = client_give_place_up(client->c);
	Py_END_ALLOW_THREADS;
	client_let_go(client);
	stop(client);
	if (r < 0)
		return error_raise(client->state, r, false);
	Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
	stop((struct client *)self);
	object_free(self);
}

/* ---- looking ---- */

static PyObject *world_method(PyObject *self, PyObject *unused)
{
	struct client *client = (struct client *)self;
	struct roar_coord_world w;

	(void)unused;
	if (client_hold(client) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	roar_coord_world(client->c, &w);
	Py_END_ALLOW_THREADS;
	client_let_go(client);
	return Py_BuildValue("{sKsisisNsKsNsLsL}", "epoch",
			     (unsigned long long)w.epoch, "rank", w.rank,
			     "size", w.size, "ready", PyBool_FromLong(w.ready),
			     "incarnation", (unsigned long long)w.incarnation,
			     "connected", PyBool_FromLong(w.connected),
			     "heartbeat_interval_ms",
			     (long long)w.heartbeat_interval_ms, "timeout_ms",
			     (long long)w.timeout_ms);
}

static PyObject *registration_method(PyObject *self, PyObject *unused)
{
	struct client *client = (struct client *)self;
	PyObject *dict;
	void *bytes = NULL;
	size_t len = 0;
	int r;

	(void)unused;
	if (client_hold(client) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	r = roar_coord_registration(client->c, &bytes, &len);
	Py_END_ALLOW_THREADS;
	client_let_go(client);
	if (r < 0)
		return error_raise(client->state, r, false);
	dict = message_bytes_to_dict(client->state,
				     &coordinator__worker_config__descriptor,
				     bytes, len);
	free(bytes);
	return dict;
}

/* ---- saying ---- */

static PyObject *progress_method(PyObject *self, PyObject *args)
{
	struct client *client = (struct client *)self;
	const char *task;
	long long step;
	long long epoch;
	int state;
	int r;

	if (!PyArg_ParseTuple(args, "iLLs:progress", &state, &step, &epoch,
			      &task) ||
	    client_hold(client) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	r = roar_coord_progress(client->c, state, step, epoch, task);
	Py_END_ALLOW_THREADS;
	client_let_go(client);
	if (r < 0)
		return error_raise(client->state, r, false);
	Py_RETURN_NONE;
}

static PyObject *heartbeat_method(PyObject *self, PyObject *args)
{
	struct client *client = (struct client *)self;
	long long timeout_ms;
	int r;

	if (!PyArg_ParseTuple(args, "L:heartbeat", &timeout_ms) ||
	    client_hold(client) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	r = roar_coord_heartbeat(client->c, timeout_ms);
	Py_END_ALLOW_THREADS;
	client_let_go(client);
	if (r < 0)
		return error_raise(client->state, r, false);
	Py_RETURN_NONE;
}

static PyObject *set_token_method(PyObject *self, PyObject *args)
{
	struct client *client = (struct client *)self;
	const char *token;
	int r;

	if (!PyArg_ParseTuple(args, "z:set_token", &token) ||
	    client_hold(client) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	r = roar_coord_set_token(client->c, token);
	Py_END_ALLOW_THREADS;
	client_let_go(client);
	if (r < 0)
		return error_raise(client->state, r, false);
	Py_RETURN_NONE;
}

static PyObject *fencing_token_method(PyObject *self, PyObject *unused)
{
	struct client *client = (struct client *)self;
	uint64_t token;

	(void)unused;
	if (client_hold(client) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	token = roar_coord_fencing_token(client->c);
	Py_END_ALLOW_THREADS;
	client_let_go(client);
	return PyLong_FromUnsignedLongLong(token);
}

static PyMethodDef methods[] = {
	{ "call", client_call_method, METH_VARARGS,
	  "call(path, request, timeout_ms): any method, as dicts." },
	{ "meet", client_meet_method, METH_VARARGS,
	  "meet(kind, id, generation, group, policy, timeout_ms, value, "
	  "in_favour, aside)" },
	{ "command", client_command_method, METH_VARARGS,
	  "command(timeout_ms): the next command, or ''." },
	{ "wait_world", client_wait_world_method, METH_VARARGS,
	  "wait_world(epoch, timeout_ms): waits until the world's epoch "
	  "differs." },
	{ "world", world_method, METH_NOARGS, "The world as last received." },
	{ "registration", registration_method, METH_NOARGS,
	  "The coordinator's WorkerConfig." },
	{ "progress", progress_method, METH_VARARGS,
	  "progress(state, step, epoch, task): for the next heartbeats." },
	{ "heartbeat", heartbeat_method, METH_VARARGS,
	  "heartbeat(timeout_ms): one now." },
	{ "set_token", set_token_method, METH_VARARGS,
	  "set_token(token): the token of later calls." },
	{ "fencing_token", fencing_token_method, METH_NOARGS,
	  "Fencing token of the last replies; 0: none." },
	{ "leave", leave_method, METH_NOARGS, "Leaves the job and closes." },
	{ "close", close_method, METH_NOARGS,
	  "Closes without leaving the job, as if the process had died." },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "One client of a coordinator; see roar.coordinator." },
	{ Py_tp_dealloc, dealloc },
	{ Py_tp_methods, methods },
	{ 0, NULL },
};

PyType_Spec client_spec = {
	.name = "_roar_coord.Client",
	.basicsize = sizeof(struct client),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};
