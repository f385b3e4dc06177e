/* demux.h - the packets of one stream of a file, read with libavformat.
 *
 * Playlists and references to other files or to the network are not followed.  A file
 * cannot produce more packets, or more bytes, than its size allows. */
#ifndef ROAR_MEDIA_DEMUX_H
#define ROAR_MEDIA_DEMUX_H

#include "media/media_source.h"
#include "media/packets.h"

struct roar_error;

/* All packets of the best stream of that kind, in decoding order.  `name` is the name of
 * the source in messages.  -EBADMSG: not a media file, or damaged or truncated; -ENODATA:
 * no such stream, or no packets in it; -EFBIG: more packets than its size allows; errors of
 * reading the file; -ENOMEM. */
int media_demux(struct media_source *source, const char *name,
		enum media_kind kind, struct media_packets **ret,
		struct roar_error *err);

#endif
