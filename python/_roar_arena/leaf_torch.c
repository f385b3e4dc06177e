/* leaf_torch.c - torch.Tensor and torch.nn.Parameter, exactly, on the CPU
 *
 *	(leaf, WIRE_TENSOR | WIRE_PARAMETER, part, dtype, shape, strides, requires_grad)
 *	(leaf, WIRE_REDUCED, (function, arguments))
 *
 * A tensor's memory is taken as it lies, from its first element to its last, with the
 * strides, unless more than half of that is gaps.  Small tensors come here as well: their
 * bytes stay in the pickle, because torch's own way for them opens a descriptor each.
 * What is no plain memory (sparse, quantised) goes as torch.save() would take it apart: its
 * reducers for multiprocessing know nothing of it.  Theirs is what is left: tensors
 * on a device, and parts of a graph, which they refuse. */
#include "base/macros.h"
#include "decode.h"
#include "encode.h"
#include "leaf.h"
#include "view.h"

enum { MAX_DIMS = 64 };

static const struct {
	enum ref ref;
	const char *name;
} names[] = {
	{ REF_TORCH_STRIDED, "strided" },
	{ REF_TORCH_FROMBUFFER, "frombuffer" },
	{ REF_TORCH_EMPTY_STRIDED, "empty_strided" },
	{ REF_TENSOR, "Tensor" },
};

/* torch.nn.Parameter; NULL without an exception while torch is being imported. */
static PyObject *parameter_type(PyObject *torch)
{
	PyObject *nn = PyObject_GetAttrString(torch, "nn");
	PyObject *type = nn ? PyObject_GetAttrString(nn, "Parameter") : NULL;

	PyErr_Clear();
	Py_XDECREF(nn);
	return type;
}

int torch_look(struct state *state)
{
	PyObject *torch;
	PyObject *name;

	if (state->ref[REF_PARAMETER])
		return 0;
	name = PyUnicode_FromString("torch");
	torch = name ? PyImport_GetModule(name) : NULL;
	Py_XDECREF(name);
	if (!torch)
		return PyErr_Occurred() ? -1 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!state->ref[names[i].ref])
			state->ref[names[i].ref] = PyObject_GetAttrString(
				torch, names[i].name);
	PyErr_Clear();
	if (state->ref[REF_TENSOR])
		state->ref[REF_PARAMETER] = parameter_type(torch);
	Py_DECREF(torch);
	return 0;
}

static int need(struct state *state)
{
	PyObject *torch;

	if (state->ref[REF_PARAMETER])
		return 0;
	torch = PyImport_ImportModule("torch");
	if (!torch)
		return -1;
	Py_DECREF(torch);
	if (torch_look(state) < 0)
		return -1;
	if (state->ref[REF_PARAMETER])
		return 0;
	PyErr_SetString(PyExc_ImportError, "torch has no Parameter");
	return -1;
}

/* Is the attribute true, or what the method without arguments returns? */
static int truth(PyObject *tensor, const char *name)
{
	PyObject *value = PyObject_GetAttrString(tensor, name);
	int r;

	if (value && PyCallable_Check(value)) {
		PyObject *called = PyObject_CallNoArgs(value);

		Py_DECREF(value);
		value = called;
	}
	r = value ? PyObject_IsTrue(value) : -1;
	Py_XDECREF(value);
	return r;
}

struct property {
	const char *name;
	int want;
};

/* Are all of them as wanted?  1, 0, or -1 with an exception. */
static int has_all(PyObject *tensor, const struct property *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = truth(tensor, p[i].name);

		if (r != p[i].want)
			return r < 0 ? r : 0;
	}
	return 1;
}

/* Is it ours to send? */
static int is_ours(PyObject *tensor)
{
	static const struct property must[] = { { "is_cpu", 1 },
						{ "is_leaf", 1 } };

	return has_all(tensor, must, 2);
}

/* Is it memory, and nothing else? */
static int is_memory(const struct state *state, PyObject *tensor)
{
	static const struct property must[] = { { "is_quantized", 0 } };
	PyObject *layout = PyObject_GetAttrString(tensor, "layout");

	if (!layout)
		return -1;
	Py_DECREF(layout);
	if (layout != state->ref[REF_TORCH_STRIDED])
		return 0;
	return has_all(tensor, must, 1);
}

struct tensor {
	const void *data;
	size_t span; /* bytes from the first element to the last */
	size_t size; /* bytes of all elements */
	PyObject *shape; /* new references to tuples of numbers */
	PyObject *strides;
};

static void tensor_release(struct tensor *t)
{
	Py_CLEAR(t->shape);
	Py_CLEAR(t->strides);
}

