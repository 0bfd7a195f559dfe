/* SPDX-License-Identifier: Apache-2.0
 * emit.c - the public functions, and the shortest way of an event: from a call site into the chunk
 * in a few stores.
 *
 *   category's bits -> slot of the one instance -> room -> sequence's bit of the site -> time -> bytes
 *
 * One instance, number 0; a slot that is right; a clock's line that holds; a chunk with room: what
 * nearly every event finds. An instance of another number, whose session began beside an earlier one,
 * or an event that has to ask for its time, takes the same way through one more call. A sequence's bit for a site (set in slice.c after the first packet)
 * promises all that would have to be looked at otherwise: that the sequence can be read, has plain
 * timestamps, owes nothing, and knows the site's names. What is left is copying the site's bytes,
 * adding arguments and time, and counting the packet (encode.h).
 *
 * The functions here call nothing before all that is decided, so that they need no frame; whatever
 * is else goes to each.c, which looks at everything again, and from there, if need be, the long
 * way.
 *
 * A signal handler that interrupts an event finds its slot open, and is left out. There is no lock,
 * allocation, system call or read-modify-write here. Rejected: encoding on the stack and copying
 * (kept for the end of a chunk, where room is exact).
 */
#include "track/encode.h"

/* What comes soon is asked for: it lies in the cache of whoever has read it last. */
#define PREFETCH_BYTES 640
#define INLINE         __attribute__((always_inline))

/* --- the slot --------------------------------------------------------------------------------- */

static inline uint32_t enabled(const struct orma_category *category)
{
	return __atomic_load_n(&category->enabled, __ATOMIC_RELAXED);
}

/* A bit of an instance, and no other: neither none, nor several, nor the mark of a fork. */
static inline bool is_one(uint32_t instances)
{
	return (instances & (instances - 1)) == 0 &&
	       instances - 1 < (UINT32_C(1) << ORMA_INSTANCES_MAX) - 1;
}

/* One event on its way into the chunk. */
struct way {
	struct orma_packet *slot;
	struct orma_track_sequence *sequence;
	struct orma_shm_writer *writer;
	uint8_t *begin; /* of the packet */
	uint64_t now_ns;
};

/* How far an event may go out of its way. */
enum detour {
	NO_DETOUR, /* one instance, number 0; the time by the sequence's line */
	DETOUR,    /* one instance; the time as asked for, or by the line */
};

