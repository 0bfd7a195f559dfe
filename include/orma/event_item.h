/* SPDX-License-Identifier: Apache-2.0
 * orma/event_item.h - the contents of an event besides its name: arguments, flows, a track, a time.
 *
 *	ORMA_INSTANT(gfx, "retry", "attempt", 3, "reason", text, ORMA_FLOW(request));
 *
 * The values after an event's name are *items*. They are read from left to right. An event can have
 * at most 64, and so can each ORMA_DICT and ORMA_ARRAY. A string where a key is expected is a key,
 * and the next item is its value. The special items below need no key. bool, integers, float,
 * double, strings and pointers convert to items implicitly. In C++ so do values of an `enum class`,
 * std::string and other types with c_str(), and types like std::string_view, whose text need not
 * end with NUL (in C, use ORMA_TEXT for such text). A key without a value is written without one; a
 * value without a key is left out.
 *
 * In C before C23, `true`, `false` and comparisons have the type int, and are recorded as the
 * numbers 1 and 0. ORMA_BOOL(n > 1) or a cast to bool records a boolean in all versions of C and
 * C++. Write a unary + or a cast before a bit-field, because some compilers give it a type of its
 * own.
 *
 * Keys that are string literals cost almost nothing; other keys are looked up by their text.
 * Strings are copied when the event is emitted. Bytes that are not valid UTF-8 are replaced by '?'.
 * NULL is recorded as the text "NULL". Data that items point to is borrowed until the event is
 * emitted, for ORMA_DICT and ORMA_ARRAY until the end of the statement.
 *
 * Threads: every function is MT-safe.
 */
#ifndef ORMA_EVENT_ITEM_H
#define ORMA_EVENT_ITEM_H

#include <orma/api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <type_traits>

