/* SPDX-License-Identifier: Apache-2.0
 * track_event.c - the data source "track_event": its registration and what its instances ask for.
 *
 * The data source registers itself at the end of orma_init(), or with the first category if that
 * comes later. Programs that define categories need not know of it. src/client knows nothing of
 * src/track: the constructor of the first category sets a hook that orma_init() calls.
 *
 * Rejected: a constructor of the library's own (programs that link the library for its sessions
 * alone would announce a data source).
 */
#include <errno.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "client/engine.h"
#include "client/thread.h"
#include "track/async_slices.h"
#include "track/call_site.h"
#include "track/callstacks.h"
#include "track/category_id.h"
#include "track/category_list.h"
#include "track/config_match.h"
#include "track/event_clock.h"
#include "track/instance_config.h"
#include "track/instances.h"
#include "track/interned_name.h"
#include "track/process_info.h"
#include "track/rename_watch.h"
#include "track/thread_info.h"

/* --- the data source -------------------------------------------------------------------------- */

static void on_setup(void *ctx, const struct orma_instance *instance, void **ret_instance_ctx)
{
	(void)ctx;
	(void)ret_instance_ctx;
	orma_track_async_forget(instance->idx);
	orma_track_configure(instance->idx, instance->config, instance->config_size);
}

static void on_start(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	orma_track_clock_refresh();
	orma_track_categories_enable(instance->idx);
	orma_track_rename_watch_start();
	orma_track_categories_notify();
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	/* The last renames are described while the instance still takes packets. */
	orma_track_rename_watch_stop();
	orma_track_categories_disable(instance->idx);
	orma_track_categories_notify();
	return ORMA_COMPLETE;
}

static enum orma_completion on_flush(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	(void)instance;
	orma_track_rename_watch_check();
	return ORMA_COMPLETE;
}

static void on_destroy(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	orma_track_async_forget(instance->idx);
	orma_track_unconfigure(instance->idx);
}

static bool on_may_adopt(void *ctx, const void *startup_config, size_t startup_size,
			 const void *config, size_t size)
{
	(void)ctx;
	return orma_track_startup_matches(startup_config, startup_size, config, size);
}

static void on_forked(void *ctx)
{
	(void)ctx;
	orma_track_rename_watch_forked();
	orma_track_thread_infos_forked();
	orma_track_process_forked();
	orma_track_categories_forked();
	orma_track_category_ids_forked();
	orma_track_instances_forked();
	orma_track_interned_names_forked();
	orma_track_stacks_forked();
	orma_track_sites_forked();
	orma_track_async_slices_forked();
	orma_track_clock_forked();
}

static void on_revived(void *ctx, int32_t parent)
{
	(void)ctx;
	orma_track_categories_set_all(0);
	orma_track_process_init(parent);
	orma_track_clock_init(orma_client.options.clock);
}

static void on_freed(void *ctx)
{
	(void)ctx;
	atomic_store_explicit(&orma_track_source, NULL, memory_order_release);
	orma_track_categories_attach(NULL);
}

static int register_source(void)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf descriptor = {0};
	const struct orma_client_source_extra extra = {
		.is_hot = true,
		.thread_state_bytes = sizeof(struct orma_track_sequence),
		.clears_by_chunk = true,
		.state_lost = orma_track_sequence_lost,
		.state_done = orma_track_sequence_done,
		.forked = on_forked,
		.revived = on_revived,
		.freed = on_freed,
	};
	struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "track_event",
		.policy = (enum orma_exhausted_policy)orma_client.options.event_policy,
		.stall_timeout_ms = orma_client.options.event_stall_timeout_ms,
		.allow_policy_in_config = true,
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_destroy = on_destroy,
		.may_adopt = on_may_adopt,
	};
	struct orma_data_source *source;
	int r = orma_track_categories_describe(&descriptor);

	if (r < 0)
		return r;
	options.descriptor = descriptor.data;
	options.descriptor_size = descriptor.size;
	orma_track_process_init(0);
	orma_track_clock_init(orma_client.options.clock);
	r = orma_client_source_new(&options, &extra, &source);
	if (r < 0)
		return r;
	atomic_store_explicit(&orma_track_source, source, memory_order_release);
	orma_track_categories_attach(source);
	return 0;
}

static bool is_initialised(void)
{
	if (!orma_client_lock())
		return false;
	pthread_mutex_unlock(&orma_client.mutex);
	return true;
}

int orma_track_event_register(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	ORMA_NO_CANCEL();
	int r = 0;

	if (!is_initialised())
		return -ENOTCONN;
	pthread_mutex_lock(&mutex);
	if (!atomic_load_explicit(&orma_track_source, memory_order_acquire))
		r = register_source();
	pthread_mutex_unlock(&mutex);
	return r;
}

void orma_event_flush(void)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	int saved_errno = errno;

	if (!source)
		return;
	for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
		if (orma_data_source_started(source) & UINT32_C(1) << idx)
			orma_client_self_flush(source, idx);
	errno = saved_errno;
}

uint32_t orma_clock_id(void)
{
	return orma_track_clock_id();
}

/* There is a category, so the data source is registered: now, or by orma_init(). */
static void want_registration(void)
{
	atomic_store_explicit(&orma_client_on_init, orma_track_event_register,
			      memory_order_release);
	/* orma_init() may have been called already: the first category may belong to a library that
	 * was loaded later. */
	if (!atomic_load_explicit(&orma_track_source, memory_order_acquire))
		orma_track_event_register();
}

void orma_category_add(struct orma_category *category)
{
	if (category && category->name && orma_track_category_add(category))
		want_registration();
}
