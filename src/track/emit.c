/* SPDX-License-Identifier: Apache-2.0
 * emit.c - the public functions that emit events, and the fast path from a call site into the
 * chunk.
 *
 *   category's bits -> slot of the instance -> room in the chunk -> sequence's bit of the site -> time
 *                   -> bytes
 *
 * Nearly every event finds one instance (index 0), a current slot, a valid clock calibration, and
 * room in its chunk. This is the common case. The public functions inline it. They call nothing
 * before they know that it applies, so that they need no stack frame. An event takes the same path
 * through one more call if its instance has another index (that of a session which began beside an
 * earlier one), or if it must ask the system for the time. Everything else goes to instances.c,
 * which looks at everything again.
 *
 * A sequence's bit of a site is set after the first packet of the slow path (commit_event.c). It
 * stands for everything that would have to be checked otherwise: the sequence can be read, has
 * timestamps in ns, has no pending ends or losses, and knows the site's names. Then the site's
 * bytes are copied, arguments and time are added, and the packet is counted (fast_encode.h).
 *
 * An event in a signal handler that interrupts another event of its thread finds the slot open, and
 * is left out. There is no lock, allocation, system call or read-modify-write here. The word
 * `enabled` is in a public struct that C++ reads too, hence the __atomic builtins.
 *
 * Rejected: encoding on the stack and copying (only the end of a chunk needs it, where room is
 * exact).
 */
#include "track/fast_encode.h"
#include "track/instances.h"

/* Prefetch ahead: the service read these lines last, so they are in another core's cache. */
#define PREFETCH_BYTES 640
#define INLINE         __attribute__((always_inline))

/* --- slot, room, time ------------------------------------------------------------------------- */

static inline uint32_t enabled(const struct orma_category *category)
{
	return __atomic_load_n(&category->enabled, __ATOMIC_RELAXED);
}

/* Exactly one bit, and that is an instance's, not the mark of a fork. */
static inline bool is_one(uint32_t instances)
{
	return (instances & (instances - 1)) == 0 &&
	       instances - 1 < (UINT32_C(1) << ORMA_INSTANCES_MAX) - 1;
}

/* Where an event is written, and when it happened. */
struct target {
	struct orma_packet *slot;
	struct orma_track_sequence *sequence;
	struct orma_shm_writer *writer;
	uint8_t *begin; /* where the packet begins */
	uint64_t now_ns;
};

enum reach {
	COMMON_CASE,  /* one instance, index 0; the time from the sequence's clock calibration */
	ANY_INSTANCE, /* one instance; the time from the system's clock or from the calibration */
};

/* NULL: there are several instances, or the slot is not current. */
static inline struct orma_packet *slot_open(uint32_t instances, enum reach reach)
{
	struct orma_client_thread *self = orma_client_self;
	struct orma_packet *slot;
	uint32_t idx = 0;
	uint64_t stamp;

	if (ORMA_UNLIKELY(reach == COMMON_CASE ? instances != 1 : !is_one(instances)))
		return NULL;
	if (ORMA_UNLIKELY(!self))
		return NULL;
	slot = self->slots[ORMA_CLIENT_HOT_PLACE];
	if (ORMA_UNLIKELY(!slot))
		return NULL;
	if (reach == ANY_INSTANCE) {
		idx = (uint32_t)__builtin_ctz(instances);
		ORMA_ASSERT(idx < ORMA_INSTANCES_MAX);
		slot += idx;
	}
	if (ORMA_UNLIKELY(orma_client_slot_is_open(slot)))
		return NULL;
	orma_client_slot_enter(slot);
	stamp = atomic_load_explicit(&orma_client_hot_stamps[idx], memory_order_acquire);
	if (ORMA_LIKELY(orma_client_slot_has(slot, stamp)))
		return slot;
	orma_client_slot_leave(slot);
	return NULL;
}