extern "C" {
#endif

struct orma_category;
struct orma_track;

/** Number of the calling thread's stack in this process, for ORMA_CALLSTACK(); 0 = unknown. MT-safe,
 * preserves errno. */
ORMA_API uint64_t orma_callstack(void);

enum orma_item_kind {
	ORMA_ITEM_NONE = 0, /* ignored */
	ORMA_ITEM_BOOL = 1,
	ORMA_ITEM_INT = 2,
	ORMA_ITEM_UINT = 3,
	ORMA_ITEM_DOUBLE = 4,
	ORMA_ITEM_TEXT = 5,
	ORMA_ITEM_LITERAL = 6, /* like TEXT; the text at this address never changes */
	ORMA_ITEM_POINTER = 7,
	ORMA_ITEM_DICT = 8,        /* `number` items: keys and values */
	ORMA_ITEM_ARRAY = 9,       /* `number` items: values */
	ORMA_ITEM_TEXT_SIZED = 10, /* like TEXT, but `number` bytes */

	/* Items without a key. */
	ORMA_ITEM_FLOW = 16, /* `number` 1: the id is global, see ORMA_FLOW_GLOBAL */
	ORMA_ITEM_TERMINATING_FLOW = 17,
	ORMA_ITEM_CORRELATION = 18,
	ORMA_ITEM_CORRELATION_TEXT = 19,
	ORMA_ITEM_TRACK = 20,
	ORMA_ITEM_TIME = 21, /* `number` is the clock, 0 = the trace's clock */
	ORMA_ITEM_NAME = 22,
	ORMA_ITEM_NO_INTERN = 23,
	ORMA_ITEM_CATEGORY = 24,
	ORMA_ITEM_SOURCE_LOCATION = 25,
	ORMA_ITEM_COUNTER_INT = 26,
	ORMA_ITEM_COUNTER_DOUBLE = 27,
	ORMA_ITEM_STATE = 28,
	ORMA_ITEM_CALLSTACK = 29,

	/* Fields of the message TrackEvent; `number` is the field's number. */
	ORMA_ITEM_FIELD_VARINT = 32,
	ORMA_ITEM_FIELD_FIXED64 = 33,
	ORMA_ITEM_FIELD_FIXED32 = 34,
	ORMA_ITEM_FIELD_TEXT = 35,
	ORMA_ITEM_FIELD_BYTES = 36,
	ORMA_ITEM_FIELD_NESTED = 37,
};

struct orma_bytes {
	const void *data;
	size_t size;
};

struct orma_item;

struct orma_items {
	const struct orma_item *items;
	size_t count;
};

struct orma_source_location {
	const char *file, *function;
	uint32_t line;
	uint32_t id; /* zero; used by the library only */
};

struct orma_item {
	uint32_t kind; /* enum orma_item_kind */
	uint32_t number;
	union {
		bool boolean;
		int64_t integer;
		uint64_t number;
		double real;
		const char *text;
		const void *pointer;
		const struct orma_item *items;
		const struct orma_items *nested;
		const struct orma_bytes *bytes;
		const struct orma_track *track;
		const struct orma_category *category;
		struct orma_source_location *location;
	} value;
};

/* --- implementation: values ------------------------------------------------------------------- */

static inline struct orma_item orma_item_bool(bool value, bool is_literal)
{
	struct orma_item item;

	(void)is_literal;
	item.kind = ORMA_ITEM_BOOL;
	item.number = 0;
	item.value.number = value;
	return item;
}
static inline struct orma_item orma_item_int(int64_t value, bool is_literal)
{
	struct orma_item item;

	(void)is_literal;
	item.kind = ORMA_ITEM_INT;
	item.number = 0;
	item.value.integer = value;
	return item;
}
static inline struct orma_item orma_item_uint(uint64_t value, bool is_literal)
{
	struct orma_item item;

	(void)is_literal;
	item.kind = ORMA_ITEM_UINT;
	item.number = 0;
	item.value.number = value;
	return item;
}
static inline struct orma_item orma_item_double(double value, bool is_literal)
{
	struct orma_item item;

	(void)is_literal;
	item.kind = ORMA_ITEM_DOUBLE;
	item.number = 0;
	item.value.real = value;
	return item;
}
static inline struct orma_item orma_item_text(const char *value, bool is_literal)
{
	struct orma_item item;

	item.kind = is_literal ? ORMA_ITEM_LITERAL : ORMA_ITEM_TEXT;
	item.number = 0;
	item.value.text = value;
	return item;
}
static inline struct orma_item orma_item_text_sized(const char *text, size_t size)
{
	struct orma_item item;

	item.kind = ORMA_ITEM_TEXT_SIZED;
	item.number = ORMA_CAST_(uint32_t, size < UINT32_MAX ? size : UINT32_MAX);
	item.value.text = text;
	return item;
}
static inline struct orma_item orma_item_pointer(const volatile void *value, bool is_literal)
{
	struct orma_item item;

	(void)is_literal;
	item.kind = ORMA_ITEM_POINTER;
	item.number = 0;
	item.value.number = ORMA_ADDRESS_(value);
	return item;
}
static inline struct orma_item orma_item_self(struct orma_item item, bool is_literal)
{
	(void)is_literal;
	return item;
}
static inline struct orma_item orma_item_of_number(uint32_t kind, uint32_t number, uint64_t value)
{
	struct orma_item item;

	item.kind = kind;
	item.number = number;
	item.value.number = value;
	return item;
}
static inline struct orma_item orma_item_of_text(uint32_t kind, uint32_t number, const char *text)
{
	struct orma_item item;

	item.kind = kind;
	item.number = number;
	item.value.text = text;
	return item;
}
static inline struct orma_item orma_item_of_double(uint32_t kind, double value)
{
	struct orma_item item;

	item.kind = kind;
	item.number = 0;
	item.value.real = value;
	return item;
}
static inline struct orma_item orma_item_of_double_field(uint32_t field, double value)
{
	struct orma_item item;

	item.kind = ORMA_ITEM_FIELD_FIXED64;
	item.number = field;
	item.value.real = value;
	return item;
}
static inline struct orma_item orma_item_of_float_field(uint32_t field, float value)
{
	uint32_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return orma_item_of_number(ORMA_ITEM_FIELD_FIXED32, field, bits);
}
static inline struct orma_item orma_item_of_track(const struct orma_track *track)
{
	struct orma_item item;

	item.kind = ORMA_ITEM_TRACK;
	item.number = 0;
	item.value.track = track;
	return item;
}
static inline struct orma_item orma_item_of_category(const struct orma_category *category)
{
	struct orma_item item;

	item.kind = ORMA_ITEM_CATEGORY;
	item.number = 1;
	item.value.category = category;
	return item;
}
static inline struct orma_item orma_item_of_items(uint32_t kind, const struct orma_item *items,
						  size_t count)
{
	struct orma_item item;

	item.kind = kind;
	item.number = ORMA_CAST_(uint32_t, count);
	item.value.items = items;
	return item;
}
static inline struct orma_item orma_item_of_nested(uint32_t field, const struct orma_items *nested)
{
	struct orma_item item;

	item.kind = ORMA_ITEM_FIELD_NESTED;
	item.number = field;
	item.value.nested = nested;
	return item;
}
static inline struct orma_item orma_item_of_bytes(uint32_t field, const struct orma_bytes *bytes)
{
	struct orma_item item;

	item.kind = ORMA_ITEM_FIELD_BYTES;
	item.number = field;
	item.value.bytes = bytes;
	return item;
}
static inline struct orma_item orma_item_of_location(struct orma_source_location *location)
{
	struct orma_item item;

	item.kind = ORMA_ITEM_SOURCE_LOCATION;
	item.number = 0;
	item.value.location = location;
	return item;
}

#ifdef __cplusplus
}
#endif

