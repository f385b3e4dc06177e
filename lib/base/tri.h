/* tri.h - yes, no, or unknown.
 *
 * For facts that may not have been determined.  A value that was never set is unknown; in
 * the store and in JSON that is NULL. */
#ifndef ROAR_BASE_TRI_H
#define ROAR_BASE_TRI_H

enum tri {
	TRI_UNKNOWN,
	TRI_NO,
	TRI_YES,
};

#endif