/* Opens a slot whose chunk has room. False: nothing has been done. */
static inline INLINE bool target_open(struct target *target, uint32_t instances, enum reach reach,
				      size_t room)
{
	target->slot = slot_open(instances, reach);
	if (ORMA_UNLIKELY(!target->slot))
		return false;
	target->sequence = target->slot->state;
	target->writer = target->slot->writer;
	target->begin = orma_shm_writer_try_reserve(target->writer, room);
	if (ORMA_UNLIKELY(!target->begin)) {
		orma_track_slot_close(target->slot);
		return false;
	}
	__builtin_prefetch(target->begin + PREFETCH_BYTES, 1);
	return true;
}

/* `asked_ns` is the time by the system's clock; 0 = take it from the sequence's clock calibration.
 * False: the calibration is not valid. */
static inline bool target_time(struct target *target, uint64_t asked_ns)
{
	if (asked_ns == 0)
		return ORMA_LIKELY(orma_track_clock_cache_try(&target->sequence->known.clock,
							      &target->now_ns));
	orma_track_clock_cache_update(&target->sequence->known.clock);
	target->now_ns = asked_ns;
	return true;
}

/* The packet ends at `end`; NULL = there is no packet. */
static inline bool target_close(struct target *target, uint8_t *end)
{
	if (ORMA_LIKELY(end != NULL)) {
		ORMA_ASSERT(end > target->begin && end <= target->writer->fast_end &&
			    target->begin[-1] == end - target->begin);
		orma_shm_writer_commit_sized(target->writer, end);
	}
	orma_track_slot_close(target->slot);
	return end != NULL;
}

/* --- the fast path: false = nothing has been done --------------------------------------------- */

/* A begin or instant without items. */
static inline INLINE bool emit_simple(struct orma_call_site *site, uint32_t instances,
				      bool is_begin, enum reach reach, uint64_t asked_ns)
{
	struct target target;

	if (ORMA_UNLIKELY(!target_open(&target, instances, reach, ORMA_TRACK_EVENT_ROOM)))
		return false;
	if (ORMA_UNLIKELY(!orma_track_is_fast(target.sequence, site) ||
			  !target_time(&target, asked_ns)))
		return target_close(&target, NULL);
	if (is_begin)
		orma_track_nesting_begin(&target.sequence->nesting);
	return target_close(&target, orma_track_encode_simple(target.sequence, target.begin, site,
							      target.now_ns));
}

static inline INLINE bool emit_end(uint32_t instances, enum reach reach, uint64_t asked_ns)
{
	struct target target;

	if (ORMA_UNLIKELY(!target_open(&target, instances, reach, ORMA_TRACK_EVENT_ROOM)))
		return false;
	if (ORMA_UNLIKELY(!orma_track_is_fast(target.sequence, NULL) ||
			  !orma_track_nesting_is_written(&target.sequence->nesting) ||
			  !target_time(&target, asked_ns)))
		return target_close(&target, NULL);
	orma_track_nesting_end_written(&target.sequence->nesting);
	return target_close(&target,
			    orma_track_encode_end(target.sequence, target.begin, target.now_ns));
}

static inline INLINE bool emit_counter(struct orma_call_site *site, uint32_t instances,
				       struct orma_item value, enum reach reach, uint64_t asked_ns)
{
	struct target target;

	if (ORMA_UNLIKELY(!target_open(&target, instances, reach, ORMA_TRACK_COUNTER_ROOM)))
		return false;
	if (ORMA_UNLIKELY(!orma_track_is_fast(target.sequence, site) ||
			  !target_time(&target, asked_ns)))
		return target_close(&target, NULL);
	return target_close(&target, orma_track_encode_counter(target.sequence, target.begin, site,
							       value, target.now_ns));
}

static inline bool has_track(const struct orma_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].kind == ORMA_ITEM_TRACK)
			return true;
	return false;
}

