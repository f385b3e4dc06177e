/* view_dlpack.c - memory of a unit as a DLPack tensor
 *
 * The structures are those of DLPack's stable ABI, without a version, which every reader of
 * the later one takes as well. */
#include "view.h"

#include <stdlib.h>

enum { CPU = 1 }; /* kind of device */

struct dl_tensor {
	void *data;
	struct {
		int32_t type, id;
	} device;
	int32_t ndim;
	struct {
		uint8_t code, bits;
		uint16_t lanes;
	} dtype;
	int64_t *shape;
	int64_t *strides; /* in elements; NULL: C order */
	uint64_t byte_offset;
};

struct dl_managed {
	struct dl_tensor tensor;
	void *context;
	void (*deleter)(struct dl_managed *self);
};

struct exported {
	struct dl_managed managed;
	int64_t shape[VIEW_DIMS];
	PyObject *view;
};

/* Called by whoever took the tensor, in any thread. */
static void delete_tensor(struct dl_managed *managed)
{
	struct exported *e = managed->context;

	if (Py_IsInitialized()) {
		PyGILState_STATE gil = PyGILState_Ensure();

		Py_DECREF(e->view);
		PyGILState_Release(gil);
	}
	free(e);
}

/* A capsule that nobody took still owns its tensor; one that was taken has another name. */
static void delete_capsule(PyObject *capsule)
{
	struct dl_managed *managed;

	if (!PyCapsule_IsValid(capsule, "dltensor"))
		return;
	managed = PyCapsule_GetPointer(capsule, "dltensor");
	if (managed)
		managed->deleter(managed);
}

static struct exported *export_view(struct view *v)
{
	struct exported *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	for (int i = 0; i < v->ndim; i++)
		e->shape[i] = v->shape[i];
	e->managed.tensor.data = v->data;
	e->managed.tensor.device.type = CPU;
	e->managed.tensor.ndim = v->ndim;
	e->managed.tensor.dtype.code = (uint8_t)v->code;
	e->managed.tensor.dtype.bits = (uint8_t)(8 * v->itemsize);
	e->managed.tensor.dtype.lanes = 1;
	e->managed.tensor.shape = e->shape;
	e->managed.context = e;
	e->managed.deleter = delete_tensor;
	Py_INCREF((PyObject *)v);
	e->view = (PyObject *)v;
	return e;
}

/* Is what a caller asks for what we have: this memory, on the CPU, without a stream?
 * BufferError if not, as the protocol says. */
static bool is_possible(PyObject *device, PyObject *copy)
{
	int type = CPU;
	int id = 0;
	int copies = copy == Py_None ? 0 : PyObject_IsTrue(copy);

	if (copies < 0)
		return false;
	if (device != Py_None && !PyTuple_Check(device)) {
		PyErr_SetString(PyExc_TypeError,
				"dl_device must be a tuple of two numbers");
		return false;
	}
	if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id))
		return false;
	if (type == CPU && !copies)
		return true;
	PyErr_SetString(PyExc_BufferError,
			"memory of an arena is shared with the CPU only, "
			"without a copy; copy the tensor");
	return false;
}

PyObject *view_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "stream", "max_version", "dl_device", "copy",
				 NULL };
	PyObject *stream = Py_None; /* without meaning on the CPU */
	PyObject *version = Py_None; /* everybody takes the first one */
	PyObject *device = Py_None;
	PyObject *copy = Py_None;
	struct exported *e;
	PyObject *capsule;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__",
					 names, &stream, &version, &device,
					 &copy) ||
	    !is_possible(device, copy))
		return NULL;
	e = export_view((struct view *)self);
	if (!e)
		return PyErr_NoMemory();
	capsule = PyCapsule_New(&e->managed, "dltensor", delete_capsule);
	if (!capsule)
		delete_tensor(&e->managed);
	return capsule;
}
