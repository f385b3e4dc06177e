/* objects.c - see objects.h */
#include "objects.h"

const char objects_list_doc[] =
	"objects(url): [(key, size, etag), ...] of the objects of a bucket whose keys\n"
	"begin with that of the URL (bytes), in their order.";

#ifdef HAVE_S3

#include "s3/s3_lookup.h"
#include "s3/s3_source.h"

void objects_register(void)
{
	s3_source_register();
}

static PyObject *list_of(const struct s3_lookup_list *found)
{
	PyObject *list = PyList_New((Py_ssize_t)found->n);

	for (size_t i = 0; list && i < found->n; i++) {
		const struct s3_object *o = &found->objects[i];
		PyObject *key = PyUnicode_DecodeFSDefault(o->key);
		PyObject *item = key ? Py_BuildValue("(NLs)", key,
						     (long long)o->size_bytes,
						     o->etag) :
				       NULL;

		if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
			Py_CLEAR(list);
	}
	return list;
}

PyObject *objects_list(PyObject *module, PyObject *args)
{
	struct s3_lookup_list found = { 0 };
	struct roar_error err = { "" };
	PyThreadState *others;
	struct s3_url url;
	PyObject *list;
	const char *text;
	int r;

	if (!PyArg_ParseTuple(args, "y:objects", &text))
		return NULL;
	others = core_release();
	r = s3_url_parse(text, &url, &err);
	if (r == 0)
		r = s3_lookup_list(&url, &found, &err);
	PyEval_RestoreThread(others);
	if (r < 0)
		return core_fail(PyModule_GetState(module), r, &err);
	list = list_of(&found);
	s3_lookup_list_release(&found);
	return list;
}

#else

void objects_register(void)
{
}

PyObject *objects_list(PyObject *module, PyObject *args)
{
	struct roar_error err = { "" };
	const char *text;

	if (!PyArg_ParseTuple(args, "y:objects", &text))
		return NULL;
	return core_fail(PyModule_GetState(module),
			 error_set(&err, -ENOTSUP,
				   "'%s' is in object storage, which this "
				   "build of roar cannot read; fetch it to "
				   "local files",
				   text),
			 &err);
}

#endif
