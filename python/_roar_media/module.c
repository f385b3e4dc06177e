/* module.c - the module _roar_media: its state, its types, its functions */
#include "core.h"

#include <libavutil/log.h>

#include "base/error.h"
#include "buffer.h"
#include "packets.h"
#include "transfer.h"
#include "work.h"

PyObject *core_fail(const struct state *state, int r,
		    const struct roar_error *err)
{
	return module_fail(state->error, r, err->text);
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

static int add_error(PyObject *module, PyObject **place)
{
	return module_add(
		module, "MediaError",
		PyErr_NewExceptionWithDoc(
			"roar.media.MediaError",
			"Invalid or damaged media data; the text names cause "
			"and remedy.",
			PyExc_ValueError, NULL),
		place);
}

static int module_exec(PyObject *module)
{
	struct state *s = PyModule_GetState(module);

	/* Errors are exceptions; nothing is printed, unless somebody asked. */
	if (av_log_get_level() == AV_LOG_INFO)
		av_log_set_level(AV_LOG_QUIET);
	if (add_error(module, &s->error) < 0 ||
	    module_add(module, "Packet",
		       (PyObject *)PyStructSequence_NewType(&packets_info),
		       &s->info_type) < 0 ||
	    module_add_type(module, "Buffer", &buffer_spec, &s->buffer_type) <
		    0 ||
	    module_add_type(module, "VideoPackets", &video_packets_spec,
			    &s->packets_types[MEDIA_VIDEO]) < 0 ||
	    module_add_type(module, "AudioPackets", &audio_packets_spec,
			    &s->packets_types[MEDIA_AUDIO]) < 0)
		return -1;
	return 0;
}

MODULE_DEFINE(_roar_media, sizeof(struct state), module_exec, functions,
	      "Packets of video and audio; roar.media is the public module.")
