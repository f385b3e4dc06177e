/* text.h - what people's words to the coordinator may be: UTF-8 without control
 * characters.
 *
 * Shared by the state machine, which refuses others, and by its clients, which do so before
 * anything is sent. */
#ifndef COORD_TEXT_H
#define COORD_TEXT_H

#include <stdbool.h>

enum { TEXT_MAX_TASK = 256 }; /* bytes of a heartbeat's current_task */

bool text_is_good(const char *text);

#endif
