/* media_probe.h - what is in a file, without decoding any of it where that can be helped.
 *
 * avformat_find_stream_info() decodes the first pictures of every video to learn what
 * the tables of an MP4 have said already; of a 4K clip of 33 MB that was 50 of 70 ms.  So it is
 * asked only where the tables say too little.  They do not say the pixel format, which
 * the codec's own headers do, nor how far pictures are out of order, which all their
 * times together do. */
#ifndef ROAR_MEDIA_PROBE_H
#define ROAR_MEDIA_PROBE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "media/packets.h"

/* Is all there that decoding the best stream of this kind needs? */
bool probe_header_suffices(AVFormatContext *format, enum media_kind kind);

/* For packets of such a file: fills in the pixel format, if it is known now, and the delay
 * of the order of time behind the order of decoding. */
void probe_packets(struct media_packets *p);

#endif
