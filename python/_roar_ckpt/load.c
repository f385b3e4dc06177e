/* load.c - see load.h */
#include "load.h"

#include <stdbool.h>

#include "blob/blob.h"
#include "ckpt/ckpt_listing.h"
#include "ckpt/ckpt_reader.h"
#include "memory.h"

enum {
	PARALLEL = 32, /* requests to object storage under way */
};

const char load_open_doc[] =
	"open(url, step, threads, replicas): a Reader; step -1 is the latest.";

struct reader {
	PyObject_HEAD struct blob_store *store;
	struct blob_store *replicas[CKPT_READER_REPLICAS_MAX];
	size_t n_replicas;
	struct ckpt_reader *reader; /* NULL: closed */
	bool is_mapped; /* a Map may refer to memory of the reader */
	bool is_busy; /* a thread uses the reader without the GIL */
	bool is_main; /* that thread is the one where Python handles signals */
	bool is_raised; /* and a handler has raised something */
	PyThreadState *others; /* while the GIL is released */
};

/* ---- the GIL ---- */

/* Called while the GIL is released, on the thread that released it. */
static bool look(void *ctx, uint64_t done, uint64_t total)
{
	struct reader *r = ctx;

	(void)done;
	(void)total;
	if (!r->is_main || r->is_raised)
		return r->is_raised;
	PyEval_RestoreThread(r->others);
	r->is_raised = PyErr_CheckSignals() < 0;
	r->others = PyEval_SaveThread();
	return r->is_raised;
}

static int begin_use(struct reader *r, int is_main)
{
	if (!r->reader || r->is_busy) {
		PyErr_SetString(PyExc_RuntimeError,
				r->reader ? "another thread uses this "
					    "checkpoint: open it again" :
					    "this checkpoint was closed");
		return -1;
	}
	r->is_busy = true;
	r->is_main = is_main;
	r->is_raised = false;
	r->others = PyEval_SaveThread();
	return 0;
}

static void end_use(struct reader *r)
{
	PyEval_RestoreThread(r->others);
	r->is_busy = false;
}

static PyObject *fail(const struct reader *r, int error,
		      const struct roar_error *err)
{
	return r->is_raised ? NULL : core_fail(error, err->text);
}

/* ---- open and close ---- */

static void close_all(struct reader *r)
{
	ckpt_reader_close(TAKE_PTR(r->reader));
	for (size_t i = 0; i < r->n_replicas; i++)
		blob_close(r->replicas[i]);
	r->n_replicas = 0;
	if (r->store)
		blob_close(TAKE_PTR(r->store));
}

static void reader_dealloc(PyObject *self)
{
	close_all((struct reader *)self);
	object_free(self);
}

static int open_stores(struct reader *r, const char *url,
		       const char *const *replicas, size_t n,
		       struct roar_error *err)
{
	int error = blob_open(url, false, PARALLEL, &r->store, err);

	for (size_t i = 0; error == 0 && i < n; i++) {
		error = blob_open(replicas[i], false, PARALLEL, &r->replicas[i],
				  err);
		r->n_replicas += error == 0;
	}
	return error;
}

static int open_reader(struct reader *r, long long step, unsigned threads,
		       struct roar_error *err)
{
	const struct ckpt_reader_options options = {
		.n_threads = threads,
		.replicas = r->replicas,
		.n_replicas = r->n_replicas,
		.look = look,
		.ctx = r,
	};
	uint64_t number = (uint64_t)step;
	int error = 0;

	if (step < 0)
		error = ckpt_store_latest(r->store, &number, err);
	return error < 0 ? error :
			   ckpt_reader_open(r->store, number, &options,
					    &r->reader, err);
}