static int number(PyObject *tensor, const char *method, size_t *ret)
{
	PyObject *value = PyObject_CallMethod(tensor, method, NULL);

	if (!value)
		return -1;
	*ret = PyLong_AsSize_t(value);
	Py_DECREF(value);
	return *ret == (size_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* A plain tuple of what is one with a class of its own. */
static PyObject *tuple_of(PyObject *sequence)
{
	PyObject *tuple = sequence ? PySequence_Tuple(sequence) : NULL;

	Py_XDECREF(sequence);
	return tuple;
}

static int measure(struct tensor *t, size_t itemsize)
{
	Py_ssize_t ndim = PyTuple_Size(t->shape);
	size_t n = 1;
	size_t last = 0;

	if (ndim > MAX_DIMS || PyTuple_Size(t->strides) != ndim)
		return -1;
	for (Py_ssize_t i = 0; i < ndim; i++) {
		size_t count = PyLong_AsSize_t(PyTuple_GetItem(t->shape, i));
		size_t stride = PyLong_AsSize_t(PyTuple_GetItem(t->strides, i));

		n *= count;
		last += count ? (count - 1) * stride : 0;
	}
	if (PyErr_Occurred())
		return -1;
	t->size = n * itemsize;
	t->span = n ? (last + 1) * itemsize : 0;
	return 0;
}

static int look(PyObject *tensor, struct tensor *t)
{
	size_t itemsize;
	size_t address;

	*t = (struct tensor){ 0 };
	if (number(tensor, "element_size", &itemsize) < 0 ||
	    number(tensor, "data_ptr", &address) < 0)
		return -1;
	t->data = (const void *)address;
	t->shape = tuple_of(PyObject_GetAttrString(tensor, "shape"));
	t->strides = t->shape ? tuple_of(PyObject_CallMethod(tensor, "stride",
							     NULL)) :
				NULL;
	if (t->strides && measure(t, itemsize) == 0)
		return 0;
	tensor_release(t);
	return -1;
}

/* The number of a part, or the bytes themselves when they are few. */
static PyObject *part_of(struct encoder *e, PyObject *owner,
			 const struct tensor *t)
{
	Py_ssize_t part;

	if (!t->span)
		return PyBytes_FromStringAndSize(NULL, 0);
	if (t->span < e->threshold && !view_find(e->handle, t->data, t->span))
		return PyBytes_FromStringAndSize(t->data, (Py_ssize_t)t->span);
	part = encoder_add(e, owner, t->data, t->span);
	return part < 0 ? NULL : PyLong_FromSsize_t(part);
}

static PyObject *id_of(struct encoder *e, PyObject *obj, PyObject *owner,
		       const struct tensor *t, enum wire_kind kind)
{
	Py_ssize_t leaf = encoder_number(e, obj);
	PyObject *part = leaf < 0 ? NULL : part_of(e, owner, t);
	PyObject *dtype = part ? PyObject_GetAttrString(obj, "dtype") : NULL;
	int grad = dtype ? truth(obj, "requires_grad") : -1;

	if (grad < 0) {
		Py_XDECREF(part);
		Py_XDECREF(dtype);
		return NULL;
	}
	return Py_BuildValue("niNNOOi", leaf, (int)kind, part, dtype, t->shape,
			     t->strides, grad);
}

/* The same values, each in its place in memory and without gaps. */
static PyObject *dense_of(PyObject *tensor)
{
	static const char *const steps[] = { "detach", "resolve_conj",
					     "resolve_neg", "contiguous" };

	Py_INCREF(tensor);
	for (size_t i = 0; tensor && i < ARRAY_SIZE(steps); i++) {
		PyObject *next = PyObject_CallMethod(tensor, steps[i], NULL);

		Py_DECREF(tensor);
		tensor = next;
	}
	return tensor;
}

static PyObject *claim_dense(struct encoder *e, PyObject *obj,
			     enum wire_kind kind)
{
	PyObject *dense = dense_of(obj);
	PyObject *id = NULL;
	struct tensor t;

	if (dense && look(dense, &t) == 0) {
		id = id_of(e, obj, dense, &t, kind);
		tensor_release(&t);
	}
	Py_XDECREF(dense);
	return id;
}

/* Do the values differ from what memory holds?  Conjugation and negation may wait there. */
static int is_lazy(PyObject *tensor)
{
	int r = truth(tensor, "is_conj");

	return r ? r : truth(tensor, "is_neg");
}

/* Taken apart by torch; None when that does not say all. */
static PyObject *claim_reduced(struct encoder *e, PyObject *obj)
{
	PyObject *parts = PyObject_CallMethod(obj, "__reduce_ex__", "i", 5);
	Py_ssize_t leaf;

	if (!parts)
		return NULL;
	if (!PyTuple_Check(parts) || PyTuple_Size(parts) != 2) {
		Py_DECREF(parts);
		Py_RETURN_NONE;
	}
	leaf = encoder_number(e, obj);
	if (leaf < 0) {
		Py_DECREF(parts);
		return NULL;
	}
	return Py_BuildValue("niN", leaf, (int)WIRE_REDUCED, parts);
}

static PyObject *claim(struct encoder *e, PyObject *obj, enum wire_kind kind)
{
	int r = is_ours(obj);
	struct tensor t;
	PyObject *id;

	if (r < 0)
		return NULL;
	if (r == 0)
		Py_RETURN_NONE;
	r = is_memory(e->state, obj);
	if (r <= 0)
		return r < 0 ? NULL : claim_reduced(e, obj);
	r = is_lazy(obj);
	if (r)
		return r < 0 ? NULL : claim_dense(e, obj, kind);
	if (look(obj, &t) < 0)
		return NULL;
	id = t.span / 2 > t.size ? claim_dense(e, obj, kind) :
				   id_of(e, obj, obj, &t, kind);
	tensor_release(&t);
	return id;
}

PyObject *tensor_claim(struct encoder *e, PyObject *obj)
{
	return claim(e, obj, WIRE_TENSOR);
}

PyObject *parameter_claim(struct encoder *e, PyObject *obj)
{
	return claim(e, obj, WIRE_PARAMETER);
}

/* callable(*args, dtype=dtype).  Steals `args`. */
static PyObject *call_dtype(PyObject *callable, PyObject *args, PyObject *dtype)
{
	PyObject *kwargs = args ? Py_BuildValue("{sO}", "dtype", dtype) : NULL;
	PyObject *result = kwargs ? PyObject_Call(callable, args, kwargs) :
				    NULL;

	Py_XDECREF(args);
	Py_XDECREF(kwargs);
	return result;
}

static PyObject *build_copy(struct decoder *d, const struct memory *m,
			    PyObject *dtype, PyObject *shape, PyObject *strides)
{
	PyObject *tensor = call_dtype(d->state->ref[REF_TORCH_EMPTY_STRIDED],
				      PyTuple_Pack(2, shape, strides), dtype);
	struct tensor t;

	if (!tensor)
		return NULL;
	if (look(tensor, &t) < 0) {
		Py_DECREF(tensor);
		return NULL;
	}
	if (decoder_copy(m, (void *)t.data, t.span) < 0)
		Py_CLEAR(tensor);
	tensor_release(&t);
	return tensor;
}

static PyObject *build_view(struct decoder *d, const struct memory *m,
			    PyObject *dtype, PyObject *shape, PyObject *strides)
{
	PyObject *view = decoder_view(d, m);
	PyObject *tensor = NULL;
	PyObject *done = NULL;

	if (view)
		tensor = call_dtype(d->state->ref[REF_TORCH_FROMBUFFER],
				    PyTuple_Pack(1, view), dtype);
	/* In place: the tensor is nobody's view, as the one that was sent. */
	if (tensor)
		done = PyObject_CallMethod(tensor, "as_strided_", "OO", shape,
					   strides);
	if (!done)
		Py_CLEAR(tensor);
	Py_XDECREF(done);
	Py_XDECREF(view);
	return tensor;
}

/* Steals `tensor`. */
static PyObject *with_grad(PyObject *tensor)
{
	PyObject *same = PyObject_CallMethod(tensor, "requires_grad_", "O",
					     Py_True);

	Py_DECREF(tensor);
	return same;
}

static PyObject *build(struct decoder *d, PyObject *id, int *ret_grad)
{
	PyObject *part;
	PyObject *dtype;
	PyObject *shape;
	PyObject *strides;
	Py_ssize_t leaf;
	struct memory m;
	int kind;

	if (!PyArg_ParseTuple(id, "niOOO!O!i", &leaf, &kind, &part, &dtype,
			      &PyTuple_Type, &shape, &PyTuple_Type, &strides,
			      ret_grad) ||
	    need(d->state) < 0 || decoder_part(d, part, &m) < 0)
		return NULL;
	return d->copy || m.private ? build_copy(d, &m, dtype, shape, strides) :
				      build_view(d, &m, dtype, shape, strides);
}

PyObject *tensor_build(struct decoder *d, PyObject *id)
{
	int grad = 0;
	PyObject *tensor = build(d, id, &grad);

	return tensor && grad ? with_grad(tensor) : tensor;
}

PyObject *parameter_build(struct decoder *d, PyObject *id)
{
	int grad = 0;
	PyObject *tensor = build(d, id, &grad);
	PyObject *parameter;

	if (!tensor)
		return NULL;
	parameter = PyObject_CallFunctionObjArgs(d->state->ref[REF_PARAMETER],
						 tensor,
						 grad ? Py_True : Py_False,
						 NULL);
	Py_DECREF(tensor);
	return parameter;
}

PyObject *reduced_build(struct decoder *d, PyObject *id)
{
	PyObject *function;
	PyObject *arguments;
	Py_ssize_t leaf;
	int kind;

	(void)d;
	if (!PyArg_ParseTuple(id, "ni(OO!)", &leaf, &kind, &function,
			      &PyTuple_Type, &arguments))
		return NULL;
	return PyObject_Call(function, arguments, NULL);
}