/* --- implementation: from values to items ----------------------------------------------------- */

#ifdef __cplusplus
inline orma_item orma_item_of(bool value, long)
{
	return orma_item_bool(value, false);
}
inline orma_item orma_item_of(char value, long)
{
	return orma_item_int(value, false);
}
inline orma_item orma_item_of(signed char value, long)
{
	return orma_item_int(value, false);
}
inline orma_item orma_item_of(short value, long)
{
	return orma_item_int(value, false);
}
inline orma_item orma_item_of(int value, long)
{
	return orma_item_int(value, false);
}
inline orma_item orma_item_of(long value, long)
{
	return orma_item_int(value, false);
}
inline orma_item orma_item_of(long long value, long)
{
	return orma_item_int(value, false);
}
inline orma_item orma_item_of(unsigned char value, long)
{
	return orma_item_uint(value, false);
}
inline orma_item orma_item_of(unsigned short value, long)
{
	return orma_item_uint(value, false);
}
inline orma_item orma_item_of(unsigned value, long)
{
	return orma_item_uint(value, false);
}
inline orma_item orma_item_of(unsigned long value, long)
{
	return orma_item_uint(value, false);
}
inline orma_item orma_item_of(unsigned long long value, long)
{
	return orma_item_uint(value, false);
}
inline orma_item orma_item_of(float value, long)
{
	return orma_item_double(value, false);
}
inline orma_item orma_item_of(double value, long)
{
	return orma_item_double(value, false);
}
inline orma_item orma_item_of(long double value, long)
{
	return orma_item_double(static_cast<double>(value), false);
}
inline orma_item orma_item_of(const char *value, long)
{
	return orma_item_text(value, false);
}
template <size_t size> inline orma_item orma_item_of(char (&value)[size], int)
{
	return orma_item_text(value, false);
}
/* A string literal, unless it is an array whose content the compiler does not know. */
template <size_t size>
__attribute__((always_inline)) inline orma_item orma_item_of(const char (&value)[size], int)
{
	return orma_item_text(value, __builtin_constant_p(value[0]) &&
					     __builtin_constant_p(value[size - 1]));
}
inline orma_item orma_item_of(const volatile void *value, long)
{
	return orma_item_pointer(value, false);
}
inline orma_item orma_item_of(decltype(nullptr), long)
{
	return orma_item_pointer(nullptr, false);
}
inline orma_item orma_item_of(const orma_item &item, long)
{
	return item;
}
template <class OrmaString>
inline auto orma_item_of(const OrmaString &value, int)
	-> decltype(orma_item_text(value.c_str(), false))
{
	return orma_item_text(value.c_str(), false);
}
/* A type with substr() is text; arrays of characters have no such member. */
template <class OrmaView>
inline auto orma_item_of(const OrmaView &value, long)
	-> decltype(value.substr(0, 0), orma_item_text_sized(value.data(), value.size()))
{
	return orma_item_text_sized(value.data(), value.size());
}
/* The number of an enum's value: implicitly converted, or converted to the underlying type. */
template <class OrmaEnum> inline auto orma_number_of(OrmaEnum value, int) -> decltype(+value)
{
	return +value;
}
template <class OrmaEnum>
inline typename std::underlying_type<OrmaEnum>::type orma_number_of(OrmaEnum value, long)
{
	return static_cast<typename std::underlying_type<OrmaEnum>::type>(value);
}
template <class OrmaEnum>
inline typename std::enable_if<std::is_enum<OrmaEnum>::value, orma_item>::type
orma_item_of(OrmaEnum value, long)
{
	return orma_item_of(orma_number_of(value, 0), 0L);
}
/* Text that has to end with NUL. */
inline const char *orma_text_of(const char *text)
{
	return text;
}
template <class OrmaString> inline const char *orma_text_of(const OrmaString &text)
{
	return text.c_str();
}
/* The array lives until the end of the full expression. */
template <size_t count>
inline orma_item orma_item_of_array(uint32_t kind, const orma_item (&&items)[count])
{
	return orma_item_of_items(kind, items, count);
}
#define ORMA_ITEM(value)               orma_item_of(value, 0)
#define ORMA_ITEMS_OF_KIND_(kind, ...) orma_item_of_array(kind, {ORMA_ITEMS_(__VA_ARGS__)})
inline const orma_bytes *orma_bytes_of(const orma_bytes &bytes)
{
	return &bytes;
}
inline const orma_items *orma_items_of(const orma_items &items)
{
	return &items;
}
template <size_t count> inline orma_items orma_items_of_array(const orma_item (&&items)[count])
{
	return orma_items{items, count};
}
#define ORMA_BYTES_(data, size) orma_bytes_of({(data), (size)})
#define ORMA_TEXT_(text)        orma_text_of(text)
inline orma_source_location *orma_location_of(orma_source_location &&location)
{
	return &location;
}
#define ORMA_LOCATION_(file, function, line) orma_location_of({(file), (function), (line), 0})
#define ORMA_NESTED_(...)                    orma_items_of(orma_items_of_array({ORMA_ITEMS_(__VA_ARGS__)}))
#else
/* clang-format off */
#define ORMA_ITEM(value)                                                                           \
	_Generic((value),                                                                          \
		bool: orma_item_bool,                                                              \
		char: orma_item_int,                                                               \
		signed char: orma_item_int,                                                        \
		short: orma_item_int,                                                              \
		int: orma_item_int,                                                                \
		long: orma_item_int,                                                               \
		long long: orma_item_int,                                                          \
		unsigned char: orma_item_uint,                                                     \
		unsigned short: orma_item_uint,                                                    \
		unsigned: orma_item_uint,                                                          \
		unsigned long: orma_item_uint,                                                     \
		unsigned long long: orma_item_uint,                                                \
		float: orma_item_double,                                                           \
		double: orma_item_double,                                                          \
		long double: orma_item_double,                                                     \
		char *: orma_item_text,                                                            \
		const char *: orma_item_text,                                                      \
		struct orma_item: orma_item_self,                                                  \
		const struct orma_item: orma_item_self,                                            \
		default: orma_item_pointer)((value), __builtin_constant_p(value))