static int take_replicas(PyObject *tuple, struct pool *pool, const char **ret,
			 size_t *ret_n)
{
	Py_ssize_t n = PyTuple_Size(tuple);

	if (n > CKPT_READER_REPLICAS_MAX) {
		PyErr_Format(PyExc_ValueError, "at most %d replicas",
			     CKPT_READER_REPLICAS_MAX);
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		if (memory_text(PyTuple_GetItem(tuple, i), pool, false,
				&ret[i]) < 0)
			return -1;
	*ret_n = (size_t)n;
	return 0;
}

static PyObject *open_at(const struct state *state, PyObject *given,
			 long long step, unsigned threads, PyObject *tuple,
			 struct pool *pool)
{
	const char *replicas[CKPT_READER_REPLICAS_MAX] = { NULL };
	struct roar_error err = { 0 };
	struct reader *r;
	const char *url;
	size_t n;
	int error;

	if (memory_text(given, pool, false, &url) < 0 ||
	    take_replicas(tuple, pool, replicas, &n) < 0)
		return NULL;
	r = object_new(state->reader_type);
	if (!r)
		return NULL;
	r->others = PyEval_SaveThread();
	error = open_stores(r, url, replicas, n, &err);
	if (error == 0)
		error = open_reader(r, step, threads, &err);
	PyEval_RestoreThread(r->others);
	if (error == 0)
		return (PyObject *)r;
	Py_DECREF((PyObject *)r);
	return core_fail(error, err.text);
}

PyObject *load_open(PyObject *module, PyObject *args)
{
	struct pool pool = POOL_INIT;
	PyObject *url, *replicas, *result;
	unsigned threads;
	long long step;

	if (!PyArg_ParseTuple(args, "OLIO!:open", &url, &step, &threads,
			      &PyTuple_Type, &replicas))
		return NULL;
	result = open_at(PyModule_GetState(module), url, step, threads,
			 replicas, &pool);
	pool_release(&pool);
	return result;
}

static PyObject *reader_close(PyObject *self, PyObject *args)
{
	struct reader *r = (struct reader *)self;

	(void)args;
	if (r->is_busy) {
		PyErr_SetString(PyExc_RuntimeError,
				"another thread uses this checkpoint");
		return NULL;
	}
	if (!r->is_mapped) /* else with the last Map */
		close_all(r);
	Py_RETURN_NONE;
}

/* ---- what it has ---- */

static PyObject *reader_manifest(PyObject *self, PyObject *args)
{
	struct reader *r = (struct reader *)self;
	struct str text = STR_INIT;
	PyObject *result;

	(void)args;
	if (!r->reader) {
		PyErr_SetString(PyExc_RuntimeError,
				"this checkpoint was closed");
		return NULL;
	}
	ckpt_manifest_write(ckpt_reader_manifest(r->reader), &text);
	result = str_error(&text) < 0 ?
			 PyErr_NoMemory() :
			 PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len,
					      NULL);
	str_release(&text);
	return result;
}

/* ---- loading ---- */

struct wants {
	struct ckpt_want *wants;
	struct memory *memories;
	size_t n;
	struct pool pool;
};

static int take_want(const struct ckpt_manifest *m, struct wants *w,
		     PyObject *row)
{
	struct ckpt_want want = { 0 };
	const struct ckpt_tensor *tensor;
	PyObject *name, *offset, *shape, *memory;
	unsigned n_offset;
	uint64_t size;

	if (!PyArg_ParseTuple(row, "OOOO:want", &name, &offset, &shape,
			      &memory) ||
	    memory_text(name, &w->pool, false, &want.tensor) < 0 ||
	    memory_numbers(offset, &w->pool, &n_offset, &want.offset) < 0 ||
	    memory_numbers(shape, &w->pool, &want.n_dims, &want.shape) < 0)
		return -1;
	tensor = ckpt_manifest_tensor(m, want.tensor);
	if (!tensor || n_offset != want.n_dims) {
		PyErr_Format(PyExc_KeyError,
			     "no tensor '%s' of these dimensions", want.tensor);
		return -1;
	}
	if (memory_size(ckpt_dtype_name(tensor->dtype), want.shape, want.n_dims,
			&size) < 0 ||
	    memory_take(memory, size, true, &w->memories[w->n]) < 0)
		return -1;
	want.to = w->memories[w->n].data;
	want.to_bytes = size;
	w->wants[w->n++] = want;
	return 0;
}

static int take_wants(const struct ckpt_manifest *m, PyObject *rows,
		      struct wants *w)
{
	Py_ssize_t n = PyList_Size(rows);

