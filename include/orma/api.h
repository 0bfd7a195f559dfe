/* SPDX-License-Identifier: Apache-2.0
 * orma/api.h - the mark of symbols of the stable ABI; initialising structs with a size in C and
 * C++.
 */
#ifndef ORMA_API_H
#define ORMA_API_H

/*
 * Define ORMA_STATIC for a library that contains orma but must not export its symbols, for example
 * a plugin of a process that may contain another version of orma. Such a copy has its own
 * connection.
 */
#ifdef ORMA_STATIC
#define ORMA_API __attribute__((visibility("hidden")))
#else
#define ORMA_API __attribute__((visibility("default")))
#endif

/* The argument with this number, from 1, must not be NULL. Compilers warn; nothing checks at run
 * time. */
#define ORMA_NOT_NULL_(number) __attribute__((nonnull(number)))

/*
 * ORMA_SIZED(type) is a struct with struct_size set and every other member zero. C++ before C++20
 * has no designated initialisers, so use it there. It is optional in C and in C++20:
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
/* A cast without the warning that compilers give when the value already has the type. */
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

/* Private to these headers: expressions that C and C++ accept without any warning. */
/* clang-format off */
#ifdef __cplusplus
#define ORMA_NULL_           nullptr
#define ORMA_ZERO_           {}
#define ORMA_INLINE_         constexpr inline /* results can be static data */
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
