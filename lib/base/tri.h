/* tri.h - yes, no, or not known.
 *
 * For questions whose honest answer may be that nobody could look.  A value that was
 * never set is not known; in the store and in JSON that is NULL. */
#ifndef ROAR_BASE_TRI_H
#define ROAR_BASE_TRI_H

enum tri {
	TRI_UNKNOWN,
	TRI_NO,
	TRI_YES,
};

#endif
