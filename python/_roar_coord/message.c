/* message.c - dict -> message of protobuf -> dict, by the message's description.
 *
 * What is made here is freed by protobuf-c, so all memory is malloc()'s and fields are set
 * one by one: whatever fails, what there is so far is a message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* ---- small things ---- */

static void *field_at(const ProtobufCMessage *m,
		      const ProtobufCFieldDescriptor *f)
{
	return (char *)m + f->offset;
}

static size_t *count_at(const ProtobufCMessage *m,
			const ProtobufCFieldDescriptor *f)
{
	return (size_t *)((char *)m + f->quantifier_offset);
}

/* Bytes of one value of a repeated field, as protobuf-c lays them out. */
static size_t size_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
	case PROTOBUF_C_TYPE_BOOL:
		return 4;
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	default:
		return 8;
	}
}

/* Maps are repeated messages of two fields, key and value. */
static bool is_map(const ProtobufCFieldDescriptor *f)
{
	const ProtobufCMessageDescriptor *d = f->descriptor;

	return f->label == PROTOBUF_C_LABEL_REPEATED &&
	       f->type == PROTOBUF_C_TYPE_MESSAGE && d->n_fields == 2 &&
	       strcmp(d->fields[0].name, "key") == 0 &&
	       strcmp(d->fields[1].name, "value") == 0;
}

/* ---- in ---- */

static int wrong(const ProtobufCFieldDescriptor *f, const char *wanted)
{
	PyErr_Format(PyExc_TypeError, "%s must be %s", f->name, wanted);
	return -1;
}

static int put_string(const ProtobufCFieldDescriptor *f, PyObject *value,
		      char **ret)
{
	Py_ssize_t len;
	const char *text;
	char *copy;

	if (!PyUnicode_Check(value))
		return wrong(f, "a str");
	text = PyUnicode_AsUTF8AndSize(value, &len);
	if (!text)
		return -1;
	if (strlen(text) != (size_t)len)
		return wrong(f, "a str without a NUL");
	copy = strdup(text);
	if (!copy) {
		PyErr_NoMemory();
		return -1;
	}
	*ret = copy;
	return 0;
}

static int put_bytes(PyObject *value, ProtobufCBinaryData *ret)
{
	PyObject *bytes = PyBytes_FromObject(value);
	Py_ssize_t len;
	char *data;

	if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &len) < 0) {
		Py_XDECREF(bytes);
		return -1;
	}
	ret->data = malloc((size_t)len + 1);
	if (ret->data) {
		memcpy(ret->data, data, (size_t)len);
		ret->len = (size_t)len;
	} else {
		PyErr_NoMemory();
	}
	Py_DECREF(bytes);
	return ret->data ? 0 : -1;
}

/* By number, or by name in whatever case. */
static int put_enum(const ProtobufCFieldDescriptor *f, PyObject *value,
		    int *ret)
{
	const ProtobufCEnumDescriptor *type = f->descriptor;
	const char *name;
	long number;

	if (!PyUnicode_Check(value)) {
		number = PyLong_AsLong(value);
		*ret = (int)number;
		return number == -1 && PyErr_Occurred() ? -1 : 0;
	}
	name = PyUnicode_AsUTF8AndSize(value, NULL);
	for (unsigned i = 0; name && i < type->n_values; i++) {
		if (strcasecmp(type->values[i].name, name) != 0)
			continue;
		*ret = type->values[i].value;
		return 0;
	}
	if (name)
		PyErr_Format(PyExc_ValueError, "%s has no value %R", f->name,
			     value);
	return -1;
}

static int put_int32(PyObject *value, int32_t *ret)
{
	long number = PyLong_AsLong(value);

	if (number == -1 && PyErr_Occurred())
		return -1;
	if (number < INT32_MIN || number > INT32_MAX) {
		PyErr_SetString(PyExc_OverflowError,
				"the number does not fit into 32 bits");
		return -1;
	}
	*ret = (int32_t)number;
	return 0;
}

static int put_uint32(PyObject *value, uint32_t *ret)
{
	unsigned long long number = PyLong_AsUnsignedLongLong(value);

	if (PyErr_Occurred())
		return -1;
	if (number > UINT32_MAX) {
		PyErr_SetString(PyExc_OverflowError,
				"the number does not fit into 32 bits");
		return -1;
	}
	*ret = (uint32_t)number;
	return 0;
}

static int put_message(const ProtobufCFieldDescriptor *f, PyObject *value,
		       ProtobufCMessage **ret)
{
	*ret = message_from_dict(f->descriptor, value);
	return *ret ? 0 : -1;
}

