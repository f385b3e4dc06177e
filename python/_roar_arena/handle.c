/* handle.c - one arena as this process has it */
#include "handle.h"

#include <errno.h>

#include "base/macros.h"
#include "decode.h"
#include "encode.h"
#include "errors.h"

static struct handle *handle_new(struct state *state, size_t threshold,
				 bool copy)
{
	struct handle *h = object_new(state->ref[REF_HANDLE_TYPE]);

	if (!h)
		return NULL;
	h->state = state;
	h->threshold = threshold;
	h->copy = copy;
	return h;
}

PyObject *handle_create(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "size",      "segment_size", "n_units",
				 "inline",    "n_producers",  "flags",
				 "threshold", "copy",	      NULL };
	struct roar_arena_config c = { 0 };
	unsigned long long size = 0;
	unsigned long long segment = 0;
	Py_ssize_t threshold = 0;
	struct handle *h;
	int copy = 0;
	int r;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KKIIIInp:create", names,
					 &size, &segment, &c.n_units,
					 &c.inline_bytes, &c.n_producers,
					 &c.flags, &threshold, &copy))
		return NULL;
	c.size_bytes = size;
	c.segment_bytes = segment;
	h = handle_new(PyModule_GetState(module), (size_t)threshold, copy);
	if (!h)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	r = roar_arena_create(&c, &h->a);
	Py_END_ALLOW_THREADS;
	if (r < 0) {
		Py_DECREF((PyObject *)h);
		return error_raise(PyModule_GetState(module), NULL, r,
				   ERROR_OTHER);
	}
	return (PyObject *)h;
}

PyObject *handle_attach(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "fd", "threshold", "copy", NULL };
	Py_ssize_t threshold = 0;
	struct handle *h;
	int copy = 0;
	int fd = -1;
	int r;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "inp:attach", names, &fd,
					 &threshold, &copy))
		return NULL;
	h = handle_new(PyModule_GetState(module), (size_t)threshold, copy);
	if (!h)
		return NULL;
	r = roar_arena_attach(fd, &h->a);
	if (r < 0) {
		Py_DECREF((PyObject *)h);
		return error_raise(PyModule_GetState(module), NULL, r,
				   ERROR_OTHER);
	}
	return (PyObject *)h;
}

void handle_say_closed(const struct handle *h)
{
	error_say(h->state, "ArenaClosed",
		  "the arena is closed in this process; make a new one, or "
		  "close it after its last use");
}

int handle_enter(struct handle *h)
{
	if (!h->a || h->closing) {
		handle_say_closed(h);
		return -1;
	}
	h->n_inside++;
	return 0;
}

void handle_leave(struct handle *h)
{
	h->n_inside--;
	handle_settle(h);
}

void handle_settle(struct handle *h)
{
	struct roar_arena *a = h->a;

	if (!h->closing || h->n_inside || h->reserved || !a)
		return;
	h->a = NULL;
	roar_arena_close(a);
}

static PyObject *handle_close(PyObject *self, PyObject *unused)
{
	struct handle *h = (struct handle *)self;

	(void)unused;
	h->closing = true;
	handle_settle(h);
	Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
	struct handle *h = (struct handle *)self;

	h->closing = true;
	handle_settle(h);
	encoder_forget(h->encoder);
	decoder_forget(h->decoder);
	object_free(self);
}

/* The result of a call that says 0 or a negative errno. */
static PyObject *none_or_error(struct handle *h, int r)
{
	PyObject *result = Py_None;

	Py_INCREF(result);
	if (r < 0) {
		Py_DECREF(result);
		result = error_raise(h->state, h->a, r, ERROR_OTHER);
	}
	handle_leave(h);
	return result;
}

static PyObject *handle_join(PyObject *self, PyObject *args)
{
	struct handle *h = (struct handle *)self;
	unsigned roles = 0;
	unsigned share = 0;

	if (!PyArg_ParseTuple(args, "II:join", &roles, &share) ||
	    handle_enter(h) < 0)
		return NULL;
	return none_or_error(h, roar_arena_join(h->a, roles, share));
}

static PyObject *handle_expect(PyObject *self, PyObject *args)
{
	struct handle *h = (struct handle *)self;
	int pid = 0;

	if (!PyArg_ParseTuple(args, "i:expect", &pid) || handle_enter(h) < 0)
		return NULL;
	return none_or_error(h, roar_arena_expect(h->a, pid));
}