/* clang-format on */
#define ORMA_ITEMS_OF_KIND_(kind, ...)                                                             \
	orma_item_of_items(kind, (const struct orma_item[]){ORMA_ITEMS_(__VA_ARGS__)},             \
			   ORMA_COUNT_(__VA_ARGS__))
#define ORMA_BYTES_(data, size) (&(const struct orma_bytes){(data), (size)})
#define ORMA_TEXT_(text)        (text)
#define ORMA_LOCATION_(file, function, line)                                                       \
	(&(struct orma_source_location){(file), (function), (line), 0})
#define ORMA_NESTED_(...)                                                                          \
	(&(const struct orma_items){(const struct orma_item[]){ORMA_ITEMS_(__VA_ARGS__)},          \
				    ORMA_COUNT_(__VA_ARGS__)})
#endif

/* --- special items ---------------------------------------------------------------------------- */

/* Ids and times may be of any integer type. */
#define ORMA_U64_(value) ORMA_CAST_(uint64_t, value)

/* A boolean, also from an expression of type int: ORMA_BOOL(true), ORMA_BOOL(n > 1). */
#define ORMA_BOOL(value) orma_item_bool((value), false)

/* Text with a size, which need not end with NUL; NULL counts as empty here. */
#define ORMA_TEXT(text, size) orma_item_text_sized((text), (size))

