/* live.h - a text that is updated repeatedly.
 *
 * On a terminal it is redrawn on the alternate screen, cut to its size, until q, Escape or
 * Ctrl-C is typed; the terminal is restored in any case.  Otherwise each update is printed
 * after the previous one. */
#ifndef ROAR_LIVE_H
#define ROAR_LIVE_H

#include <stdbool.h>

struct str;

/* `make` appends the text and returns 0, or a negative errno, which ends the updates.
 * Returns the exit status. */
int live_run(int (*make)(void *data, struct str *out), void *data,
	     int interval_ms, bool on_screen);

#endif