static PyObject *handle_shutdown(PyObject *self, PyObject *unused)
{
	struct handle *h = (struct handle *)self;

	(void)unused;
	if (handle_enter(h) < 0)
		return NULL;
	return none_or_error(h, roar_arena_shutdown(h->a));
}

static PyObject *handle_spin(PyObject *self, PyObject *args)
{
	struct handle *h = (struct handle *)self;
	long long spin_ns = 0;

	if (!PyArg_ParseTuple(args, "L:spin", &spin_ns) || handle_enter(h) < 0)
		return NULL;
	roar_arena_spin(h->a, spin_ns);
	return none_or_error(h, 0);
}

static PyObject *handle_fileno(PyObject *self, PyObject *unused)
{
	struct handle *h = (struct handle *)self;
	PyObject *fd;

	(void)unused;
	if (handle_enter(h) < 0)
		return NULL;
	fd = PyLong_FromLong(roar_arena_fd(h->a));
	handle_leave(h);
	return fd;
}

#define STAT(field)                                                   \
	{                                                             \
#field, offsetof(struct roar_arena_stats, field),     \
			sizeof(((struct roar_arena_stats *)0)->field) \
	}

static const struct {
	const char *name;
	size_t offset, size;
} stat_fields[] = {
	STAT(size_bytes),      STAT(used_bytes),
	STAT(n_units),	       STAT(n_used),
	STAT(n_producers),     STAT(n_consumers),
	STAT(committed),       STAT(committed_bytes),
	STAT(received),	       STAT(released),
	STAT(in_pieces),       STAT(reclaimed),
	STAT(producer_stalls), STAT(producer_stall_ns),
	STAT(consumer_stalls), STAT(consumer_stall_ns),
	STAT(page_bytes),      STAT(shut_down),
};

static PyObject *stat_value(const struct roar_arena_stats *stats, size_t i)
{
	const char *at = (const char *)stats + stat_fields[i].offset;

	if (stat_fields[i].size == sizeof(uint32_t))
		return PyLong_FromUnsignedLong(*(const uint32_t *)at);
	return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
}

static PyObject *stats_dict(const struct roar_arena_stats *stats)
{
	PyObject *dict = PyDict_New();

	for (size_t i = 0; dict && i < ARRAY_SIZE(stat_fields); i++) {
		PyObject *value = stat_value(stats, i);

		if (!value ||
		    PyDict_SetItemString(dict, stat_fields[i].name, value) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(value);
	}
	return dict;
}

static PyObject *handle_stats(PyObject *self, PyObject *unused)
{
	struct handle *h = (struct handle *)self;
	struct roar_arena_stats stats = { 0 };
	PyObject *result;
	int r;

	(void)unused;
	if (handle_enter(h) < 0)
		return NULL;
	r = roar_arena_stats(h->a, &stats);
	result = r < 0 ? error_raise(h->state, h->a, r, ERROR_OTHER) :
			 stats_dict(&stats);
	handle_leave(h);
	return result;
}

static PyMethodDef methods[] = {
	{ "send", (PyCFunction)(void (*)(void))handle_send, METH_FASTCALL,
	  "send(obj, tag, timeout_ns)" },
	{ "receive", (PyCFunction)(void (*)(void))handle_receive, METH_FASTCALL,
	  "receive(source, timeout_ns) -> (obj, tag, producer, sequence)" },
	{ "reserve", handle_reserve, METH_VARARGS,
	  "reserve(nbytes, timeout_ns, format, itemsize, code, shape) -> View" },
	{ "join", handle_join, METH_VARARGS, "join(roles, share)" },
	{ "expect", handle_expect, METH_VARARGS, "expect(pid)" },
	{ "spin", handle_spin, METH_VARARGS, "spin(ns)" },
	{ "shutdown", handle_shutdown, METH_NOARGS,
	  "Shuts the arena down for "
	  "all processes." },
	{ "close", handle_close, METH_NOARGS, "Leaves the arena." },
	{ "fileno", handle_fileno, METH_NOARGS, "The descriptor." },
	{ "stats", handle_stats, METH_NOARGS, "Counters, as a dictionary." },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_methods, methods },
	{ Py_tp_dealloc, dealloc },
	{ Py_tp_doc, "The handle of an arena in this process; roar.Arena is "
		     "the public class." },
	{ 0 },
};

PyType_Spec handle_spec = {
	.name = "_roar_arena.Handle",
	.basicsize = sizeof(struct handle),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};
