/* path.h - paths as text.
 *
 * Nothing here touches the file system: ".." is resolved lexically, which is
 * right for a path whose directory part has no symbolic links (what the
 * tracers deliver) and for what a user typed. */
#ifndef ROAR_BASE_PATH_H
#define ROAR_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

struct str;

/* Appends `path`, made absolute with `base` unless it is already, with "//",
 * "." and ".." folded. */
void path_normalize(struct str *out, const char *base, const char *path);

/* Appends what dirname(1) would print. */
void path_dirname(struct str *out, const char *path);

/* The part after the last slash. */
const char *path_basename(const char *path);

/* Is `path` equal to `dir` or below it?  "/a/b" is below "/a", "/ab" is not;
 * everything absolute is below "/". */
bool path_is_under(const char *path, const char *dir);

/* `path` relative to `base`: the part below it, "." for itself, otherwise `path`. */
const char *path_relative(const char *path, const char *base);

#endif
