/* SPDX-License-Identifier: Apache-2.0
 * orma/track_event.h - slices, instants, counters and states on the timeline of a trace.
 *
 *	ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames and drawing");     // in one .c file
 *	...
 *	orma_init(NULL);
 *	{
 *		ORMA_SCOPE(gfx, "frame", "number", 7); // a slice until the end of the block
 *		ORMA_INSTANT(gfx, "retry", "attempt", n);
 *		ORMA_COUNTER(gfx, "fps", 59.9);
 *	}
 *	ORMA_BEGIN(gfx, "load");
 *	ORMA_END(gfx, "bytes", size);
 *
 * After the name an event can have up to 64 items: arguments, flows, a time and others, see
 * orma/event_item.h. A counter's value counts as one item. Names must be string literals or
 * constants, because each call site identifies them by address. A name that is known only at run
 * time does not compile in C or in C++: use ORMA_DYNAMIC(text). While no session enables the
 * category, an event costs one load and a branch, and its arguments are not evaluated.
 *
 * Slices may be nested to any depth, and losses do not break the nesting. If the begin of a slice
 * is lost, its end is not written. If the begin was written and there is no room for the end, the
 * end is written later, with its own time and its items. A waiting end keeps up to 1 KiB of encoded
 * items, and all waiting ends of a thread keep 4 KiB; an end whose items did not fit has an
 * argument "orma.items_lost" with their number. Instants "events lost" of the category "orma.loss"
 * tell how many events of each category a thread has lost.
 *
 * Threads: everything here may be used on any thread. errno is preserved.
 * Signals: if a handler interrupts an event on the same thread, the handler's events are dropped;
 *          the interrupted event is unaffected. In each session, the first event of a thread and
 *          the first event of a call site allocate memory and take a lock; a slice may do so when
 *          the shared memory is full. Do not emit from handlers that may interrupt malloc().
 */
#ifndef ORMA_TRACK_EVENT_H
#define ORMA_TRACK_EVENT_H

#include <orma/api.h>
#include <orma/category.h>
#include <orma/event_item.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Data that a call site keeps for one of its keys: zero at first, then written by the library. */
struct orma_key {
	const char *text;
	uint8_t code[8];
};

/* A call site: a place in the code that emits. Static; all members but the first are zero at first.
 */
struct orma_call_site {
	struct orma_category *category;
	const char *name;      /* NULL = none, or the name is among the items */
	struct orma_key *keys; /* may be NULL */
	uint32_t key_count;
	uint32_t type; /* enum orma_event_type */
	/* Written by the library: */
	uint32_t id;
	uint32_t reserved;
	uint8_t blob_size;
	uint8_t blob[23];
} __attribute__((aligned(64)));

/* A slice that ends with its block. */
struct orma_scope {
	struct orma_category *category;
	uint32_t instances; /* bit i = the begin was emitted to instance i */
};

enum orma_event_type {
	ORMA_EVENT_BEGIN = 1,
	ORMA_EVENT_END = 2,
	ORMA_EVENT_INSTANT = 3,
	ORMA_EVENT_COUNTER = 4,
	ORMA_EVENT_STATE = 5,
};

/**
 * Registers the data source "track_event" with all categories that are defined. orma_init() does
 * the same if there is a category; a second call is harmless. Returns 0, -ENOTCONN, -ENOMEM.
 */
ORMA_API int orma_track_event_register(void);
/*
 * The macros below call these functions. Site, category and scope must not be NULL; they are not
 * checked, because the check would cost time in each event.
 *
 * Emits an event of this call site, without items.
 */
ORMA_API void orma_event_emit(struct orma_call_site *site) ORMA_NOT_NULL_(1);
/* Emits an event with any number of items, even more than a macro takes. The first item of a
 * counter is its value, the first item of a state is the state. NULL = none. */
ORMA_API void orma_event_emit_items(struct orma_call_site *site, const struct orma_item *items,
				    size_t count) ORMA_NOT_NULL_(1);
/* Faster forms for a begin, an end and a counter's value, without items. */
ORMA_API void orma_event_emit_begin(struct orma_call_site *site) ORMA_NOT_NULL_(1);
ORMA_API void orma_event_emit_end(struct orma_category *category) ORMA_NOT_NULL_(1);
ORMA_API void orma_event_emit_counter_int(struct orma_call_site *site, int64_t value)
	ORMA_NOT_NULL_(1);
