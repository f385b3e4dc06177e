/* The safe way to replace a file: write beside it, rename over it. */
#include "workload.h"

void prepare(void)
{
	put("model", "old");
}

void act(void)
{
	take("model");
	put("model.tmp", "new");
	CHECK(rename("model.tmp", "model"));
	expect("input model");
	expect("output model");
	expect("event open r model");
	expect("event open w+create model.tmp");
	expect("event rename model.tmp -> model");
}
