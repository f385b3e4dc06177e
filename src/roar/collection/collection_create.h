/* collection_create.h - `roar collection create`: a name for files and directories.
 *
 * One directory becomes the collection of its files.  Several files and directories become
 * a collection whose members have the names that they have below their common directory;
 * a directory among them is a collection of its own, nested in it. */
#ifndef ROAR_COLLECTION_CREATE_H
#define ROAR_COLLECTION_CREATE_H

struct args;

/* Operands: "create", NAME, PATH...  Returns an exit status. */
int collection_create(const struct args *args);

#endif
