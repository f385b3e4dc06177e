/* hash_threads.h - the option -j N of commands that hash. */
#ifndef ROAR_HASH_THREADS_H
#define ROAR_HASH_THREADS_H

struct args;

/* Reads --threads; *ret stays as it is without one.  0, or the exit status of wrong
 * usage, which was said. */
int hash_threads_parse(const struct args *args, unsigned *ret);

#endif
