/* SPDX-License-Identifier: Apache-2.0
 * heap_list.c - the list of heaps: "libc.malloc", and those that the program registers (orma-heap/heap_profile.h).
 *
 * The list is static and never moves, so that constructors can register heaps before anything else has run.
 */
#include "heap/heap_list.h"

#include <string.h>

/* Not initialized, so that its 60 KiB take no memory until there are that many heaps. */
struct orma_heap_info orma_heap_infos[ORMA_HEAPS_MAX];
_Atomic uint32_t orma_heap_epoch;
void (*_Atomic orma_heap_on_registered)(void);
/* The next free id. Relaxed. */
static _Atomic uint32_t next_heap = ORMA_HEAP_MALLOC + 1;

void orma_heap_register_malloc(void)
{
	static const char name[] = "libc.malloc";
	struct orma_heap_info *info = &orma_heap_infos[ORMA_HEAP_MALLOC];

	memcpy(info->name, name, sizeof(name));
	atomic_store_explicit(&info->is_registered, true, memory_order_release);
}

uint32_t orma_heap_ids_end(void)
{
	return atomic_load_explicit(&next_heap, memory_order_relaxed);
}

/* --- intervals -------------------------------------------------------------------------------- */

static void update_smallest(struct orma_heap_info *info)
{
	uint64_t smallest = 0;

	for (uint32_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		uint64_t interval =
			atomic_load_explicit(&info->instance_interval[i], memory_order_relaxed);

		if (interval != 0 && (smallest == 0 || interval < smallest))
			smallest = interval;
	}
	atomic_store_explicit(&info->interval, smallest, memory_order_relaxed);
	atomic_fetch_add_explicit(&orma_heap_epoch, 1, memory_order_release);
}

void orma_heap_set_interval(struct orma_heap_info *info, uint32_t instance, uint64_t interval_bytes)
{
	atomic_store_explicit(&info->first_interval[instance], interval_bytes,
			      memory_order_relaxed);
	atomic_store_explicit(&info->instance_interval[instance], interval_bytes,
			      memory_order_relaxed);
	update_smallest(info);
}

bool orma_heap_double_interval(struct orma_heap_info *info, uint32_t instance, uint64_t max_bytes)
{
	uint64_t interval =
		atomic_load_explicit(&info->instance_interval[instance], memory_order_relaxed);

	if (interval == 0 || interval > max_bytes / 2 ||
	    !atomic_compare_exchange_strong_explicit(&info->instance_interval[instance], &interval,
						     2 * interval, memory_order_relaxed,
						     memory_order_relaxed))
		return false;
	update_smallest(info);
	return true;
}

/* --- registering ------------------------------------------------------------------------------ */

static void tell_registered(void)
{
	void (*fn)(void) = atomic_load_explicit(&orma_heap_on_registered, memory_order_acquire);

	if (fn)
		fn();
}

struct orma_heap_info *orma_heap_new(const char *name)
{
	size_t length = name ? strnlen(name, ORMA_HEAP_NAME_BYTES) : 0;
	uint32_t heap;

	if (length == 0 || length == ORMA_HEAP_NAME_BYTES)
		return NULL;
	heap = atomic_load_explicit(&next_heap, memory_order_relaxed);
	do {
		if (heap >= ORMA_HEAPS_MAX)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&next_heap, &heap, heap + 1, memory_order_relaxed, memory_order_relaxed));
	memcpy(orma_heap_infos[heap].name, name, length);
	return &orma_heap_infos[heap];
}

struct orma_heap_info *orma_heap_set_enabled_callback(struct orma_heap_info *info,
						      orma_heap_enabled_fn *callback, void *data)
{
	if (info && !atomic_load_explicit(&info->is_registered, memory_order_relaxed)) {
		info->on_enabled = callback;
		info->enabled_ctx = data;
	}
	return info;
}

struct orma_heap_info *orma_heap_set_disabled_callback(struct orma_heap_info *info,
						       orma_heap_disabled_fn *callback, void *data)
{
	if (info && !atomic_load_explicit(&info->is_registered, memory_order_relaxed)) {
		info->on_disabled = callback;
		info->disabled_ctx = data;
	}
	return info;
}

uint32_t orma_heap_register(struct orma_heap_info *info)
{
	uint32_t heap;

	if (!info)
		return ORMA_HEAP_NONE;
	heap = (uint32_t)(info - orma_heap_infos);
	if (!atomic_exchange_explicit(&info->is_registered, true, memory_order_acq_rel))
		tell_registered();
	return heap;
}

/* --- callbacks -------------------------------------------------------------------------------- */

struct orma_heap_enabled {
	uint64_t interval_bytes;
};

uint64_t orma_heap_enabled_interval(const struct orma_heap_enabled *enabled)
{
	return enabled ? enabled->interval_bytes : 0;
}

static void tell(struct orma_heap_info *info)
{
	const struct orma_heap_enabled enabled = {
		atomic_load_explicit(&info->interval, memory_order_relaxed)};
	bool is_on = enabled.interval_bytes != 0;

	if (is_on == info->is_on)
		return;
	info->is_on = is_on;
	if (is_on && info->on_enabled)
		info->on_enabled(info->enabled_ctx, &enabled);
	if (!is_on && info->on_disabled)
		info->on_disabled(info->disabled_ctx, NULL);
}

void orma_heap_call_callbacks(void)
{
	for (uint32_t i = 0; i < orma_heap_ids_end(); i++)
		if (orma_heap_info_at(i))
			tell(&orma_heap_infos[i]);
}
