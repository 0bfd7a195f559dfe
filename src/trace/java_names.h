/* SPDX-License-Identifier: Apache-2.0
 * java_names.h - names of Java's classes, and of Android's packages.
 */
#ifndef ORMA_TRACE_JAVA_NAMES_H
#define ORMA_TRACE_JAVA_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* The parts of a class's name, as in "java.lang.Class<pkg.Name[][]>". */
struct orma_java_type {
	struct orma_str name;
	size_t array_depth;
	bool is_class_object;
};
struct orma_java_type orma_java_type_read(struct orma_str name);

/* Finds the package whose file a path names: 1, 0 (none), or -EINVAL when the path looks like a package's and is not. */
int orma_java_package_of(struct orma_str path, struct orma_str *ret);

#endif
