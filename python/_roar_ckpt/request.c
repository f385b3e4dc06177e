/* request.c - see request.h */
#include "request.h"

#include <roar/checkpoint.h>
#include <string.h>

#include "base/str.h"
#include "ckpt/ckpt_failure.h"
#include "ckpt/ckpt_save.h"
#include "ckpt/ckpt_snapshot.h"
#include "event/note.h"
#include "memory.h"
#include "part.h"

const char request_new_doc[] =
	"request(url, step, rank, world_size, save_id, rows, members, threads, is_part):\n"
	"a Request.  is_part: run() returns a Part, also of a single writer.\n"
	"A row is (name, dtype, shape, offset, part shape, memory); members are epoch,\n"
	"parent, world epoch, fencing token, metrics, tags, state, data position, rng.";

struct request {
	PyObject_HEAD struct roar_checkpoint_save save;
	struct roar_checkpoint_tensor *tensors;
	struct memory *memories;
	size_t n; /* of both that are filled in */
	struct pool pool;
	struct ckpt_progress progress; /* of run(), for all threads */
	bool is_part; /* somebody else says when it is committed */
	bool is_copied; /* the tensors are in `snapshot` */
	bool is_busy; /* a thread uses it without the GIL, or did */
};

/* The copy of the one request whose `is_copied` is set.  Protected by the GIL. */
static struct ckpt_snapshot snapshot;
static bool snapshot_is_used;

/* ---- tensors ---- */

static bool is_whole(const struct roar_checkpoint_tensor *t)
{
	return memcmp(t->shape, t->part_shape, t->n_dims * sizeof(*t->shape)) ==
	       0;
}

static int take_row(struct request *q, PyObject *row)
{
	struct roar_checkpoint_tensor t = { 0 };
	struct memory *m = &q->memories[q->n];
	PyObject *name, *dtype, *shape, *offset, *part, *memory;
	unsigned n_offset, n_part;
	uint64_t size;

	if (!PyArg_ParseTuple(row, "OOOOOO:row", &name, &dtype, &shape, &offset,
			      &part, &memory))
		return -1;
	if (memory_text(name, &q->pool, false, &t.name) < 0 ||
	    memory_text(dtype, &q->pool, false, &t.dtype) < 0 ||
	    memory_numbers(shape, &q->pool, &t.n_dims, &t.shape) < 0 ||
	    memory_numbers(offset, &q->pool, &n_offset, &t.part_offset) < 0 ||
	    memory_numbers(part, &q->pool, &n_part, &t.part_shape) < 0 ||
	    memory_size(t.dtype, t.part_shape, n_part, &size) < 0)
		return -1;
	if (n_offset != t.n_dims || n_part != t.n_dims) {
		PyErr_Format(PyExc_ValueError,
			     "a part of '%s' has other dimensions than the "
			     "tensor",
			     t.name);
		return -1;
	}
	if (is_whole(&t))
		t.part_offset = t.part_shape = NULL;
	if (memory_take(memory, size, false, m) < 0)
		return -1;
	t.data = m->data;
	q->tensors[q->n++] = t;
	return 0;
}

static int take_rows(struct request *q, PyObject *rows)
{
	Py_ssize_t n = PyList_Size(rows);

	if (n < 0)
		return -1;
	q->tensors = PyMem_Calloc((size_t)n + 1, sizeof(*q->tensors));
	q->memories = PyMem_Calloc((size_t)n + 1, sizeof(*q->memories));
	if (!q->tensors || !q->memories) {
		(void)PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		if (take_row(q, PyList_GetItem(rows, i)) < 0)
			return -1;
	q->save.tensors = q->tensors;
	q->save.n_tensors = q->n;
	return 0;
}

/* ---- members of the manifest ---- */

static int take_metrics(struct request *q, PyObject *tuple)
{
	Py_ssize_t n = PyTuple_Size(tuple);
	struct roar_checkpoint_metric *metrics;

	if (n < 0)
		return -1;
	metrics = pool_zalloc(&q->pool, (size_t)(n + 1) * sizeof(*metrics));
	if (!metrics) {
		(void)PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *name;

		if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "Od:metric",
				      &name, &metrics[i].value) ||
		    memory_text(name, &q->pool, false, &metrics[i].name) < 0)
			return -1;
	}
	q->save.metrics = metrics;
	q->save.n_metrics = (size_t)n;
	return 0;
}

