/* SPDX-License-Identifier: Apache-2.0
 * packages.h - the packages of an Android system, and those of its processes.
 */
#ifndef ORMA_TRACE_PACKAGES_H
#define ORMA_TRACE_PACKAGES_H

#include "trace/ordered_read.h"
#include "trace/system.h"

/* {.system = ...} is empty. */
struct orma_packages {
	struct orma_system *system;
	struct orma_map names; /* the cell of the first name by user id; see orma_packages_of() */
	struct orma_map pairs; /* rows of the table by name and user id */
	uint64_t seen;         /* rows of the table that are in both maps */
};

void orma_packages_done(struct orma_packages *packages);
/* Takes a PackagesList. 0 or a negative errno value. */
int orma_packages_take(struct orma_packages *packages, const struct orma_ordered_event *event);
/* Adds a package unless it is known. 0 or a negative errno value. */
int orma_packages_add(struct orma_packages *packages, struct orma_str name, int64_t uid);
/* Returns the name of the package that a process runs: a cell, ORMA_CELL_NULL, or a negative errno value. */
int64_t orma_packages_of(struct orma_packages *packages, int64_t upid);

#endif
