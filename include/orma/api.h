/* SPDX-License-Identifier: Apache-2.0
 * orma/api.h - what marks a symbol as part of the stable ABI; structs with a size, in C and in C++.
 */
#ifndef ORMA_API_H
#define ORMA_API_H

/*
 * With ORMA_STATIC, for a library of one's own that contains orma and shall not show it: a plugin
 * that two versions of orma may meet in. Such a copy has a connection of its own.
 */
#ifdef ORMA_STATIC
#define ORMA_API __attribute__((visibility("hidden")))
#else
#define ORMA_API __attribute__((visibility("default")))
#endif

/* The argument with this number, from 1, must not be NULL: compilers warn, and nothing checks it. */
#define ORMA_NOT_NULL_(number) __attribute__((nonnull(number)))

/*
 * A struct that begins with struct_size: all zero but for that. For C++, which has designated
 * initialisers from C++20 on only, and for whoever likes it better:
 *
 *	struct orma_init_options options = ORMA_SIZED(struct orma_init_options);
 *	options.clock = ORMA_CLOCK_MONOTONIC;
 */
#ifdef __cplusplus
extern "C++" {
template <class OrmaStruct> inline OrmaStruct orma_sized()
{
	OrmaStruct sized = {};

	sized.struct_size = sizeof(OrmaStruct);
	return sized;
}
/* Compilers warn of a static_cast to the type that a value already has. */
template <class OrmaTo> struct orma_cast {
	template <class OrmaFrom> static constexpr OrmaTo of(OrmaFrom value)
	{
		return static_cast<OrmaTo>(value);
	}
	static constexpr OrmaTo of(OrmaTo value)
	{
		return value;
	}
};
}
#define ORMA_SIZED(type) orma_sized<type>()
#else
#define ORMA_SIZED(type) ((type){.struct_size = sizeof(type)})
#endif

/* The headers' own: what both languages and all their warnings agree with. */
/* clang-format off */
#ifdef __cplusplus
#define ORMA_NULL_           nullptr
#define ORMA_ZERO_           {}
#define ORMA_INLINE_         constexpr inline /* what it makes can be static data */
#define ORMA_CAST_(type, x)  orma_cast<type>::of(x)
#define ORMA_ADDRESS_(value) reinterpret_cast<uintptr_t>(value)
#else
#define ORMA_NULL_           NULL
#define ORMA_ZERO_           {0}
#define ORMA_INLINE_         static inline
#define ORMA_CAST_(type, x)  ((type)(x))
#define ORMA_ADDRESS_(value) ((uintptr_t)(value))
#endif
/* clang-format on */

#endif
