/* SPDX-License-Identifier: Apache-2.0
 * modules.h - the modules that `include perfetto module` finds: those of the binary, and those that the user adds.
 */
#ifndef ORMA_ANSWERS_MODULES_H
#define ORMA_ANSWERS_MODULES_H

#include "base/str.h"

/* {0} is empty. */
struct orma_module_list {
	struct orma_module {
		char *name, *text;
		size_t size;
	} * modules;
	size_t count, capacity;
};

void orma_modules_done(struct orma_module_list *list);
/* Adds a module, or replaces its text. `replaces` allows that, and names of the binary's packages, such as `slices`. 0,
 * -ENOMEM, -EEXIST, or -EINVAL when the name is not words between dots. */
int orma_modules_add(struct orma_module_list *list, const char *name, struct orma_str text,
		     bool replaces);

/* Functions of struct orma_sql_options; the ctx is a struct orma_trace_database. */
const char *orma_module_name(void *database, size_t idx);
struct orma_str orma_module_text(void *database, const char *name);

#endif
