/* bytecode.h - Python modules that ran from their compiled form.
 *
 * From its second run on, Python opens P/__pycache__/NAME.TAG.pyc and not P/NAME.py.
 * It only reads size and mtime of the source, which is not an event, and compares them
 * with the header of the .pyc:
 *
 *	offset  size  field
 *	     0     4  magic, ends in "\r\n"
 *	     4     4  flags: 0 for the two fields below, else a hash of the source
 *	     8     4  mtime of the source in seconds, modulo 2^32, little-endian
 *	    12     4  its size, modulo 2^32
 *
 * The user, or another step, wrote the source.  So a .pyc outside of installed packages
 * that was read, and not written, leads to it:
 *
 *	the run read the source, too	the .pyc is a cache: filtered
 *	the header fits the source	the source is an input by implication
 *					(LINEAGE_IMPLIED) with its content hash,
 *					and the .pyc is filtered; unless the
 *					source changed after it was compiled
 *	anything else			the .pyc is an input: it is what ran
 *
 * Python does not notice a change that keeps size and mtime in seconds: then the .pyc
 * runs, and both are inputs. */
#ifndef ROAR_RUN_BYTECODE_H
#define ROAR_RUN_BYTECODE_H

struct run;

/* Adds the sources to the fold and marks the caches (RUN_CACHE). */
void bytecode_follow(struct run *run);

#endif