/* NULL: there are several instances, or there is something to be done first. */
static inline struct orma_packet *slot_open(uint32_t instances, enum detour detour)
{
	struct orma_client_thread *self = orma_client_self;
	struct orma_packet *slot;
	uint32_t idx = 0;
	uint64_t stamp;

	if (ORMA_UNLIKELY(detour == NO_DETOUR ? instances != 1 : !is_one(instances)))
		return NULL;
	if (ORMA_UNLIKELY(!self))
		return NULL;
	slot = self->slots[ORMA_CLIENT_HOT_PLACE];
	if (ORMA_UNLIKELY(!slot))
		return NULL;
	if (detour == DETOUR) {
		idx = (uint32_t)__builtin_ctz(instances);
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

/* A slot whose chunk has room. False: nothing has been done. */
static inline INLINE bool way_open(struct way *way, uint32_t instances, enum detour detour,
				   size_t room)
{
	way->slot = slot_open(instances, detour);
	if (ORMA_UNLIKELY(!way->slot))
		return false;
	way->sequence = way->slot->state;
	way->writer = way->slot->writer;
	way->begin = orma_shm_writer_try_reserve(way->writer, room);
	if (ORMA_UNLIKELY(!way->begin)) {
		orma_track_slot_close(way->slot);
		return false;
	}
	__builtin_prefetch(way->begin + PREFETCH_BYTES, 1);
	return true;
}

/* `asked_ns` is what the system says the time is; 0 = by the sequence's line, and false without. */
static inline bool way_time(struct way *way, uint64_t asked_ns)
{
	if (asked_ns == 0)
		return ORMA_LIKELY(orma_track_line_try(&way->sequence->known.line, &way->now_ns));
	orma_track_line_learn(&way->sequence->known.line);
	way->now_ns = asked_ns;
	return true;
}

/* The packet ends at `end`; NULL = there is none. */
static inline bool way_close(struct way *way, uint8_t *end)
{
	if (ORMA_LIKELY(end != NULL))
		orma_shm_writer_commit_sized(way->writer, end);
	orma_track_slot_close(way->slot);
	return end != NULL;
}

/* --- the shortest ways: false = nothing has been done ----------------------------------------- */

/* The plain event of an armed site. */
static inline INLINE bool emit_plain(struct orma_call_site *site, uint32_t instances, bool is_begin,
				     enum detour detour, uint64_t asked_ns)
{
	struct way way;

	if (ORMA_UNLIKELY(!way_open(&way, instances, detour, ORMA_TRACK_PLAIN_ROOM)))
		return false;
	if (ORMA_UNLIKELY(!orma_track_can_encode(way.sequence, site) || !way_time(&way, asked_ns)))
		return way_close(&way, NULL);
	if (is_begin)
		orma_track_nesting_begin(&way.sequence->nesting);
	return way_close(&way, orma_track_encode_plain(way.sequence, way.begin, site, way.now_ns));
}

static inline INLINE bool emit_end(uint32_t instances, enum detour detour, uint64_t asked_ns)
{
	struct way way;

	if (ORMA_UNLIKELY(!way_open(&way, instances, detour, ORMA_TRACK_PLAIN_ROOM)))
		return false;
	if (ORMA_UNLIKELY(!orma_track_can_encode(way.sequence, NULL) ||
			  !orma_track_nesting_is_written(&way.sequence->nesting) ||
			  !way_time(&way, asked_ns)))
		return way_close(&way, NULL);
	orma_track_nesting_end_written(&way.sequence->nesting);
	return way_close(&way, orma_track_encode_end(way.sequence, way.begin, way.now_ns));
}

static inline INLINE bool emit_counter(struct orma_call_site *site, uint32_t instances,
				       struct orma_item value, enum detour detour,
				       uint64_t asked_ns)
{
	struct way way;

	if (ORMA_UNLIKELY(!way_open(&way, instances, detour, ORMA_TRACK_COUNTER_ROOM)))
		return false;
	if (ORMA_UNLIKELY(!orma_track_can_encode(way.sequence, site) || !way_time(&way, asked_ns)))
		return way_close(&way, NULL);
	return way_close(
		&way, orma_track_encode_counter(way.sequence, way.begin, site, value, way.now_ns));
}

static inline bool has_track(const struct orma_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].kind == ORMA_ITEM_TRACK)
			return true;
	return false;
}

/* The thread's slices go on with an event of the type. False: that is for each.c to decide. */
static inline bool follow(struct orma_track_sequence *sequence, uint32_t type,
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
				     const struct orma_item *items, size_t count,
				     enum detour detour, uint64_t asked_ns)
{
	struct way way;
	uint8_t *end;

	if (ORMA_UNLIKELY(!way_open(&way, instances, detour, ORMA_TRACK_PLAIN_ROOM)))
		return false;
	if (ORMA_UNLIKELY(!orma_track_can_encode(way.sequence, site)))
		return way_close(&way, NULL);
	end = orma_track_encode_items(way.sequence, way.begin, way.writer->fast_end, site, items,
				      count);
	/* The time comes last: so much less is to be kept while the items are encoded. */
	if (ORMA_UNLIKELY(!end || !way_time(&way, asked_ns) ||
			  !follow(way.sequence, site->type, items, count)))
		return way_close(&way, NULL);
	return way_close(&way, orma_track_encode_tail(way.sequence, way.begin, end, way.now_ns));
}

/* --- in another instance, with the system's time, or when something is to be done first ---------- */

/*
 * The time of an event; 0 = by the sequence's line. What brought an event of the first instance here
 * may have been its time. Without the processor's counter no sequence has a line.
 */
static inline uint64_t ask_where_needed(uint32_t instances)
{
	return instances == 1 || !orma_track_clock_uses_ticks() ? orma_track_now_ns() : 0;
}

static __attribute__((noinline)) uint32_t emit_each(struct orma_call_site *site, uint32_t type,
						    const struct orma_item *items, size_t count,
						    uint64_t asked_ns)
{
	const struct orma_track_event event = {
		.site = site,
		.category = site->category,
		.type = type,
		.now_ns = asked_ns ? asked_ns : orma_track_now_ns(),
		.items = items,
		.count = count,
	};

	return orma_track_emit_each(&event, enabled(site->category));
}

static __attribute__((noinline)) uint32_t detour_plain(struct orma_call_site *site, uint32_t type)
{
	uint32_t instances = enabled(site->category);
	uint64_t asked_ns = ask_where_needed(instances);

	return ORMA_LIKELY(emit_plain(site, instances, type == ORMA_EVENT_BEGIN, DETOUR, asked_ns))
		       ? instances
		       : emit_each(site, type, NULL, 0, asked_ns);
}