ORMA_API void orma_event_emit_counter_double(struct orma_call_site *site, double value)
	ORMA_NOT_NULL_(1);
/* Emits the begin. Returns the bits of the instances to which it was emitted. */
ORMA_API uint32_t orma_event_scope_begin(struct orma_call_site *site, const struct orma_item *items,
					 size_t count) ORMA_NOT_NULL_(1);
/* Emits the end to the instances to which the begin was emitted. */
ORMA_API void orma_event_scope_end(struct orma_scope *scope) ORMA_NOT_NULL_(1);
/**
 * orma_event_flush() - commit the events of the calling thread to its sessions now.
 *
 * Without it, events are committed when a chunk is full, when the session is flushed or stopped,
 * and when the thread ends. Use it when a running session is read, or with disable_scraping
 * (orma/init.h), where a service does not look at chunks that are not full.
 */
ORMA_API void orma_event_flush(void);
/** The current time on the clock of the events' timestamps: nanoseconds of CLOCK_BOOTTIME unless
 * orma_init_options.clock names another. */
ORMA_API uint64_t orma_now_ns(void);
/** The id of that clock, for ORMA_AT_CLOCK() and for TracePacket.timestamp_clock_id of custom
 * packets. 6 is CLOCK_BOOTTIME, the default of packets without a clock id. */
ORMA_API uint32_t orma_clock_id(void);

/* --- events ----------------------------------------------------------------------------------- */

/* (category, name, items...) */
#define ORMA_BEGIN(...)   ORMA_CONCAT(ORMA_BEGIN_, ORMA_HAS_MORE_THAN_2_(__VA_ARGS__))(__VA_ARGS__)
#define ORMA_INSTANT(...) ORMA_EVENT_OF_(ORMA_EVENT_INSTANT, __VA_ARGS__)
/* (category, items...) */
#define ORMA_END(...) ORMA_CONCAT(ORMA_END_, ORMA_HAS_MORE_THAN_1_(__VA_ARGS__))(__VA_ARGS__)
/* (category, name, items...): a slice until the end of the block. Only one per line of source code.
 * In C++ it may be the whole body of an `if`, and then ends at once. */
#define ORMA_SCOPE(...) ORMA_CONCAT(ORMA_SCOPE_, ORMA_HAS_MORE_THAN_2_(__VA_ARGS__))(__VA_ARGS__)
/* (category, name, value, items...): sets the counter of that name of the process, or the counter
 * track in ORMA_ON, to a value of an integer or floating type. A track of another kind, such as
 * that of orma_track_named(), has no values: readers leave them out. */
#define ORMA_COUNTER(...)                                                                          \
	ORMA_CONCAT(ORMA_COUNTER_, ORMA_HAS_MORE_THAN_3_(__VA_ARGS__))(__VA_ARGS__)
/* (category, name, state, items...): sets the state of that name of the process, or the state track
 * in ORMA_ON, to a text from now on; NULL (in C++ nullptr) = no state. */
#define ORMA_STATE(...) ORMA_EVENT_OF_(ORMA_EVENT_STATE, __VA_ARGS__)

/* --- implementation of the macros ------------------------------------------------------------- */

/* Without this, a name computed at run time would compile in C++, and the first event's name would
 * be used for ever. */
