/* git_packages.h - untracked directories of installed packages.
 *
 * A virtual environment that git does not ignore holds ten thousand files, none of them
 * the user's code.  Such a directory becomes one change of the list, which the snapshot
 * leaves out by its name.  Only certain evidence counts:
 *
 *	pyvenv.cfg in it, or conda-meta/    a Python or conda environment
 *	site-packages, dist-packages, node_modules
 *
 * and never a name that the user may have chosen for something else, as
 * bin/python-job.sh.  __pycache__ is Python's own and is removed from the list. */
#ifndef ROAR_GIT_PACKAGES_H
#define ROAR_GIT_PACKAGES_H

struct git_status;

/* Replaces the files of such directories in the list.  0 or -ENOMEM. */
int git_packages_fold(struct git_status *status);

#endif