static int put(const ProtobufCFieldDescriptor *f, PyObject *value, void *to)
{
	int truth;

	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		return put_string(f, value, to);
	case PROTOBUF_C_TYPE_BYTES:
		return put_bytes(value, to);
	case PROTOBUF_C_TYPE_MESSAGE:
		return put_message(f, value, to);
	case PROTOBUF_C_TYPE_ENUM:
		return put_enum(f, value, to);
	case PROTOBUF_C_TYPE_BOOL:
		truth = PyObject_IsTrue(value);
		*(protobuf_c_boolean *)to = truth == 1;
		return truth < 0 ? -1 : 0;
	case PROTOBUF_C_TYPE_INT32:
		return put_int32(value, to);
	case PROTOBUF_C_TYPE_UINT32:
		return put_uint32(value, to);
	case PROTOBUF_C_TYPE_INT64:
		*(int64_t *)to = PyLong_AsLongLong(value);
		break;
	case PROTOBUF_C_TYPE_UINT64:
		*(uint64_t *)to = PyLong_AsUnsignedLongLong(value);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)to = PyFloat_AsDouble(value);
		break;
	default:
		return wrong(f, "of a type that is known here");
	}
	return PyErr_Occurred() ? -1 : 0;
}

/* {"k": "v"} as the entries that stand for it. */
static PyObject *map_items(PyObject *dict)
{
	PyObject *list = PyList_New(0);
	PyObject *key;
	PyObject *value;
	Py_ssize_t pos = 0;

	while (list && PyDict_Next(dict, &pos, &key, &value)) {
		PyObject *entry = Py_BuildValue("{sOsO}", "key", key, "value",
						value);

		if (!entry || PyList_Append(list, entry) < 0)
			Py_CLEAR(list);
		Py_XDECREF(entry);
	}
	return list;
}

static PyObject *items_of(const ProtobufCFieldDescriptor *f, PyObject *value)
{
	if (is_map(f) && PyDict_Check(value))
		return map_items(value);
	if (PyUnicode_Check(value) || PyBytes_Check(value)) {
		(void)wrong(f, is_map(f) ? "a dict" : "a sequence");
		return NULL;
	}
	return PySequence_List(value);
}

static int put_repeated(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
			PyObject *value)
{
	PyObject *items = items_of(f, value);
	Py_ssize_t n = items ? PyList_Size(items) : -1;
	char *array;

	if (n <= 0) {
		Py_XDECREF(items);
		return (int)n;
	}
	array = calloc((size_t)n, size_of(f->type));
	if (!array) {
		Py_DECREF(items);
		PyErr_NoMemory();
		return -1;
	}
	*(void **)field_at(m, f) = array;
	for (Py_ssize_t i = 0; i < n; i++) {
		if (put(f, PyList_GetItem(items, i),
			array + (size_t)i * size_of(f->type)) < 0) {
			Py_DECREF(items);
			return -1;
		}
		*count_at(m, f) = (size_t)i + 1;
	}
	Py_DECREF(items);
	return 0;
}

static int put_field(ProtobufCMessage *m, PyObject *key, PyObject *value)
{
	const char *name = PyUnicode_Check(key) ?
				   PyUnicode_AsUTF8AndSize(key, NULL) :
				   NULL;
	const ProtobufCFieldDescriptor
		*f = name ? protobuf_c_message_descriptor_get_field_by_name(
				    m->descriptor, name) :
			    NULL;

	if (!f) {
		if (!PyErr_Occurred())
			PyErr_Format(PyExc_ValueError, "%s has no field %R",
				     m->descriptor->short_name, key);
		return -1;
	}
	if (value == Py_None)
		return 0;
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return put_repeated(m, f, value);
	return put(f, value, field_at(m, f));
}

ProtobufCMessage *message_from_dict(const ProtobufCMessageDescriptor *type,
				    PyObject *dict)
{
	ProtobufCMessage *m;
	PyObject *key;
	PyObject *value;
	Py_ssize_t pos = 0;

	if (!PyDict_Check(dict)) {
		PyErr_Format(PyExc_TypeError, "%s must be a dict",
			     type->short_name);
		return NULL;
	}
	m = malloc(type->sizeof_message);
	if (!m)
		return (ProtobufCMessage *)PyErr_NoMemory();
	protobuf_c_message_init(type, m);
	while (PyDict_Next(dict, &pos, &key, &value)) {
		if (put_field(m, key, value) == 0)
			continue;
		protobuf_c_message_free_unpacked(m, NULL);
		return NULL;
	}
	return m;
}