/* Opens or closes the thread's slice for an event with items. False: instances.c decides. */
static inline bool update_nesting(struct orma_track_sequence *sequence, uint32_t type,
				  const struct orma_item *items, size_t count)
{
	if (ORMA_LIKELY(type == ORMA_EVENT_INSTANT))
		return true;
	if (has_track(items, count))
		return false;
	if (type == ORMA_EVENT_BEGIN)
		orma_track_nesting_begin(&sequence->nesting);
	else if (type == ORMA_EVENT_END && orma_track_nesting_is_written(&sequence->nesting))
		orma_track_nesting_end_written(&sequence->nesting);
	else
		return false;
	return true;
}

static inline INLINE bool emit_items(struct orma_call_site *site, uint32_t instances,
				     const struct orma_item *items, size_t count, enum reach reach,
				     uint64_t asked_ns)
{
	struct target target;
	uint8_t *end;

	if (ORMA_UNLIKELY(!target_open(&target, instances, reach, ORMA_TRACK_EVENT_ROOM)))
		return false;
	if (ORMA_UNLIKELY(!orma_track_is_fast(target.sequence, site)))
		return target_close(&target, NULL);
	end = orma_track_encode_items(target.sequence, target.begin, target.writer->fast_end, site,
				      items, count);
	/* The time is read last, so that it need not be kept in a register while items are
	 * encoded. */
	if (ORMA_UNLIKELY(!end || !target_time(&target, asked_ns) ||
			  !update_nesting(target.sequence, site->type, items, count)))
		return target_close(&target, NULL);
	return target_close(
		&target, orma_track_encode_tail(target.sequence, target.begin, end, target.now_ns));
}

/* --- not the common case ---------------------------------------------------------------------- */

/*
 * The time of an event; 0 = take it from the sequence's clock calibration. The system's clock is
 * read for an event of the first instance alone, which may be here because its calibration was not
 * valid. It is also read when the processor's counter is not used, because then no sequence has a
 * calibration.
 */
static inline uint64_t ask_if_needed(uint32_t instances)
{
	return instances == 1 || !orma_track_clock_uses_ticks() ? orma_track_now_ns() : 0;
}

static __attribute__((noinline)) uint32_t emit_to_instances(struct orma_call_site *site,
							    uint32_t type,
							    const struct orma_item *items,
							    size_t count, uint64_t asked_ns)
{
	const struct orma_track_event event = {
		.site = site,
		.category = site->category,
		.type = type,
		.now_ns = asked_ns ? asked_ns : orma_track_now_ns(),
		.items = items,
		.count = count,
	};

	return orma_track_emit_to_instances(&event, enabled(site->category));
}

static __attribute__((noinline)) uint32_t emit_simple_to_any(struct orma_call_site *site,
							     uint32_t type)
{
	uint32_t instances = enabled(site->category);
	uint64_t asked_ns = ask_if_needed(instances);

	return ORMA_LIKELY(emit_simple(site, instances, type == ORMA_EVENT_BEGIN, ANY_INSTANCE,
				       asked_ns))
		       ? instances
		       : emit_to_instances(site, type, NULL, 0, asked_ns);
}

static __attribute__((noinline)) void emit_end_to_any(uint32_t instances)
{
	uint64_t asked_ns = ask_if_needed(instances);
	struct orma_track_event event = {.type = ORMA_EVENT_END};

	if (ORMA_LIKELY(emit_end(instances, ANY_INSTANCE, asked_ns)))
		return;
	event.now_ns = asked_ns ? asked_ns : orma_track_now_ns();
	orma_track_emit_to_instances(&event, instances);
}

static __attribute__((noinline)) uint32_t
emit_items_to_any(struct orma_call_site *site, const struct orma_item *items, size_t count)
{
	uint32_t instances = enabled(site->category);
	uint64_t asked_ns = ask_if_needed(instances);

	return items && emit_items(site, instances, items, count, ANY_INSTANCE, asked_ns)
		       ? instances
		       : emit_to_instances(site, site->type, items, items ? count : 0, asked_ns);
}

