/* SPDX-License-Identifier: Apache-2.0
 * lttng_provider.h - tracepoints with a field of every type that LTTng has. LTTng's macros read it several times.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER orma_test
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_provider.h"

#if !defined(ORMA_TESTS_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define ORMA_TESTS_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_ENUM(orma_test, color,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("red", -1)
		lttng_ust_field_enum_range("blue", 3, 5)))

LTTNG_UST_TRACEPOINT_EVENT(orma_test, numbers,
	LTTNG_UST_TP_ARGS(int, number, const char *, text),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int8_t, i8, (int8_t)-number)
		lttng_ust_field_integer(uint16_t, u16, (uint16_t)number)
		lttng_ust_field_integer(int32_t, i32, number)
		lttng_ust_field_integer(int64_t, i64, -(int64_t)number * 1000000007)
		lttng_ust_field_integer(uint64_t, u64, (uint64_t)number << 40)
		lttng_ust_field_integer_hex(uint64_t, hex, (uint64_t)number * 0x123456789)
		lttng_ust_field_integer_network(uint32_t, network, (uint32_t)number << 8)
		lttng_ust_field_float(double, real, number % 1000 / 8.0)
		lttng_ust_field_float(float, single, -(float)(number % 1000 + 1) / 4)
		lttng_ust_field_string(text, text)
		lttng_ust_field_enum(orma_test, color, int, color, number % 7 - 1)))

LTTNG_UST_TRACEPOINT_EVENT(orma_test, lists,
	LTTNG_UST_TP_ARGS(size_t, count, const int *, list, const char *, text),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array(int, fixed, list, 3)
		lttng_ust_field_sequence(int, any, list, size_t, count)
		lttng_ust_field_array_hex(int, hex, list, 2)
		lttng_ust_field_array_text(char, name, text, 4)
		lttng_ust_field_sequence_text(char, words, text, size_t, count + 1)))

LTTNG_UST_TRACEPOINT_EVENT(orma_test, nothing, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
/* clang-format on */

#endif
#include <lttng/tracepoint-event.h>