static int take_tags(struct request *q, PyObject *tuple)
{
	Py_ssize_t n = PyTuple_Size(tuple);
	const char **tags;

	if (n < 0)
		return -1;
	tags = pool_zalloc(&q->pool, (size_t)(n + 1) * sizeof(*tags));
	if (!tags) {
		(void)PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		if (memory_text(PyTuple_GetItem(tuple, i), &q->pool, false,
				&tags[i]) < 0)
			return -1;
	q->save.tags = tags;
	q->save.n_tags = (size_t)n;
	return 0;
}

static int take_parent(struct request *q, long long parent)
{
	if (parent < 0)
		return 0;
	q->save.parent = pool_printf(&q->pool, "step-%012lld", parent);
	if (q->save.parent)
		return 0;
	(void)PyErr_NoMemory();
	return -1;
}

static int take_members(struct request *q, PyObject *members)
{
	unsigned long long epoch, world_epoch, token;
	PyObject *metrics, *tags, *state, *position, *rng;
	long long parent;

	if (!PyArg_ParseTuple(members, "KLKKO!O!OOO:members", &epoch, &parent,
			      &world_epoch, &token, &PyTuple_Type, &metrics,
			      &PyTuple_Type, &tags, &state, &position, &rng))
		return -1;
	q->save.epoch = epoch;
	q->save.world_epoch = world_epoch;
	q->save.fencing_token = token;
	if (take_parent(q, parent) < 0 || take_metrics(q, metrics) < 0 ||
	    take_tags(q, tags) < 0 ||
	    memory_text(state, &q->pool, true, &q->save.state) < 0 ||
	    memory_text(position, &q->pool, true, &q->save.data_position) < 0 ||
	    memory_text(rng, &q->pool, true, &q->save.rng) < 0)
		return -1;
	return 0;
}

static int take_request(struct request *q, PyObject *args)
{
	PyObject *url, *id, *rows, *members;
	unsigned long long step;
	unsigned rank, world, threads;
	int is_part;

	if (!PyArg_ParseTuple(args, "OKIIOO!O!Ip:request", &url, &step, &rank,
			      &world, &id, &PyList_Type, &rows, &PyTuple_Type,
			      &members, &threads, &is_part))
		return -1;
	q->is_part = is_part || world > 1;
	q->save.step = step;
	q->save.rank = rank;
	q->save.world_size = world;
	q->save.n_threads = threads;
	if (memory_text(url, &q->pool, false, &q->save.url) < 0 ||
	    memory_text(id, &q->pool, false, &q->save.save_id) < 0 ||
	    take_rows(q, rows) < 0)
		return -1;
	return take_members(q, members);
}

/* The run that observes this process, if any. */
static int take_job(struct request *q)
{
	CLEANUP(str_release) struct str run = STR_INIT;

	if (note_find_run(&run) < 0)
		return 0;
	q->save.job = pool_strdup(&q->pool, run.data + run.len - NOTE_UID_LEN);
	if (q->save.job)
		return 0;
	(void)PyErr_NoMemory();
	return -1;
}

/* ---- lifetime ---- */

static void release_tensors(struct request *q)
{
	for (size_t i = 0; i < q->n; i++)
		memory_release(&q->memories[i]);
	q->n = 0;
}

static void request_dealloc(PyObject *self)
{
	struct request *q = (struct request *)self;

	release_tensors(q);
	if (q->is_copied)
		snapshot_is_used = false;
	PyMem_Free(q->tensors);
	PyMem_Free(q->memories);
	pool_release(&q->pool);
	object_free(self);
}

PyObject *request_new(PyObject *module, PyObject *args)
{
	const struct state *state = PyModule_GetState(module);
	struct request *q = object_new(state->request_type);

	if (!q)
		return NULL;
	if (take_request(q, args) == 0 && take_job(q) == 0)
		return (PyObject *)q;
	Py_DECREF((PyObject *)q);
	return NULL;
}

/* ---- copying and saving ---- */

static PyObject *request_copy(PyObject *self, PyObject *args)
{
	struct request *q = (struct request *)self;
	struct roar_error err = { 0 };
	int r;

	(void)args;
	if (snapshot_is_used || q->is_copied || q->is_busy) {
		PyErr_SetString(PyExc_RuntimeError,
				"the copy of another save is in use");
		return NULL;
	}
	snapshot_is_used = q->is_copied = q->is_busy = true;
	Py_BEGIN_ALLOW_THREADS;
	r = ckpt_snapshot_take(&snapshot, &q->save, &err);
	Py_END_ALLOW_THREADS;
	q->is_busy = false;
	if (r < 0)
		return core_fail(r, err.text);
	release_tensors(q);
	Py_RETURN_NONE;
}

static int run_save(struct request *q, struct ckpt_pending **ret,
		    struct roar_checkpoint_result *result,
		    struct roar_error *err)
{
	const struct roar_checkpoint_save *save = q->is_copied ?
							  &snapshot.save :
							  &q->save;
	int r;

	if (!q->is_part)
		return ckpt_save_run(save, &q->progress, result, err);
	r = ckpt_save_write(save, &q->progress, ret, err);
	if (r == 0)
		ckpt_save_result(*ret, result);
	return r;
}

static PyObject *request_run(PyObject *self, PyTypeObject *type,
			     PyObject *const *args, Py_ssize_t n,
			     PyObject *names)
{
	struct request *q = (struct request *)self;
	struct roar_checkpoint_result result = { 0 };
	struct ckpt_pending *pending = NULL;
	struct roar_error err = { 0 };
	PyObject *part = Py_None;
	int r;

	(void)args;
	(void)names;
	if (n != 0 || q->is_busy) {
		PyErr_SetString(PyExc_RuntimeError,
				"run() takes no arguments, and is called once");
		return NULL;
	}
	q->is_busy = true;
	Py_BEGIN_ALLOW_THREADS;
	r = run_save(q, &pending, &result, &err);
	Py_END_ALLOW_THREADS;
	if (r < 0)
		return core_fail(r, err.text);
	Py_INCREF(part);
	if (pending) {
		Py_DECREF(part);
		part = part_new(PyType_GetModuleState(type), pending);
	}
	if (!part)
		return NULL;
	return Py_BuildValue("KKN", (unsigned long long)result.written_bytes,
			     (unsigned long long)result.size_bytes, part);
}

static PyObject *request_stop(PyObject *self, PyObject *args)
{
	(void)args;
	atomic_store(&((struct request *)self)->progress.stop, true);
	Py_RETURN_NONE;
}

/* Leaves a note that `roar checkpoint ls` shows. */
static PyObject *request_failed(PyObject *self, PyObject *args)
{
	const struct roar_checkpoint_save *save = &((struct request *)self)->save;
	const char *sentence;

	if (!PyArg_ParseTuple(args, "s:failed", &sentence))
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	ckpt_failure_put(save->url, save->step, save->save_id, sentence);
	Py_END_ALLOW_THREADS;
	Py_RETURN_NONE;
}

static PyObject *request_progress(PyObject *self, PyObject *args)
{
	struct ckpt_progress *p = &((struct request *)self)->progress;

	(void)args;
	return Py_BuildValue("KK",
			     (unsigned long long)atomic_load(&p->done_bytes),
			     (unsigned long long)atomic_load(&p->total_bytes));
}

static PyMethodDef methods[] = {
	{ "copy", request_copy, METH_NOARGS, "Copies all tensors." },
	{ "run", (PyCFunction)(void (*)(void))request_run,
	  METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
	  "Saves: (bytes written, bytes in all, Part or None)." },
	{ "stop", request_stop, METH_NOARGS, "Ends run() of another thread." },
	{ "failed", request_failed, METH_VARARGS,
	  "failed(sentence): leaves a note of a failure in the background." },
	{ "progress", request_progress, METH_NOARGS,
	  "(bytes done, bytes in all)" },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "All that a save needs." },
	{ Py_tp_dealloc, request_dealloc },
	{ Py_tp_methods, methods },
	{ 0 },
};

PyType_Spec request_spec = {
	.name = "_roar_ckpt.Request",
	.basicsize = sizeof(struct request),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
		 Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};