	w->wants = PyMem_Calloc((size_t)n + 1, sizeof(*w->wants));
	w->memories = PyMem_Calloc((size_t)n + 1, sizeof(*w->memories));
	if (!w->wants || !w->memories) {
		(void)PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		if (take_want(m, w, PyList_GetItem(rows, i)) < 0)
			return -1;
	return 0;
}

static void release_wants(struct wants *w)
{
	for (size_t i = 0; i < w->n; i++)
		memory_release(&w->memories[i]);
	PyMem_Free(w->wants);
	PyMem_Free(w->memories);
	pool_release(&w->pool);
}

static PyObject *load_wants(struct reader *r, const struct wants *w,
			    int is_main)
{
	struct roar_error err = { 0 };
	int error;

	if (begin_use(r, is_main) < 0)
		return NULL;
	error = ckpt_reader_load(r->reader, w->wants, w->n, &err);
	end_use(r);
	if (error < 0)
		return fail(r, error, &err);
	Py_RETURN_NONE;
}

static PyObject *reader_load(PyObject *self, PyObject *args)
{
	struct reader *r = (struct reader *)self;
	struct wants w = { 0 };
	PyObject *rows, *result = NULL;
	int is_main;

	if (!PyArg_ParseTuple(args, "O!p:load", &PyList_Type, &rows, &is_main))
		return NULL;
	if (!r->reader) {
		PyErr_SetString(PyExc_RuntimeError,
				"this checkpoint was closed");
		return NULL;
	}
	if (take_wants(ckpt_reader_manifest(r->reader), rows, &w) == 0)
		result = load_wants(r, &w, is_main);
	release_wants(&w);
	return result;
}

static PyObject *reader_verify(PyObject *self, PyObject *args)
{
	struct reader *r = (struct reader *)self;
	struct roar_error err = { 0 };
	int64_t n;
	int is_main;

	if (!PyArg_ParseTuple(args, "p:verify", &is_main) ||
	    begin_use(r, is_main) < 0)
		return NULL;
	n = ckpt_reader_scan(r->reader, NULL, NULL, &err);
	end_use(r);
	return n < 0 ? fail(r, (int)n, &err) : PyLong_FromLongLong(n);
}

/* ---- mapping ---- */

struct mapping {
	PyObject_HEAD PyObject *reader; /* whose memory it is */
	const void *data;
	Py_ssize_t len;
};

static void mapping_dealloc(PyObject *self)
{
	Py_XDECREF(((struct mapping *)self)->reader);
	object_free(self);
}

static int mapping_get(PyObject *self, Py_buffer *view, int flags)
{
	struct mapping *m = (struct mapping *)self;

	return PyBuffer_FillInfo(view, self, (void *)m->data, m->len, 1, flags);
}

static PyType_Slot mapping_slots[] = {
	{ Py_tp_doc, "A tensor in the memory of its file." },
	{ Py_tp_dealloc, mapping_dealloc },
	{ Py_bf_getbuffer, mapping_get },
	{ 0 },
};

PyType_Spec load_map_spec = {
	.name = "_roar_ckpt.Map",
	.basicsize = sizeof(struct mapping),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
		 Py_TPFLAGS_IMMUTABLETYPE,
	.slots = mapping_slots,
};

static PyObject *reader_map(PyObject *self, PyTypeObject *type,
			    PyObject *const *args, Py_ssize_t n,
			    PyObject *names)
{
	struct reader *r = (struct reader *)self;
	const struct state *state = PyType_GetModuleState(type);
	const char *name = n == 2 ? PyUnicode_AsUTF8AndSize(args[0], NULL) :
				    NULL;
	struct roar_error err = { 0 };
	const void *data;
	struct mapping *map;
	size_t len;
	int error;

	(void)names;
	if (!name) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_TypeError,
					"map() takes a name and is_main");
		return NULL;
	}
	if (begin_use(r, PyObject_IsTrue(args[1])) < 0)
		return NULL;
	error = ckpt_reader_map(r->reader, name, &data, &len, &err);
	end_use(r);
	if (error < 0)
		return fail(r, error, &err);
	map = object_new(state->map_type);
	if (!map)
		return NULL;
	Py_INCREF(self);
	map->reader = self;
	map->data = data;
	map->len = (Py_ssize_t)len;
	r->is_mapped = true;
	return (PyObject *)map;
}

/* ---- the type ---- */

static PyObject *reader_bytes_read(PyObject *self, void *closure)
{
	const struct reader *r = (struct reader *)self;

	(void)closure;
	return PyLong_FromUnsignedLongLong(
		r->reader ? ckpt_reader_bytes_read(r->reader) : 0);
}

static PyMethodDef methods[] = {
	{ "manifest", reader_manifest, METH_NOARGS, "The manifest, as JSON." },
	{ "load", reader_load, METH_VARARGS,
	  "load([(name, offset, shape, memory)], is_main): reads boxes of tensors." },
	{ "map", (PyCFunction)(void (*)(void))reader_map,
	  METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
	  "map(name, is_main): the memory of a tensor in its file, a Map." },
	{ "verify", reader_verify, METH_VARARGS,
	  "verify(is_main): reads all; the number of damaged leaves." },
	{ "close", reader_close, METH_NOARGS, "Closes all files." },
	{ 0 },
};

static PyGetSetDef getters[] = {
	{ "bytes_read", reader_bytes_read, NULL,
	  "Bytes that the last call has read.", NULL },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "An open checkpoint." },
	{ Py_tp_dealloc, reader_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, getters },
	{ 0 },
};

PyType_Spec load_reader_spec = {
	.name = "_roar_ckpt.Reader",
	.basicsize = sizeof(struct reader),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
		 Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};
