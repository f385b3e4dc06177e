/* samples.h - shared by the files of orders, positions and audits. */
#ifndef ROAR_LIBROAR_SAMPLES_H
#define ROAR_LIBROAR_SAMPLES_H

#include <roar/shard.h>

#include "base/error.h"
#include "shard/order/interval_set.h"
#include "shard/order/order.h"

#define API __attribute__((visibility("default")))

struct roar_ranges {
	struct interval_set set;
};

/* The calling thread's error message; empty at first. */
struct roar_error *samples_error(void);

struct order_spec samples_order_spec(const struct roar_order_spec *spec);

#endif
