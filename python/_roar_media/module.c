/* module.c - the module _roar_media: its state, its types, its functions */
#include "core.h"

#include <errno.h>
#include <libavutil/log.h>

#include "base/error.h"
#include "buffer.h"
#include "packets.h"
#include "transfer.h"
#include "work.h"

struct state *core_state(PyObject *module)
{
	return PyModule_GetState(module);
}

void *core_new(PyObject *type)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type,
						    Py_tp_alloc);

	return alloc((PyTypeObject *)type, 0);
}

void core_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	release(self);
	Py_DECREF(type);
}

PyObject *core_fail(const struct state *state, int r,
		    const struct roar_error *err)
{
	PyObject *text;

	if (r == -ENOMEM)
		return PyErr_NoMemory();
	/* A path in it may be of any bytes. */
	text = PyUnicode_DecodeFSDefault(err->text);
	if (text)
		PyErr_SetObject(state->error, text);
	Py_XDECREF(text);
	return NULL;
}

static PyMethodDef functions[] = {
	{ "demux_video", work_demux_video, METH_O, work_demux_video_doc },
	{ "demux_audio", work_demux_audio, METH_O, work_demux_audio_doc },
	{ "decode", work_decode, METH_VARARGS, work_decode_doc },
	{ "to_buffers", transfer_to_buffers, METH_O, transfer_to_doc },
	{ "from_buffers", transfer_from_buffers, METH_VARARGS,
	  transfer_from_doc },
	{ 0 },
};

static int add(PyObject *module, const char *name, PyObject *object,
	       PyObject **place)
{
	*place = object;
	return object ? PyModule_AddObjectRef(module, name, object) : -1;
}

static int add_type(PyObject *module, const char *name, PyType_Spec *spec,
		    PyObject **place)
{
	return add(module, name, PyType_FromModuleAndSpec(module, spec, NULL),
		   place);
}

static int add_error(PyObject *module, PyObject **place)
{
	return add(module, "MediaError",
		   PyErr_NewExceptionWithDoc(
			   "roar.media.MediaError",
			   "A file, packets or frames that are not what they "
			   "should be; the text says what to do.",
			   PyExc_ValueError, NULL),
		   place);
}

static int module_exec(PyObject *module)
{
	struct state *s = core_state(module);

	/* Errors are exceptions; nothing is printed, unless somebody asked. */
	if (av_log_get_level() == AV_LOG_INFO)
		av_log_set_level(AV_LOG_QUIET);
	if (add_error(module, &s->error) < 0 ||
	    add(module, "Packet",
		(PyObject *)PyStructSequence_NewType(&packets_info),
		&s->info_type) < 0 ||
	    add_type(module, "Buffer", &buffer_spec, &s->buffer_type) < 0 ||
	    add_type(module, "VideoPackets", &video_packets_spec,
		     &s->packets_types[MEDIA_VIDEO]) < 0 ||
	    add_type(module, "AudioPackets", &audio_packets_spec,
		     &s->packets_types[MEDIA_AUDIO]) < 0)
		return -1;
	return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	const struct state *s = core_state(module);

	Py_VISIT(s->error);
	Py_VISIT(s->info_type);
	Py_VISIT(s->buffer_type);
	Py_VISIT(s->packets_types[MEDIA_VIDEO]);
	Py_VISIT(s->packets_types[MEDIA_AUDIO]);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct state *s = core_state(module);

	Py_CLEAR(s->error);
	Py_CLEAR(s->info_type);
	Py_CLEAR(s->buffer_type);
	Py_CLEAR(s->packets_types[MEDIA_VIDEO]);
	Py_CLEAR(s->packets_types[MEDIA_AUDIO]);
	return 0;
}

static void module_free(void *module)
{
	(void)module_clear(module);
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, module_exec },
	{ 0 },
};

static PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_roar_media",
	.m_doc = "Packets of video and audio; roar.media is its face.",
	.m_size = sizeof(struct state),
	.m_methods = functions,
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__roar_media(void);
PyMODINIT_FUNC PyInit__roar_media(void)
{
	return PyModuleDef_Init(&definition);
}
