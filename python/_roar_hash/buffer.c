/* buffer.c - see buffer.h */
#include "buffer.h"

#include <errno.h>

#include "hash/digest/memory_hash.h"
#include "interrupt.h"
#include "wanted.h"

enum { BRIEF_BYTES = 8192 }; /* hashed sooner than the GIL is back */

const char buffer_hash_doc[] =
	"hash_buffer(buffer, algorithms, is_main): {name: hex} of its bytes;\n"
	"is_main says that this is the thread where Python handles signals.";

static bool look(void *ctx)
{
	return interrupt_look(ctx);
}

static int hash(const struct wanted *w, const Py_buffer *view,
		struct interrupt *interrupt, struct digests *ret)
{
	struct memory_hash_options options = { .want = w->set,
					       .look = look,
					       .ctx = interrupt };
	size_t len = (size_t)view->len;
	int r;

	if (len <= BRIEF_BYTES) {
		options.look = NULL;
		return memory_hash(view->buf, len, &options, ret);
	}
	interrupt_release(interrupt);
	r = memory_hash(view->buf, len, &options, ret);
	interrupt_restore(interrupt);
	return r;
}

static PyObject *hash_view(const struct wanted *w, const Py_buffer *view,
			   struct interrupt *interrupt)
{
	struct digests d;
	int r = hash(w, view, interrupt, &d);

	if (interrupt->raised)
		return NULL;
	if (r == -ENOMEM)
		return PyErr_NoMemory();
	if (r < 0) {
		errno = -r;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	return wanted_dict(w, &d);
}

/* Each type has its own exception and words for memory with gaps; here they are one. */
static int get_view(PyObject *object, Py_buffer *ret)
{
	if (!PyObject_CheckBuffer(object)) {
		PyErr_Format(PyExc_TypeError,
			     "a buffer is needed (bytes, memoryview, a NumPy "
			     "array), not %R: encode a str, take the .numpy() "
			     "of a tensor",
			     Py_TYPE(object));
		return -1;
	}
	if (PyObject_GetBuffer(object, ret, PyBUF_SIMPLE) == 0)
		return 0;
	if (PyErr_ExceptionMatches(PyExc_BufferError) ||
	    PyErr_ExceptionMatches(PyExc_ValueError)) {
		PyErr_Clear();
		PyErr_Format(PyExc_BufferError,
			     "the bytes of this %R are not C-contiguous or not "
			     "accessible, hash a copy: "
			     "numpy.ascontiguousarray() or .tobytes() makes one",
			     Py_TYPE(object));
	}
	return -1;
}

PyObject *buffer_hash(PyObject *module, PyObject *args)
{
	struct interrupt interrupt = { 0 };
	struct wanted wanted;
	PyObject *object;
	PyObject *result;
	PyObject *names;
	Py_buffer view;
	int is_main;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO!p:hash_buffer", &object, &PyTuple_Type,
			      &names, &is_main))
		return NULL;
	interrupt.is_main = is_main;
	if (wanted_read(names, &wanted) < 0 || get_view(object, &view) < 0)
		return NULL;
	result = hash_view(&wanted, &view, &interrupt);
	PyBuffer_Release(&view);
	return result;
}
