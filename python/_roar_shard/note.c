/* note.c - what this process tells the `roar run` above it (event/note.h) */
#include "event/note.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "core.h"

static PyObject *run_find(PyObject *module, PyObject *unused)
{
	CLEANUP(str_release) struct str run = STR_INIT;
	int r;

	(void)module;
	(void)unused;
	Py_BEGIN_ALLOW_THREADS r = note_find_run(&run);
	Py_END_ALLOW_THREADS if (r == -ESRCH) Py_RETURN_NONE;
	return r < 0 ? core_raise(r, NULL) :
		       PyUnicode_DecodeFSDefaultAndSize(run.data,
							(Py_ssize_t)run.len);
}

/* One (rank, epoch, samples, dataset, path). */
static bool add_row(struct str *payload, PyObject *row)
{
	struct note_shard shard;
	PyObject *dataset = NULL;
	PyObject *path = NULL;
	long long rank, epoch, n_samples;

	if (!PyArg_ParseTuple(row,
			      "LLLO&O&;(rank, epoch, samples, dataset, path)",
			      &rank, &epoch, &n_samples, PyUnicode_FSConverter,
			      &dataset, PyUnicode_FSConverter, &path))
		return false;
	shard = (struct note_shard){
		.rank = rank,
		.epoch = epoch,
		.n_samples = n_samples,
		.dataset = PyBytes_AsString(dataset),
		.path = PyBytes_AsString(path),
	};
	note_shard_add(payload, &shard);
	Py_DECREF(dataset);
	Py_DECREF(path);
	return true;
}

static PyObject *note_shards(PyObject *module, PyObject *args)
{
	CLEANUP(str_release) struct str payload = STR_INIT;
	PyObject *run;
	PyObject *rows;
	unsigned number;
	int r;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&IO!:note_shards", PyUnicode_FSConverter,
			      &run, &number, &PyList_Type, &rows))
		return NULL;
	for (Py_ssize_t i = 0; i < PyList_Size(rows); i++)
		if (!add_row(&payload, PyList_GetItem(rows, i))) {
			Py_DECREF(run);
			return NULL;
		}
	r = str_error(&payload);
	Py_BEGIN_ALLOW_THREADS if (r == 0)
		r = note_write(PyBytes_AsString(run), NOTE_SHARDS, &number,
			       str_cstr(&payload), payload.len);
	Py_END_ALLOW_THREADS Py_DECREF(run);
	return r < 0 ? core_raise(r, NULL) : PyLong_FromUnsignedLong(number);
}

PyMethodDef note_functions[] = {
	{ "run_find", run_find, METH_NOARGS,
	  "The run that observes this process, as '.../.roar/runs/UID', or "
	  "None." },
	{ "note_shards", note_shards, METH_VARARGS,
	  "Reports to the run how many samples of which shard were read: a "
	  "list of (rank or -1, epoch, samples, dataset, path).  Replaces the "
	  "note of that number, or writes a new one for 0; returns the number." },
	{ 0 },
};