/* An argument of several values: ORMA_DICT("x", 1, "y", 2), ORMA_ARRAY(1, 2, 3). */
#define ORMA_DICT(...)  ORMA_ITEMS_OF_KIND_(ORMA_ITEM_DICT, __VA_ARGS__)
#define ORMA_ARRAY(...) ORMA_ITEMS_OF_KIND_(ORMA_ITEM_ARRAY, __VA_ARGS__)

/* Viewers connect events with the same flow id by arrows, in the order of their times. Ids are
 * local to the process; global ids connect events of several processes. */
#define ORMA_FLOW(id)             orma_item_of_number(ORMA_ITEM_FLOW, 0, ORMA_U64_(id))
#define ORMA_TERMINATING_FLOW(id) orma_item_of_number(ORMA_ITEM_TERMINATING_FLOW, 0, ORMA_U64_(id))
#define ORMA_FLOW_GLOBAL(id)      orma_item_of_number(ORMA_ITEM_FLOW, 1, ORMA_U64_(id))
#define ORMA_TERMINATING_FLOW_GLOBAL(id)                                                           \
	orma_item_of_number(ORMA_ITEM_TERMINATING_FLOW, 1, ORMA_U64_(id))
/* The event belongs to the same request or frame as other events with this number or text. */
#define ORMA_CORRELATION(id) orma_item_of_number(ORMA_ITEM_CORRELATION, 0, ORMA_U64_(id))
#define ORMA_CORRELATION_TEXT(text)                                                                \
	orma_item_of_text(ORMA_ITEM_CORRELATION_TEXT, 0, ORMA_TEXT_(text))
/* Puts the event on this track (const struct orma_track *) instead of the thread's track. */
#define ORMA_ON(track) orma_item_of_track(track)
/* The time of the event instead of the current time: nanoseconds of the trace's clock (as returned
 * by orma_now_ns()), or of the clock with this id (enum BuiltinClock). */
#define ORMA_AT(time_ns)           orma_item_of_number(ORMA_ITEM_TIME, 0, ORMA_U64_(time_ns))
#define ORMA_AT_CLOCK(time, clock) orma_item_of_number(ORMA_ITEM_TIME, (clock), ORMA_U64_(time))
/* Takes the place of the name: a name that is known only at run time. */
#define ORMA_DYNAMIC(text) ORMA_NULL_, orma_item_of_text(ORMA_ITEM_NAME, 0, ORMA_TEXT_(text))
/* The category, or categories ("a,b"), of an event whose category argument is `dynamic`, see
 * orma/category.h: ORMA_INSTANT(dynamic, "x", ORMA_CATEGORY(text)). The end of a slice needs none,
 * because its begin has it. */
#define ORMA_CATEGORY(text) orma_item_of_text(ORMA_ITEM_CATEGORY, 0, ORMA_TEXT_(text))
/* The same with tags: name and tags of a const struct orma_category *, which need not be
 * registered. */