static __attribute__((noinline)) void detour_end(uint32_t instances)
{
	uint64_t asked_ns = ask_where_needed(instances);
	struct orma_track_event event = {.type = ORMA_EVENT_END};

	if (ORMA_LIKELY(emit_end(instances, DETOUR, asked_ns)))
		return;
	event.now_ns = asked_ns ? asked_ns : orma_track_now_ns();
	orma_track_emit_each(&event, instances);
}

static __attribute__((noinline)) uint32_t detour_items(struct orma_call_site *site,
						       const struct orma_item *items, size_t count)
{
	uint32_t instances = enabled(site->category);
	uint64_t asked_ns = ask_where_needed(instances);

	return items && emit_items(site, instances, items, count, DETOUR, asked_ns)
		       ? instances
		       : emit_each(site, site->type, items, items ? count : 0, asked_ns);
}

/* The instances that took it. */
static __attribute__((noinline)) uint32_t
emit_with_items(struct orma_call_site *site, const struct orma_item *items, size_t count)
{
	if (ORMA_LIKELY(items &&
			emit_items(site, enabled(site->category), items, count, NO_DETOUR, 0)))
		return 1;
	return detour_items(site, items, count);
}

static __attribute__((noinline)) void detour_counter(struct orma_call_site *site,
						     struct orma_item value)
{
	uint32_t instances = enabled(site->category);
	uint64_t asked_ns = ask_where_needed(instances);

	if (ORMA_UNLIKELY(!emit_counter(site, instances, value, DETOUR, asked_ns)))
		emit_each(site, site->type, &value, 1, asked_ns);
}

static __attribute__((noinline)) void detour_any(struct orma_call_site *site)
{
	if (ORMA_LIKELY(site->type == ORMA_EVENT_INSTANT || site->type == ORMA_EVENT_BEGIN))
		detour_plain(site, site->type);
	else if (site->type == ORMA_EVENT_END)
		detour_end(enabled(site->category));
	else
		emit_each(site, site->type, NULL, 0, orma_track_now_ns());
}

/* --- the public functions --------------------------------------------------------------------- */

void orma_event_emit(struct orma_call_site *site)
{
	if (ORMA_UNLIKELY(site->type != ORMA_EVENT_INSTANT ||
			  !emit_plain(site, enabled(site->category), false, NO_DETOUR, 0)))
		detour_any(site);
}

void orma_event_emit_begin(struct orma_call_site *site)
{
	if (ORMA_UNLIKELY(!emit_plain(site, enabled(site->category), true, NO_DETOUR, 0)))
		detour_plain(site, ORMA_EVENT_BEGIN);
}

void orma_event_emit_items(struct orma_call_site *site, const struct orma_item *items, size_t count)
{
	emit_with_items(site, items, count);
}

void orma_event_emit_end(struct orma_category *category)
{
	uint32_t instances = enabled(category);

	if (ORMA_UNLIKELY(!emit_end(instances, NO_DETOUR, 0)))
		detour_end(instances);
}

void orma_event_emit_counter_int(struct orma_call_site *site, int64_t value)
{
	const struct orma_item item = orma_item_int(value, false);

	if (ORMA_UNLIKELY(!emit_counter(site, enabled(site->category), item, NO_DETOUR, 0)))
		detour_counter(site, item);
}

void orma_event_emit_counter_double(struct orma_call_site *site, double value)
{
	const struct orma_item item = orma_item_double(value, false);

	if (ORMA_UNLIKELY(!emit_counter(site, enabled(site->category), item, NO_DETOUR, 0)))
		detour_counter(site, item);
}

uint32_t orma_event_scope_begin(struct orma_call_site *site, const struct orma_item *items,
				size_t count)
{
	uint32_t instances = enabled(site->category);

	/* Those of the one instance, if it is one. */
	if (count == 0 || !items)
		return ORMA_LIKELY(emit_plain(site, instances, true, NO_DETOUR, 0))
			       ? instances
			       : detour_plain(site, ORMA_EVENT_BEGIN);
	return emit_with_items(site, items, count);
}

void orma_event_scope_end(struct orma_scope *scope)
{
	uint32_t instances = scope->instances;

	if (ORMA_UNLIKELY(instances == 0))
		return;
	/* An instance that has stopped meanwhile wants nothing; its place may be another's now. */
	instances &= enabled(scope->category);
	if (ORMA_UNLIKELY(!emit_end(instances, NO_DETOUR, 0)))
		detour_end(instances);
}

uint64_t orma_now_ns(void)
{
	return orma_track_now_ns();
}