#if defined(__cplusplus) && defined(__clang__)
#define ORMA_CALL_SITE_ [[clang::require_constant_initialization]] static struct orma_call_site
#elif defined(__cplusplus) && __GNUC__ >= 10
#define ORMA_CALL_SITE_ static __constinit struct orma_call_site
#else
#define ORMA_CALL_SITE_ static struct orma_call_site
#endif
#define ORMA_SITE_(id, event_type, name_text)                                                      \
	{                                                                                          \
		&orma_category_##id, (name_text), ORMA_NULL_, 0, (event_type), 0, 0, 0,            \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}
#define ORMA_SITE_WITH_KEYS_(id, event_type, name_text, keys)                                      \
	{                                                                                          \
		&orma_category_##id, (name_text), keys, sizeof(keys) / sizeof((keys)[0]),          \
			(event_type), 0, 0, 0,                                                     \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

#ifdef __cplusplus
extern "C++" {
template <class OrmaResult, size_t count>
inline OrmaResult orma_call_with_items(OrmaResult (*function)(orma_call_site *, const orma_item *,
							      size_t),
				       orma_call_site *site, const orma_item (&&items)[count])
{
	return function(site, items, count);
}
inline void orma_event_emit_counter(orma_call_site *site, float value)
{
	orma_event_emit_counter_double(site, static_cast<double>(value));
}
inline void orma_event_emit_counter(orma_call_site *site, double value)
{
	orma_event_emit_counter_double(site, value);
}
inline void orma_event_emit_counter(orma_call_site *site, long double value)
{
	orma_event_emit_counter_double(site, static_cast<double>(value));
}
template <class OrmaNumber>
inline void orma_event_emit_counter(orma_call_site *site, OrmaNumber value)
{
	orma_event_emit_counter_int(site, orma_cast<int64_t>::of(value));
}
}
#define ORMA_CALL_WITH_ITEMS_(function, site, ...)                                                 \
	orma_call_with_items(function, site, {ORMA_ITEMS_(__VA_ARGS__)})
#define ORMA_EMIT_COUNTER_(site, value) orma_event_emit_counter(site, value)
#else
#define ORMA_CALL_WITH_ITEMS_(function, site, ...)                                                 \
	function(site, (const struct orma_item[]){ORMA_ITEMS_(__VA_ARGS__)},                       \
		 ORMA_COUNT_(__VA_ARGS__))
static inline void orma_event_emit_counter_uint(struct orma_call_site *site, uint64_t value)
{
	orma_event_emit_counter_int(site, (int64_t)value);
}
/* clang-format off */
#define ORMA_EMIT_COUNTER_(site, value)                                                            \
	_Generic((value),                                                                          \
		float: orma_event_emit_counter_double,                                             \
		double: orma_event_emit_counter_double,                                            \
		long double: orma_event_emit_counter_double,                                       \
		unsigned long: orma_event_emit_counter_uint,                                       \
		unsigned long long: orma_event_emit_counter_uint,                                  \
		default: orma_event_emit_counter_int)(site, (value))
/* clang-format on */
#endif

#define ORMA_EVENT_OF_(type, ...)                                                                  \
	ORMA_CONCAT(ORMA_EVENT_, ORMA_HAS_MORE_THAN_2_(__VA_ARGS__))(type, __VA_ARGS__)
#define ORMA_EVENT_0(type, id, name)                                                               \
	do {                                                                                       \
		if (ORMA_IS_ENABLED(id)) {                                                         \
			ORMA_CALL_SITE_ orma_site_ = ORMA_SITE_(id, type, name);                   \
			orma_event_emit(&orma_site_);                                              \
		}                                                                                  \
	} while (0)
#define ORMA_BEGIN_0(id, name)                                                                     \
	do {                                                                                       \
		if (ORMA_IS_ENABLED(id)) {                                                         \
			ORMA_CALL_SITE_ orma_site_ = ORMA_SITE_(id, ORMA_EVENT_BEGIN, name);       \
			orma_event_emit_begin(&orma_site_);                                        \
		}                                                                                  \
	} while (0)
#define ORMA_BEGIN_1(id, name, ...) ORMA_EVENT_1(ORMA_EVENT_BEGIN, id, name, __VA_ARGS__)
#define ORMA_EVENT_1(type, id, name, ...)                                                          \
	do {                                                                                       \
		if (ORMA_IS_ENABLED(id)) {                                                         \
			static struct orma_key orma_keys_[(ORMA_COUNT_(__VA_ARGS__) + 1) / 2];     \
			ORMA_CALL_SITE_ orma_site_ =                                               \
				ORMA_SITE_WITH_KEYS_(id, type, name, orma_keys_);                  \
			ORMA_CALL_WITH_ITEMS_(orma_event_emit_items, &orma_site_, __VA_ARGS__);    \
		}                                                                                  \
	} while (0)
#define ORMA_END_0(id)                                                                             \
	do {                                                                                       \
		if (ORMA_IS_ENABLED(id))                                                           \
			orma_event_emit_end(&orma_category_##id);                                  \
	} while (0)
#define ORMA_END_1(id, ...) ORMA_EVENT_1(ORMA_EVENT_END, id, ORMA_NULL_, __VA_ARGS__)
#define ORMA_COUNTER_0(id, name, value)                                                            \
	do {                                                                                       \
		if (ORMA_IS_ENABLED(id)) {                                                         \
			ORMA_CALL_SITE_ orma_site_ = ORMA_SITE_(id, ORMA_EVENT_COUNTER, name);     \
			ORMA_EMIT_COUNTER_(&orma_site_, value);                                    \
		}                                                                                  \
	} while (0)
#define ORMA_COUNTER_1(id, name, ...) ORMA_EVENT_1(ORMA_EVENT_COUNTER, id, name, __VA_ARGS__)
#define ORMA_SCOPE_IN_(id, begin)                                                                  \
	struct orma_scope ORMA_CONCAT(orma_scope_, __LINE__)                                       \
		__attribute__((cleanup(orma_event_scope_end), unused)) = {                         \
			&orma_category_##id, ORMA_IS_ENABLED(id) ? (begin) : 0}
/*
 * A single declaration in C++, so that it may be the whole body of an `if`. In C a declaration may
 * not be the body of an `if`, and compilers report it.
 */
#ifdef __cplusplus
#define ORMA_SCOPE_SITE_(...)                                                                      \
	([]() -> struct orma_call_site * {                                                         \
		ORMA_CALL_SITE_ orma_site_ = __VA_ARGS__;                                          \
		return &orma_site_;                                                                \
	}())
#define ORMA_SCOPE_SITE_WITH_KEYS_(id, name, key_count)                                            \
	([]() -> struct orma_call_site * {                                                         \
		static struct orma_key orma_keys_[key_count];                                      \
		ORMA_CALL_SITE_ orma_site_ =                                                       \
			ORMA_SITE_WITH_KEYS_(id, ORMA_EVENT_BEGIN, name, orma_keys_);              \
		return &orma_site_;                                                                \
	}())
#define ORMA_SCOPE_0(id, name)                                                                     \
	ORMA_SCOPE_IN_(id, orma_event_scope_begin(                                                 \
				   ORMA_SCOPE_SITE_(ORMA_SITE_(id, ORMA_EVENT_BEGIN, name)),       \
				   ORMA_NULL_, 0))
#define ORMA_SCOPE_1(id, name, ...)                                                                \
	ORMA_SCOPE_IN_(                                                                            \
		id, ORMA_CALL_WITH_ITEMS_(orma_event_scope_begin,                                  \
					  ORMA_SCOPE_SITE_WITH_KEYS_(                              \
						  id, name, (ORMA_COUNT_(__VA_ARGS__) + 1) / 2),   \
					  __VA_ARGS__))
#else
#define ORMA_SCOPE_0(id, name)                                                                     \
	ORMA_CALL_SITE_ ORMA_CONCAT(orma_scope_site_, __LINE__) =                                  \
		ORMA_SITE_(id, ORMA_EVENT_BEGIN, name);                                            \
	ORMA_SCOPE_IN_(id, orma_event_scope_begin(&ORMA_CONCAT(orma_scope_site_, __LINE__),        \
						  ORMA_NULL_, 0))
#define ORMA_SCOPE_1(id, name, ...)                                                                \
	static struct orma_key ORMA_CONCAT(orma_scope_keys_,                                       \
					   __LINE__)[(ORMA_COUNT_(__VA_ARGS__) + 1) / 2];          \
	ORMA_CALL_SITE_ ORMA_CONCAT(orma_scope_site_, __LINE__) = ORMA_SITE_WITH_KEYS_(            \
		id, ORMA_EVENT_BEGIN, name, ORMA_CONCAT(orma_scope_keys_, __LINE__));              \
	ORMA_SCOPE_IN_(id, ORMA_CALL_WITH_ITEMS_(orma_event_scope_begin,                           \
						 &ORMA_CONCAT(orma_scope_site_, __LINE__),         \
						 __VA_ARGS__))
#endif

/* clang-format off */
#define ORMA_HAS_MORE_THAN_1_(...) ORMA_COUNT_PICK_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 1, 1, 0, ~)
#define ORMA_HAS_MORE_THAN_2_(...) ORMA_COUNT_PICK_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 1, 0, 0, ~)
#define ORMA_HAS_MORE_THAN_3_(...) ORMA_COUNT_PICK_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,\
	1, 1, 1, 1, 1, 1, 0, 0, 0, ~)
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
