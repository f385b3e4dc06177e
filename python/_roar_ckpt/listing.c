/* listing.c - see listing.h */
#include "listing.h"

#include "blob/blob.h"
#include "ckpt/ckpt_gc.h"
#include "ckpt/ckpt_listing.h"

enum {
	PARALLEL = 32, /* requests to object storage under way */
};

const char listing_list_doc[] =
	"list(url): [(step, epoch, bytes, created, metrics, tags, problem or None)] of\n"
	"the committed checkpoints, by step.";
const char listing_gc_doc[] =
	"gc(url, last, every, metric or None, highest): removes checkpoints that no\n"
	"rule keeps, and leftovers; how many checkpoints.";

/* ---- one entry ---- */

static PyObject *metrics_of(const struct ckpt_entry *e)
{
	PyObject *dict = PyDict_New();

	for (size_t i = 0; dict && i < e->n_metrics; i++) {
		PyObject *value = PyFloat_FromDouble(e->metrics[i].value);

		if (!value ||
		    PyDict_SetItemString(dict, e->metrics[i].name, value) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(value);
	}
	return dict;
}

static PyObject *tags_of(const struct ckpt_entry *e)
{
	PyObject *tuple = PyTuple_New((Py_ssize_t)e->n_tags);

	for (size_t i = 0; tuple && i < e->n_tags; i++) {
		PyObject *tag = PyUnicode_FromString(e->tags[i]);

		if (!tag || PyTuple_SetItem(tuple, (Py_ssize_t)i, tag) < 0)
			Py_CLEAR(tuple);
	}
	return tuple;
}

static PyObject *row_of(const struct ckpt_entry *e)
{
	PyObject *metrics = metrics_of(e);
	PyObject *tags = metrics ? tags_of(e) : NULL;

	if (!tags) {
		Py_XDECREF(metrics);
		return NULL;
	}
	return Py_BuildValue("KKKsNNz", (unsigned long long)e->step,
			     (unsigned long long)e->epoch,
			     (unsigned long long)e->stored_bytes,
			     e->created ? e->created : "", metrics, tags,
			     e->problem);
}

/* ---- all of them ---- */

static PyObject *rows_of(const struct ckpt_listing *l)
{
	PyObject *rows = PyList_New(0);

	for (size_t i = 0; rows && i < l->n_entries; i++) {
		PyObject *row;

		if (!l->entries[i].is_committed)
			continue;
		row = row_of(&l->entries[i]);
		if (!row || PyList_Append(rows, row) < 0)
			Py_CLEAR(rows);
		Py_XDECREF(row);
	}
	return rows;
}

static int read_listing(const char *url, struct ckpt_listing *l,
			struct roar_error *err)
{
	CLEANUP(blob_closep) struct blob_store *store = NULL;
	int r = blob_open(url, false, PARALLEL, &store, err);

	if (r == -ENOENT)
		return 0; /* before the first save */
	return r < 0 ? r :
		       ckpt_listing_read(l, store, CKPT_LIST_MANIFESTS, err);
}

PyObject *listing_list(PyObject *module, PyObject *args)
{
	struct ckpt_listing listing = CKPT_LISTING_INIT;
	struct roar_error err = { 0 };
	PyObject *result;
	const char *url;
	int r;

	(void)module;
	if (!PyArg_ParseTuple(args, "s:list", &url))
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	r = read_listing(url, &listing, &err);
	Py_END_ALLOW_THREADS;
	result = r < 0 ? core_fail(r, err.text) : rows_of(&listing);
	ckpt_listing_release(&listing);
	return result;
}

/* ---- removing ---- */

static int run_gc(const char *url, const struct ckpt_gc_options *options,
		  struct ckpt_gc_result *ret, struct roar_error *err)
{
	CLEANUP(blob_closep) struct blob_store *store = NULL;
	int r = blob_open(url, false, PARALLEL, &store, err);

	return r < 0 ? r : ckpt_gc_run(store, options, ret, err);
}

PyObject *listing_gc(PyObject *module, PyObject *args)
{
	struct ckpt_gc_options options = { 0 };
	struct ckpt_gc_result result = { 0 };
	unsigned long long last, every;
	struct roar_error err = { 0 };
	const char *url, *metric;
	int highest, r;

	(void)module;
	if (!PyArg_ParseTuple(args, "sKKzp:gc", &url, &last, &every, &metric,
			      &highest))
		return NULL;
	options.rules.last = last;
	options.rules.every = every;
	options.rules.metric = metric;
	if (metric)
		options.rules.best = highest ? CKPT_BEST_HIGHEST :
					       CKPT_BEST_LOWEST;
	Py_BEGIN_ALLOW_THREADS;
	r = run_gc(url, &options, &result, &err);
	Py_END_ALLOW_THREADS;
	return r < 0 ? core_fail(r, err.text) :
		       PyLong_FromSize_t(result.n_removed);
}
