/* SPDX-License-Identifier: Apache-2.0
 * macros.h - macros that every module uses.
 */
#ifndef ORMA_BASE_MACROS_H
#define ORMA_BASE_MACROS_H

#include <stddef.h>
#include <stdint.h>

#define ORMA_LIKELY(x)       __builtin_expect(!!(x), 1)
#define ORMA_UNLIKELY(x)     __builtin_expect(!!(x), 0)
#define ORMA_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#define ORMA_ARRAY_SIZE(a)   (sizeof(a) / sizeof((a)[0]))
#define ORMA_MIN(a, b)                                                                             \
	__extension__({                                                                            \
		__typeof__(a) min_a_ = (a);                                                        \
		__typeof__(b) min_b_ = (b);                                                        \
		min_a_ < min_b_ ? min_a_ : min_b_;                                                 \
	})
#define ORMA_MAX(a, b)                                                                             \
	__extension__({                                                                            \
		__typeof__(a) max_a_ = (a);                                                        \
		__typeof__(b) max_b_ = (b);                                                        \
		max_a_ > max_b_ ? max_a_ : max_b_;                                                 \
	})
#define ORMA_CONTAINER_OF(ptr, type, member)                                                       \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* ORMA_AUTO(fn) runs `void fn(T *variable)` when the variable leaves its scope. */
#define ORMA_AUTO(fn) __attribute__((cleanup(fn)))
/* Evaluates to the pointer and sets the variable to NULL. */
#define ORMA_TAKE(p)                                                                               \
	__extension__({                                                                            \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#endif
