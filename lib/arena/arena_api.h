/* arena_api.h - marks what include/roar/arena.h promises. */
#ifndef ROAR_ARENA_API_H
#define ROAR_ARENA_API_H

#include <roar/arena.h>

#define API __attribute__((visibility("default")))

#endif