/* Returns the bits of the instances that got the event. */
static __attribute__((noinline)) uint32_t
emit_with_items(struct orma_call_site *site, const struct orma_item *items, size_t count)
{
	if (ORMA_LIKELY(items &&
			emit_items(site, enabled(site->category), items, count, COMMON_CASE, 0)))
		return 1;
	return emit_items_to_any(site, items, count);
}

static __attribute__((noinline)) void emit_counter_to_any(struct orma_call_site *site,
							  struct orma_item value)
{
	uint32_t instances = enabled(site->category);
	uint64_t asked_ns = ask_if_needed(instances);

	if (ORMA_UNLIKELY(!emit_counter(site, instances, value, ANY_INSTANCE, asked_ns)))
		emit_to_instances(site, site->type, &value, 1, asked_ns);
}

static __attribute__((noinline)) void emit_any_type(struct orma_call_site *site)
{
	if (ORMA_LIKELY(site->type == ORMA_EVENT_INSTANT || site->type == ORMA_EVENT_BEGIN))
		emit_simple_to_any(site, site->type);
	else if (site->type == ORMA_EVENT_END)
		emit_end_to_any(enabled(site->category));
	else
		emit_to_instances(site, site->type, NULL, 0, orma_track_now_ns());
}

/* --- the public functions --------------------------------------------------------------------- */

void orma_event_emit(struct orma_call_site *site)
{
	if (ORMA_UNLIKELY(site->type != ORMA_EVENT_INSTANT ||
			  !emit_simple(site, enabled(site->category), false, COMMON_CASE, 0)))
		emit_any_type(site);
}

void orma_event_emit_begin(struct orma_call_site *site)
{
	if (ORMA_UNLIKELY(!emit_simple(site, enabled(site->category), true, COMMON_CASE, 0)))
		emit_simple_to_any(site, ORMA_EVENT_BEGIN);
}

void orma_event_emit_items(struct orma_call_site *site, const struct orma_item *items, size_t count)
{
	emit_with_items(site, items, count);
}

void orma_event_emit_end(struct orma_category *category)
{
	uint32_t instances = enabled(category);

	if (ORMA_UNLIKELY(!emit_end(instances, COMMON_CASE, 0)))
		emit_end_to_any(instances);
}

void orma_event_emit_counter_int(struct orma_call_site *site, int64_t value)
{
	const struct orma_item item = orma_item_int(value, false);

	if (ORMA_UNLIKELY(!emit_counter(site, enabled(site->category), item, COMMON_CASE, 0)))
		emit_counter_to_any(site, item);
}

void orma_event_emit_counter_double(struct orma_call_site *site, double value)
{
	const struct orma_item item = orma_item_double(value, false);

	if (ORMA_UNLIKELY(!emit_counter(site, enabled(site->category), item, COMMON_CASE, 0)))
		emit_counter_to_any(site, item);
}

uint32_t orma_event_scope_begin(struct orma_call_site *site, const struct orma_item *items,
				size_t count)
{
	uint32_t instances = enabled(site->category);

	if (count == 0 || !items)
		return ORMA_LIKELY(emit_simple(site, instances, true, COMMON_CASE, 0))
			       ? instances
			       : emit_simple_to_any(site, ORMA_EVENT_BEGIN);
	return emit_with_items(site, items, count);
}

void orma_event_scope_end(struct orma_scope *scope)
{
	uint32_t instances = scope->instances;

	if (ORMA_UNLIKELY(instances == 0))
		return;
	/* Leave out instances that have stopped meanwhile: another instance may have the same index
	 * now. */
	instances &= enabled(scope->category);
	if (ORMA_UNLIKELY(!emit_end(instances, COMMON_CASE, 0)))
		emit_end_to_any(instances);
}

uint64_t orma_now_ns(void)
{
	return orma_track_now_ns();
}
