/* import_file.h - reads a file into the record, whatever its format. */
#ifndef ROAR_IMPORT_FILE_H
#define ROAR_IMPORT_FILE_H

#include "exchange/exchange.h"

/* `format` is a name, or NULL: the file tells.  "-" is stdin.  All of the file is added,
 * or nothing. */
int import_file(struct view *v, const char *path, const char *format,
		struct import_result *ret, struct roar_error *err);

/* The names, as "roar|..." for a table of options. */
#define IMPORT_FORMATS "roar|dvc|openlineage"

#endif
