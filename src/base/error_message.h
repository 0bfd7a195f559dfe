/* SPDX-License-Identifier: Apache-2.0
 * error_message.h - fills struct orma_error.
 */
#ifndef ORMA_BASE_ERROR_MESSAGE_H
#define ORMA_BASE_ERROR_MESSAGE_H

#include <orma/error.h>

#include "base/macros.h"

/* Fills `error` (may be NULL) and returns `code`, for use in a return statement. */
int orma_base_error_set(struct orma_error *error, int code, const char *format, ...)
	ORMA_PRINTF(3, 4);
#ifdef __clang_analyzer__
/* The analyzer does not read other files, and would assume that this may return another code. */
#define orma_base_error_set(error, code, ...)                                                      \
	({                                                                                         \
		int orma_code = (code);                                                            \
		(void)(orma_base_error_set)(error, orma_code, __VA_ARGS__);                        \
		orma_code;                                                                         \
	})
#endif
/* Describes an errno value of either sign, in words that fit behind a colon. Unlike strerror(), it
 * is thread-safe and gives the same text with every C library. */
const char *orma_base_error_words(int error);
/* Inserts "text: " before the message. */
void orma_base_error_prefix(struct orma_error *error, const char *format, ...) ORMA_PRINTF(2, 3);

#endif
