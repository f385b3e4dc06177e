/* live.h - a text that is shown again and again.
 *
 * On a terminal it is drawn over itself on a screen of its own, cut to what fits, until
 * q, Escape or Ctrl-C is typed; the terminal is as before when it ends, however it does.
 * Elsewhere each is printed below the other. */
#ifndef ROAR_LIVE_H
#define ROAR_LIVE_H

#include <stdbool.h>

struct str;

/* `make` appends the text and returns 0, or a negative errno to end with.  Returns the
 * exit status. */
int live_run(int (*make)(void *data, struct str *out), void *data,
	     int interval_ms, bool on_screen);

#endif
