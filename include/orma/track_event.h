/* SPDX-License-Identifier: Apache-2.0
 * orma/track_event.h - slices, instants and counters on the timeline of a trace.
 *
 *	ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames and drawing");     // in one .c file
 *	...
 *	orma_init(NULL);
 *	orma_track_event_register();
 *	{
 *		ORMA_SCOPE(gfx, "frame"); // a slice until the end of the block
 *		ORMA_INSTANT(gfx, "retry");
 *		ORMA_COUNTER(gfx, "fps", 59.9);
 *	}
 *
 * Names are string literals or constants (what is known only at run time does not compile, in C++
 * neither): they are told apart by address at each place and
 * interned per sequence. While no session wants the category, an event costs one load and a branch.
 *
 * Threads: all of it from any thread. errno is preserved.
 */
#ifndef ORMA_TRACK_EVENT_H
#define ORMA_TRACK_EVENT_H

#include <orma/api.h>
#include <orma/category.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the code that emits; static, zero-initialised but for its first members. */
struct orma_call_site {
	struct orma_category *category;
	const char *name;
	uint32_t type; /* enum orma_event_type */
	uint32_t name_id;
};

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
};

/**
 * Registers the data source "track_event" with all categories; later ones are announced as they come. After orma_init(). 0,
 * -ENOTCONN, -ENOMEM, -EALREADY.
 */
ORMA_API int orma_track_event_register(void);
ORMA_API void orma_event_emit(struct orma_call_site *site);
ORMA_API void orma_event_emit_counter_int(struct orma_call_site *site, int64_t value);
ORMA_API void orma_event_emit_counter_double(struct orma_call_site *site, double value);
/* Emits the begin; the bits of the instances that took it. */
ORMA_API uint32_t orma_event_scope_begin(struct orma_call_site *site);
/* Emits the end to those that took the begin. */
ORMA_API void orma_event_scope_end(struct orma_scope *scope);

/* In C++ a name of a moment would compile, and be that of the first event for ever. */
#if defined(__cplusplus) && defined(__clang__)
#define ORMA_CALL_SITE_ [[clang::require_constant_initialization]] static struct orma_call_site
#elif defined(__cplusplus) && __GNUC__ >= 10
#define ORMA_CALL_SITE_ static __constinit struct orma_call_site
#else
#define ORMA_CALL_SITE_ static struct orma_call_site
#endif

#define ORMA_EVENT_(id, event_type, name_text, emit)                                               \
	do {                                                                                       \
		if (ORMA_IS_ENABLED(id)) {                                                         \
			ORMA_CALL_SITE_ orma_site_ = {&orma_category_##id, (name_text),            \
						      (event_type), 0};                            \
			emit;                                                                      \
		}                                                                                  \
	} while (0)

#define ORMA_BEGIN(id, name_text)                                                                  \
	ORMA_EVENT_(id, ORMA_EVENT_BEGIN, name_text, orma_event_emit(&orma_site_))
#define ORMA_END(id) ORMA_EVENT_(id, ORMA_EVENT_END, NULL, orma_event_emit(&orma_site_))
#define ORMA_INSTANT(id, name_text)                                                                \
	ORMA_EVENT_(id, ORMA_EVENT_INSTANT, name_text, orma_event_emit(&orma_site_))
#define ORMA_COUNTER_INT(id, name_text, value)                                                     \
	ORMA_EVENT_(id, ORMA_EVENT_COUNTER, name_text,                                             \
		    orma_event_emit_counter_int(&orma_site_, (value)))
#define ORMA_COUNTER_DOUBLE(id, name_text, value)                                                  \
	ORMA_EVENT_(id, ORMA_EVENT_COUNTER, name_text,                                             \
		    orma_event_emit_counter_double(&orma_site_, (value)))
#ifdef __cplusplus
extern "C++" {
template <class T> inline void orma_event_emit_counter(struct orma_call_site *site, T value)
{
	orma_event_emit_counter_int(site, static_cast<int64_t>(value));
}
template <> inline void orma_event_emit_counter(struct orma_call_site *site, float value)
{
	orma_event_emit_counter_double(site, static_cast<double>(value));
}
template <> inline void orma_event_emit_counter(struct orma_call_site *site, double value)
{
	orma_event_emit_counter_double(site, value);
}
}
#define ORMA_COUNTER(id, name_text, value)                                                         \
	ORMA_EVENT_(id, ORMA_EVENT_COUNTER, name_text, orma_event_emit_counter(&orma_site_, value))
#else
/* clang-format off */
#define ORMA_COUNTER(id, name_text, value)                                                         \
	ORMA_EVENT_(id, ORMA_EVENT_COUNTER, name_text,                                             \
		    _Generic((value),                                                              \
			     float: orma_event_emit_counter_double,                                \
			     double: orma_event_emit_counter_double,                               \
			     default: orma_event_emit_counter_int)(&orma_site_, (value)))
/* clang-format on */
#endif
#define ORMA_CONCAT_(a, b) a##b
#define ORMA_CONCAT(a, b)  ORMA_CONCAT_(a, b)
#define ORMA_SCOPE(id, name_text)                                                                  \
	ORMA_CALL_SITE_ ORMA_CONCAT(orma_scope_site_, __LINE__) = {                                \
		&orma_category_##id, (name_text), ORMA_EVENT_BEGIN, 0};                            \
	struct orma_scope ORMA_CONCAT(orma_scope_, __LINE__)                                       \
		__attribute__((cleanup(orma_event_scope_end), unused)) = {                         \
			&orma_category_##id,                                                       \
			ORMA_IS_ENABLED(id)                                                        \
				? orma_event_scope_begin(&ORMA_CONCAT(orma_scope_site_, __LINE__)) \
				: 0}

#ifdef __cplusplus
}
#endif
#endif