#define ORMA_CATEGORY_OF(category) orma_item_of_category(category)
/* The event's source location: file, function and line. */
#define ORMA_HERE orma_item_of_location(ORMA_LOCATION_(__FILE__, __func__, __LINE__))
/*
 * The call stack of the calling thread, from the function that has the event: ORMA_INSTANT(gfx,
 * "slow", ORMA_CALLSTACK()). Traces show it as a flame graph of the events, in SQL as
 * __intrinsic_track_event_callstacks. At the end of a slice it is where the slice ended. Needs no
 * frame pointers. x86-64 and arm64; elsewhere, and for what is said below, the event has none.
 *
 * The first stack through a program or library takes milliseconds, because its table of frames is
 * made from .eh_frame; later ones take about 100 ns. Stripped programs have .eh_frame, too. A library
 * that is opened by dlopen() is found when a stack first goes through it. When dlclose() and
 * dlopen() put another library in its place, its stacks may be wrong until then. A stack ends early
 * in code without .eh_frame: that of JIT compilers, of musl's libc, of -fno-asynchronous-unwind-tables;
 * static programs of musl-gcc have no .eh_frame_hdr, and so no stacks.
 * A child of fork() has the tables of its parent. On another stack (sigaltstack, fibers), and beyond
 * 8192 different stacks of a process, events have none; stacks are cut after 128 frames. An end that
 * found no room and is written later has none.
 */
#define ORMA_CALLSTACK() orma_item_of_number(ORMA_ITEM_CALLSTACK, 0, orma_callstack())
/* The name is written in full in this event and is not interned. */
#define ORMA_NO_INTERN orma_item_of_number(ORMA_ITEM_NO_INTERN, 0, 0)

/* Fields of the message TrackEvent by number, for which there is no item above. */
#define ORMA_FIELD_VARINT(id, value)                                                               \
	orma_item_of_number(ORMA_ITEM_FIELD_VARINT, (id), ORMA_U64_(value))
#define ORMA_FIELD_FIXED64(id, value)                                                              \
	orma_item_of_number(ORMA_ITEM_FIELD_FIXED64, (id), ORMA_U64_(value))
#define ORMA_FIELD_FIXED32(id, value)                                                              \
	orma_item_of_number(ORMA_ITEM_FIELD_FIXED32, (id), ORMA_U64_(value))
#define ORMA_FIELD_DOUBLE(id, value)     orma_item_of_double_field((id), (value))
#define ORMA_FIELD_FLOAT(id, value)      orma_item_of_float_field((id), (value))
#define ORMA_FIELD_STRING(id, text)      orma_item_of_text(ORMA_ITEM_FIELD_TEXT, (id), ORMA_TEXT_(text))
#define ORMA_FIELD_BYTES(id, data, size) orma_item_of_bytes((id), ORMA_BYTES_((data), (size)))
/* The items inside are fields. */
#define ORMA_FIELD_NESTED(id, ...) orma_item_of_nested((id), ORMA_NESTED_(__VA_ARGS__))

/* --- implementation: lists -------------------------------------------------------------------- */

/* clang-format off */
/* The number of arguments, up to 68. */
#define ORMA_COUNT_(...) ORMA_COUNT_PICK_(__VA_ARGS__, 68, 67, 66, 65, 64, 63, 62, 61, 60, 59,	\
	58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37,	\
	36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15,	\
	14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, ~)
#define ORMA_COUNT_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16,	\
	a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33,	\
	a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50,	\
	a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, a65, a66, a67,	\
	a68, n, ...) n
