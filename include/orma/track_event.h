/* SPDX-License-Identifier: Apache-2.0
 * orma/track_event.h - slices, instants, counters and states on the timeline of a trace.
 *
 *	ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames and drawing");     // in one .c file
 *	...
 *	orma_init(NULL);
 *	{
 *		ORMA_SCOPE(gfx, "frame", "number", 7, "name", title); // a slice until the end of the block
 *		ORMA_INSTANT(gfx, "retry", "attempt", n);
 *		ORMA_COUNTER(gfx, "fps", 59.9);
 *	}
 *	ORMA_BEGIN(gfx, "load");
 *	ORMA_END(gfx, "bytes", size);
 *
 * Behind the name come arguments and whatever else there is to say, up to 64 items, a counter's
 * value being one of them: see orma/event_item.h. Names are string literals or constants (what is
 * known only at run time does not compile, in C++ neither; ORMA_DYNAMIC(text) is for that): they are
 * told apart by address at each place. While no session wants the category, an event costs one load
 * and a branch, and its arguments are not evaluated.
 *
 * Slices may be nested to any depth. Losses keep their structure: the end of a slice whose beginning
 * was lost is not written, the end of one that was written comes late rather than never, with its
 * own time and what it carries: up to 1 KiB encoded, and 4 KiB of all ends of a thread that wait;
 * one that has lost it says so by an argument "orma.items_lost", their number. How many events of
 * which categories a thread lost stands in the trace, as instants "events lost" of the category
 * "orma.loss".
 *
 * Threads: all of it from any thread. errno is preserved.
 * Signals: in a handler that interrupted an event on the same thread, events are left out; that
 *          event is none the worse. The first event of a thread, and of a place in the code, in each
 *          session allocates memory and takes a lock, and so may a slice for which the shared memory
 *          has no room. A handler that may interrupt malloc() must not emit such an event.
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

/* What a call site remembers of one of its keys; zero-initialised, then the library's. */
struct orma_key {
	const char *text;
	uint8_t code[8];
};

/* A place in the code that emits; static, zero-initialised but for its first members. */
struct orma_call_site {
	struct orma_category *category;
	const char *name;      /* NULL = none, or among the items */
	struct orma_key *keys; /* may be NULL */
	uint32_t key_count;
	uint32_t type; /* enum orma_event_type */
	/* The library's from here on. */
	uint32_t id;
	uint32_t reserved;
	uint8_t blob_size;
	uint8_t blob[23];
} __attribute__((aligned(64)));

/* A slice that ends with its block. */
struct orma_scope {
	struct orma_category *category;
	uint32_t instances; /* bit i = instance i was told of its begin */
};

enum orma_event_type {
	ORMA_EVENT_BEGIN = 1,
	ORMA_EVENT_END = 2,
	ORMA_EVENT_INSTANT = 3,
	ORMA_EVENT_COUNTER = 4,
	ORMA_EVENT_STATE = 5,
};

/**
 * Registers the data source "track_event" with all categories defined so far. orma_init() has done
 * that if there was a category: harmless then. 0, -ENOTCONN, -ENOMEM.
 */
ORMA_API int orma_track_event_register(void);
/*
 * What the macros below call. Site, category and scope are not checked, as each event would pay for
 * that: they must not be NULL.
 *
 * An event of this place in the code, without items.
 */
ORMA_API void orma_event_emit(struct orma_call_site *site) ORMA_NOT_NULL_(1);
/* Any number of items, also more than a macro takes. Those of a counter begin with its value, those
 * of a state with the state. NULL = none. */
ORMA_API void orma_event_emit_items(struct orma_call_site *site, const struct orma_item *items,
				    size_t count) ORMA_NOT_NULL_(1);
/* The same for a begin, an end, a counter's value: shorter ways, without items. */
ORMA_API void orma_event_emit_begin(struct orma_call_site *site) ORMA_NOT_NULL_(1);
ORMA_API void orma_event_emit_end(struct orma_category *category) ORMA_NOT_NULL_(1);
ORMA_API void orma_event_emit_counter_int(struct orma_call_site *site, int64_t value)
	ORMA_NOT_NULL_(1);
ORMA_API void orma_event_emit_counter_double(struct orma_call_site *site, double value)
	ORMA_NOT_NULL_(1);
/* Emits the begin; the bits of the instances that took it. */
ORMA_API uint32_t orma_event_scope_begin(struct orma_call_site *site, const struct orma_item *items,
					 size_t count) ORMA_NOT_NULL_(1);
/* Emits the end to those that took the begin. */
ORMA_API void orma_event_scope_end(struct orma_scope *scope) ORMA_NOT_NULL_(1);
/**
 * orma_event_flush() - hands what the calling thread has emitted over to its sessions now.
 *
 * Otherwise that happens when a chunk is full, the session is flushed or stopped, or the thread
 * ends: this is for who reads a running session and for disable_scraping of orma/init.h, where a
 * service does not look at chunks that are not full.
 */
ORMA_API void orma_event_flush(void);
/** Now, on the clock of the events' timestamps: nanoseconds of CLOCK_BOOTTIME unless
 * orma_init_options.clock says otherwise. */
ORMA_API uint64_t orma_now_ns(void);
/** That clock's number, as in ORMA_AT_CLOCK(), and in TracePacket.timestamp_clock_id of packets of
 * one's own: 6 is CLOCK_BOOTTIME, which is what packets mean that say none. */
ORMA_API uint32_t orma_clock_id(void);

/* --- events ----------------------------------------------------------------------------------- */

/* (category, name, items...) */
#define ORMA_BEGIN(...)   ORMA_CONCAT(ORMA_BEGIN_, ORMA_HAS_MORE_THAN_2_(__VA_ARGS__))(__VA_ARGS__)
#define ORMA_INSTANT(...) ORMA_EVENT_OF_(ORMA_EVENT_INSTANT, __VA_ARGS__)
/* (category, items...) */
#define ORMA_END(...) ORMA_CONCAT(ORMA_END_, ORMA_HAS_MORE_THAN_1_(__VA_ARGS__))(__VA_ARGS__)
/* (category, name, items...): a slice until the end of the block. Not twice in a line. In C++ it may
 * be the body of an `if`, and ends with that at once. */
#define ORMA_SCOPE(...) ORMA_CONCAT(ORMA_SCOPE_, ORMA_HAS_MORE_THAN_2_(__VA_ARGS__))(__VA_ARGS__)
/* (category, name, value, items...): the value, of an integer or floating type, of the process's
 * counter of that name, or of the track in ORMA_ON. */
#define ORMA_COUNTER(...)                                                                          \
	ORMA_CONCAT(ORMA_COUNTER_, ORMA_HAS_MORE_THAN_3_(__VA_ARGS__))(__VA_ARGS__)
/* (category, name, state, items...): from now on the process's state of that name, or the track in
 * ORMA_ON, is in this state, a text; NULL (in C++ nullptr) = in none. */
#define ORMA_STATE(...) ORMA_EVENT_OF_(ORMA_EVENT_STATE, __VA_ARGS__)

/* --- how they are made ------------------------------------------------------------------------ */

/* In C++ a name of a moment would compile, and be that of the first event for ever. */
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
 * In C++ one declaration, so that it may be the whole body of an `if`; in C nothing that declares
 * may, and compilers say so.
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
