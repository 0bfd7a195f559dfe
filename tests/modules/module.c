/* SPDX-License-Identifier: Apache-2.0
 * module.c - a library that is loaded at run time and traces; built twice, under two names.
 */
#include <orma/orma.h>

#define CONCAT_(a, b)  a##b
#define CONCAT(a, b)   CONCAT_(a, b)
#define FUNCTION(name) CONCAT(CONCAT(MODULE_NAME, _), name)

ORMA_CATEGORY_DEFINE(module, "module." MODULE_TEXT, "Of a library");

static const struct orma_track track = {.name = "track of " MODULE_TEXT};

static void heard(void *ctx, struct orma_category *category, uint32_t instance_idx, bool is_enabled,
		  bool is_change)
{
	(void)category;
	(void)instance_idx;
	(void)is_enabled;
	(void)is_change;
	__atomic_fetch_add((int *)ctx, 1, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) void FUNCTION(watch)(int *count)
{
	orma_category_set_callback(&orma_category_module, heard, count);
}

__attribute__((visibility("default"))) void FUNCTION(emit)(int number)
{
	ORMA_SCOPE(module, "slice of " MODULE_TEXT, "number", number);
	ORMA_INSTANT(module, "event of " MODULE_TEXT, ORMA_ON(&track));
	ORMA_COUNTER(module, "counter of " MODULE_TEXT, number);
}