/* ---- out ---- */

static PyObject *get_string(const char *text)
{
	return PyUnicode_DecodeUTF8(text ? text : "",
				    text ? (Py_ssize_t)strlen(text) : 0,
				    "replace");
}

/* "ALIVE" -> "alive"; what has no name stays a number. */
static PyObject *get_enum(const ProtobufCFieldDescriptor *f, int value)
{
	const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(
		f->descriptor, value);
	PyObject *name = found ? PyUnicode_FromString(found->name) :
				 PyLong_FromLong(value);
	PyObject *lower;

	if (!found || !name)
		return name;
	lower = PyObject_CallMethod(name, "lower", NULL);
	Py_DECREF(name);
	return lower;
}

static PyObject *get(const ProtobufCFieldDescriptor *f, const void *from)
{
	const ProtobufCBinaryData *bytes = from;

	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		return get_string(*(char *const *)from);
	case PROTOBUF_C_TYPE_BYTES:
		return PyBytes_FromStringAndSize((const char *)bytes->data,
						 (Py_ssize_t)bytes->len);
	case PROTOBUF_C_TYPE_MESSAGE:
		return message_to_dict(*(ProtobufCMessage *const *)from);
	case PROTOBUF_C_TYPE_ENUM:
		return get_enum(f, *(const int *)from);
	case PROTOBUF_C_TYPE_BOOL:
		return PyBool_FromLong(*(const protobuf_c_boolean *)from);
	case PROTOBUF_C_TYPE_INT32:
		return PyLong_FromLong(*(const int32_t *)from);
	case PROTOBUF_C_TYPE_UINT32:
		return PyLong_FromUnsignedLong(*(const uint32_t *)from);
	case PROTOBUF_C_TYPE_INT64:
		return PyLong_FromLongLong(*(const int64_t *)from);
	case PROTOBUF_C_TYPE_UINT64:
		return PyLong_FromUnsignedLongLong(*(const uint64_t *)from);
	case PROTOBUF_C_TYPE_DOUBLE:
		return PyFloat_FromDouble(*(const double *)from);
	default:
		Py_RETURN_NONE;
	}
}

/* An entry of a map, into the dict that stands for it. */
static int add_entry(PyObject *dict, const ProtobufCMessage *entry)
{
	const ProtobufCFieldDescriptor *f = entry->descriptor->fields;
	PyObject *key = get(&f[0], field_at(entry, &f[0]));
	PyObject *value = get(&f[1], field_at(entry, &f[1]));
	int r = key && value ? PyDict_SetItem(dict, key, value) : -1;

	Py_XDECREF(key);
	Py_XDECREF(value);
	return r;
}

static PyObject *get_map(const ProtobufCMessage *m,
			 const ProtobufCFieldDescriptor *f)
{
	ProtobufCMessage **entries = *(ProtobufCMessage ***)field_at(m, f);
	PyObject *dict = PyDict_New();

	for (size_t i = 0; dict && i < *count_at(m, f); i++)
		if (add_entry(dict, entries[i]) < 0)
			Py_CLEAR(dict);
	return dict;
}

static PyObject *get_repeated(const ProtobufCMessage *m,
			      const ProtobufCFieldDescriptor *f)
{
	const char *array = *(char **)field_at(m, f);
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < *count_at(m, f); i++) {
		PyObject *value = get(f, array + i * size_of(f->type));

		if (!value || PyList_Append(list, value) < 0)
			Py_CLEAR(list);
		Py_XDECREF(value);
	}
	return list;
}

PyObject *message_to_dict(const ProtobufCMessage *m)
{
	PyObject *dict;

	if (!m)
		Py_RETURN_NONE;
	dict = PyDict_New();
	for (unsigned i = 0; dict && i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		PyObject *value = is_map(f) ? get_map(m, f) :
				  f->label == PROTOBUF_C_LABEL_REPEATED ?
					      get_repeated(m, f) :
					      get(f, field_at(m, f));

		if (!value || PyDict_SetItemString(dict, f->name, value) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(value);
	}
	return dict;
}

PyObject *message_bytes_to_dict(struct state *state,
				const ProtobufCMessageDescriptor *type,
				const void *data, size_t len)
{
	ProtobufCMessage *m = protobuf_c_message_unpack(type, NULL, len, data);
	PyObject *dict;

	if (!m)
		return error_raise(state, -EPROTO, false);
	dict = message_to_dict(m);
	protobuf_c_message_free_unpacked(m, NULL);
	return dict;
}