#define ORMA_CONCAT_(a, b) a##b
#define ORMA_CONCAT(a, b)  ORMA_CONCAT_(a, b)
#define ORMA_ITEMS_(...) ORMA_CONCAT(ORMA_ITEMS_, ORMA_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define ORMA_ITEMS_1(a)       ORMA_ITEM(a)
#define ORMA_ITEMS_2(a, ...)  ORMA_ITEM(a), ORMA_ITEMS_1(__VA_ARGS__)
#define ORMA_ITEMS_3(a, ...)  ORMA_ITEM(a), ORMA_ITEMS_2(__VA_ARGS__)
#define ORMA_ITEMS_4(a, ...)  ORMA_ITEM(a), ORMA_ITEMS_3(__VA_ARGS__)
#define ORMA_ITEMS_5(a, ...)  ORMA_ITEM(a), ORMA_ITEMS_4(__VA_ARGS__)
#define ORMA_ITEMS_6(a, ...)  ORMA_ITEM(a), ORMA_ITEMS_5(__VA_ARGS__)
#define ORMA_ITEMS_7(a, ...)  ORMA_ITEM(a), ORMA_ITEMS_6(__VA_ARGS__)
#define ORMA_ITEMS_8(a, ...)  ORMA_ITEM(a), ORMA_ITEMS_7(__VA_ARGS__)
#define ORMA_ITEMS_9(a, ...)  ORMA_ITEM(a), ORMA_ITEMS_8(__VA_ARGS__)
#define ORMA_ITEMS_10(a, ...) ORMA_ITEM(a), ORMA_ITEMS_9(__VA_ARGS__)
#define ORMA_ITEMS_11(a, ...) ORMA_ITEM(a), ORMA_ITEMS_10(__VA_ARGS__)
#define ORMA_ITEMS_12(a, ...) ORMA_ITEM(a), ORMA_ITEMS_11(__VA_ARGS__)
#define ORMA_ITEMS_13(a, ...) ORMA_ITEM(a), ORMA_ITEMS_12(__VA_ARGS__)
#define ORMA_ITEMS_14(a, ...) ORMA_ITEM(a), ORMA_ITEMS_13(__VA_ARGS__)
#define ORMA_ITEMS_15(a, ...) ORMA_ITEM(a), ORMA_ITEMS_14(__VA_ARGS__)
#define ORMA_ITEMS_16(a, ...) ORMA_ITEM(a), ORMA_ITEMS_15(__VA_ARGS__)
#define ORMA_ITEMS_17(a, ...) ORMA_ITEM(a), ORMA_ITEMS_16(__VA_ARGS__)
#define ORMA_ITEMS_18(a, ...) ORMA_ITEM(a), ORMA_ITEMS_17(__VA_ARGS__)
#define ORMA_ITEMS_19(a, ...) ORMA_ITEM(a), ORMA_ITEMS_18(__VA_ARGS__)
#define ORMA_ITEMS_20(a, ...) ORMA_ITEM(a), ORMA_ITEMS_19(__VA_ARGS__)
#define ORMA_ITEMS_21(a, ...) ORMA_ITEM(a), ORMA_ITEMS_20(__VA_ARGS__)
#define ORMA_ITEMS_22(a, ...) ORMA_ITEM(a), ORMA_ITEMS_21(__VA_ARGS__)
#define ORMA_ITEMS_23(a, ...) ORMA_ITEM(a), ORMA_ITEMS_22(__VA_ARGS__)
#define ORMA_ITEMS_24(a, ...) ORMA_ITEM(a), ORMA_ITEMS_23(__VA_ARGS__)
#define ORMA_ITEMS_25(a, ...) ORMA_ITEM(a), ORMA_ITEMS_24(__VA_ARGS__)
#define ORMA_ITEMS_26(a, ...) ORMA_ITEM(a), ORMA_ITEMS_25(__VA_ARGS__)
#define ORMA_ITEMS_27(a, ...) ORMA_ITEM(a), ORMA_ITEMS_26(__VA_ARGS__)
#define ORMA_ITEMS_28(a, ...) ORMA_ITEM(a), ORMA_ITEMS_27(__VA_ARGS__)
#define ORMA_ITEMS_29(a, ...) ORMA_ITEM(a), ORMA_ITEMS_28(__VA_ARGS__)
#define ORMA_ITEMS_30(a, ...) ORMA_ITEM(a), ORMA_ITEMS_29(__VA_ARGS__)
#define ORMA_ITEMS_31(a, ...) ORMA_ITEM(a), ORMA_ITEMS_30(__VA_ARGS__)
#define ORMA_ITEMS_32(a, ...) ORMA_ITEM(a), ORMA_ITEMS_31(__VA_ARGS__)
#define ORMA_ITEMS_33(a, ...) ORMA_ITEM(a), ORMA_ITEMS_32(__VA_ARGS__)
#define ORMA_ITEMS_34(a, ...) ORMA_ITEM(a), ORMA_ITEMS_33(__VA_ARGS__)
#define ORMA_ITEMS_35(a, ...) ORMA_ITEM(a), ORMA_ITEMS_34(__VA_ARGS__)
#define ORMA_ITEMS_36(a, ...) ORMA_ITEM(a), ORMA_ITEMS_35(__VA_ARGS__)
#define ORMA_ITEMS_37(a, ...) ORMA_ITEM(a), ORMA_ITEMS_36(__VA_ARGS__)
#define ORMA_ITEMS_38(a, ...) ORMA_ITEM(a), ORMA_ITEMS_37(__VA_ARGS__)
#define ORMA_ITEMS_39(a, ...) ORMA_ITEM(a), ORMA_ITEMS_38(__VA_ARGS__)
#define ORMA_ITEMS_40(a, ...) ORMA_ITEM(a), ORMA_ITEMS_39(__VA_ARGS__)
#define ORMA_ITEMS_41(a, ...) ORMA_ITEM(a), ORMA_ITEMS_40(__VA_ARGS__)
#define ORMA_ITEMS_42(a, ...) ORMA_ITEM(a), ORMA_ITEMS_41(__VA_ARGS__)
#define ORMA_ITEMS_43(a, ...) ORMA_ITEM(a), ORMA_ITEMS_42(__VA_ARGS__)
#define ORMA_ITEMS_44(a, ...) ORMA_ITEM(a), ORMA_ITEMS_43(__VA_ARGS__)
#define ORMA_ITEMS_45(a, ...) ORMA_ITEM(a), ORMA_ITEMS_44(__VA_ARGS__)
#define ORMA_ITEMS_46(a, ...) ORMA_ITEM(a), ORMA_ITEMS_45(__VA_ARGS__)
#define ORMA_ITEMS_47(a, ...) ORMA_ITEM(a), ORMA_ITEMS_46(__VA_ARGS__)
#define ORMA_ITEMS_48(a, ...) ORMA_ITEM(a), ORMA_ITEMS_47(__VA_ARGS__)
#define ORMA_ITEMS_49(a, ...) ORMA_ITEM(a), ORMA_ITEMS_48(__VA_ARGS__)
#define ORMA_ITEMS_50(a, ...) ORMA_ITEM(a), ORMA_ITEMS_49(__VA_ARGS__)
#define ORMA_ITEMS_51(a, ...) ORMA_ITEM(a), ORMA_ITEMS_50(__VA_ARGS__)
#define ORMA_ITEMS_52(a, ...) ORMA_ITEM(a), ORMA_ITEMS_51(__VA_ARGS__)
#define ORMA_ITEMS_53(a, ...) ORMA_ITEM(a), ORMA_ITEMS_52(__VA_ARGS__)
#define ORMA_ITEMS_54(a, ...) ORMA_ITEM(a), ORMA_ITEMS_53(__VA_ARGS__)
#define ORMA_ITEMS_55(a, ...) ORMA_ITEM(a), ORMA_ITEMS_54(__VA_ARGS__)
#define ORMA_ITEMS_56(a, ...) ORMA_ITEM(a), ORMA_ITEMS_55(__VA_ARGS__)
#define ORMA_ITEMS_57(a, ...) ORMA_ITEM(a), ORMA_ITEMS_56(__VA_ARGS__)
#define ORMA_ITEMS_58(a, ...) ORMA_ITEM(a), ORMA_ITEMS_57(__VA_ARGS__)
#define ORMA_ITEMS_59(a, ...) ORMA_ITEM(a), ORMA_ITEMS_58(__VA_ARGS__)
#define ORMA_ITEMS_60(a, ...) ORMA_ITEM(a), ORMA_ITEMS_59(__VA_ARGS__)
#define ORMA_ITEMS_61(a, ...) ORMA_ITEM(a), ORMA_ITEMS_60(__VA_ARGS__)
#define ORMA_ITEMS_62(a, ...) ORMA_ITEM(a), ORMA_ITEMS_61(__VA_ARGS__)
#define ORMA_ITEMS_63(a, ...) ORMA_ITEM(a), ORMA_ITEMS_62(__VA_ARGS__)
#define ORMA_ITEMS_64(a, ...) ORMA_ITEM(a), ORMA_ITEMS_63(__VA_ARGS__)
/* clang-format on */

#endif
