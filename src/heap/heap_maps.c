/* SPDX-License-Identifier: Apache-2.0
 * heap_maps.c - sends the mappings of this process to the profiler, and keeps its unwind tables up to date.
 *
 * Owns the count of libraries that were loaded so far, and the work that other threads post to the library's thread. Only that
 * thread sends lists of mappings, so the parts of two lists never mix. Each list has a number, its generation. A sample has the
 * newest generation at the time when it was taken. The profiler holds it back until a list with that generation or a later one
 * has come.
 *
 * The thread that calls dlclose() announces it at once, because otherwise the next library at that place would get the names of the
 * closed one. The timer of heap_source.c notices a dlopen(), unless a walk meets the new library earlier.
 */
#include "heap/heap_maps.h"

#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/signals.h"
#include "client/client_source.h"
#include "client/engine.h"
#include "client/work.h"
#include "heap/heap_packet.h"
#include "heap/stack_capture.h"
#include "heap/tracker.h"
#include "schema/gen/orma_heap_record.pb.h"
#include "unwind/self_modules.h"
#include "unwind/self_space.h"

#define NO_REFRESH_NS   (1000 * ORMA_NS_PER_MS)
#define MAPS_BYTES_MAX  ((size_t)8 << 20)
#define MAPS_PART_BYTES 16384u

static uint32_t wanted; /* bit i: instance i selects this process; the library's thread uses it */
static unsigned long long libraries_seen; /* loaded and unloaded so far */
static struct orma_client_work refresh_work, maps_work;
static _Atomic bool is_maps_posted;    /* from dlclose() to the library's thread, which clears it */
static _Atomic bool is_refresh_posted; /* as above */
/* Until then no tables are made, because the last attempt found none. Relaxed. */
static _Atomic uint64_t no_refresh_before_ns;

void orma_heap_maps_want(uint32_t instance, bool is_wanted)
{
	uint32_t bit = UINT32_C(1) << instance;

	wanted = is_wanted ? wanted | bit : wanted & ~bit;
}

static void send_maps_part(uint32_t instance, uint32_t generation, uint32_t part,
			   struct orma_str text, bool is_last)
{
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};

	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_write_varint(&heap.writer, ORMA_PB_ORMA_HEAP_RECORD_MAPS_GENERATION, generation);
	orma_proto_write_varint(&heap.writer, ORMA_PB_ORMA_HEAP_RECORD_MAPS_PART, part);
	orma_proto_write_bool(&heap.writer, ORMA_PB_ORMA_HEAP_RECORD_MAPS_IS_LAST_PART, is_last);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_ORMA_HEAP_RECORD_MAPS_TEXT, text.data,
			       text.size);
	(void)orma_heap_send_message(orma_heap_tracker_source(), instance,
				     ORMA_PB_ORMA_HEAP_RECORD_MAPS, &heap, &buf);
}

void orma_heap_maps_send(void)
{
	struct orma_data_source *source = orma_heap_tracker_source();
	uint32_t generation = 1 + atomic_fetch_add_explicit(&orma_heap_tracker.maps_generation, 1,
							    memory_order_relaxed);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	if (!source || orma_base_file_read(AT_FDCWD, "/proc/self/maps", MAPS_BYTES_MAX, &text) < 0)
		return;
	ORMA_FOR_EACH_INSTANCE(source, i)
	{
		uint32_t part = 0;
		size_t at = 0, size;

		if (!(wanted >> i & 1))
			continue;
		do {
			size = text.size - at < MAPS_PART_BYTES ? text.size - at : MAPS_PART_BYTES;
			send_maps_part(i, generation, part++,
				       (struct orma_str){(const char *)text.data + at, size},
				       at + size == text.size);
			at += size;
		} while (at < text.size);
	}
}

static void on_maps_changed(struct orma_client_work *work)
{
	(void)work;
	/* Cleared first, so that changes from here on are posted again. */
	atomic_store_explicit(&is_maps_posted, false, memory_order_release);
	orma_heap_maps_send();
	(void)orma_self_space_refresh();
}

void orma_heap_maps_changed(void)
{
	struct orma_data_source *source = orma_heap_tracker_source();

	if (!source || orma_data_source_started(source) == 0)
		return;
	/* From here on, samples wait for the list that is sent after this call. */
	atomic_fetch_add_explicit(&orma_heap_tracker.maps_generation, 1, memory_order_relaxed);
	if (atomic_exchange_explicit(&is_maps_posted, true, memory_order_acq_rel))
		return;
	maps_work.fn = on_maps_changed;
	if (orma_client_post(&maps_work) < 0)
		atomic_store_explicit(&is_maps_posted, false, memory_order_release);
}

static int count_libraries(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(unsigned long long *)ctx = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

bool orma_heap_maps_have_changed(void)
{
	unsigned long long count = 0;

	if (orma_self_modules_visit(count_libraries, &count) < 0 || count == libraries_seen)
		return false;
	libraries_seen = count;
	return true;
}

/* --- tables of unwinding ----------------------------------------------------------------------- */

static void on_refresh(struct orma_client_work *work)
{
	static unsigned failures;

	(void)work;
	/* The walk may have met a library that was loaded since the last tick. */
	if (orma_heap_maps_have_changed())
		orma_heap_maps_send();
	failures = orma_self_space_refresh() == 1 ? 0 : failures + 1;
	/* Code without a file (of a JIT compiler) would otherwise ask again at each sample. One failure says nothing: the
	 * walk may have begun before the refresh before this one, and have wanted what that has brought. */
	if (failures > 1)
		atomic_store_explicit(&no_refresh_before_ns, orma_heap_now_ns() + NO_REFRESH_NS,
				      memory_order_relaxed);
	atomic_store_explicit(&is_refresh_posted, false, memory_order_release);
}

void orma_heap_maps_on_stale(void)
{
	sigset_t signals;

	if (orma_heap_now_ns() <
		    atomic_load_explicit(&no_refresh_before_ns, memory_order_relaxed) ||
	    atomic_load_explicit(&is_refresh_posted, memory_order_relaxed))
		return;
	/* A handler that jumps out of here would leave the client's mutex locked. */
	orma_base_signals_block(&signals);
	if (!atomic_exchange_explicit(&is_refresh_posted, true, memory_order_acq_rel)) {
		refresh_work.fn = on_refresh;
		if (orma_client_post(&refresh_work) < 0)
			atomic_store_explicit(&is_refresh_posted, false, memory_order_release);
	}
	orma_base_signals_restore(&signals);
}

void orma_heap_maps_forked(void)
{
	wanted = 0;
	atomic_store_explicit(&is_maps_posted, false, memory_order_relaxed);
	atomic_store_explicit(&is_refresh_posted, false, memory_order_relaxed);
}
