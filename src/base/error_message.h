/* SPDX-License-Identifier: Apache-2.0
 * error_message.h - filling struct orma_error.
 */
#ifndef ORMA_BASE_ERROR_MESSAGE_H
#define ORMA_BASE_ERROR_MESSAGE_H

#include <orma/error.h>

#include "base/macros.h"

/* Fills `error` (may be NULL) and returns `code`, so that one can return what this returns. */
int orma_base_error_set(struct orma_error *error, int code, const char *format, ...)
	ORMA_PRINTF(3, 4);
#ifdef __clang_analyzer__
/* It does not look into other files, and would follow paths on which a failure becomes a success. */
#define orma_base_error_set(error, code, ...)                                                      \
	({                                                                                         \
		int orma_code = (code);                                                            \
		(void)(orma_base_error_set)(error, orma_code, __VA_ARGS__);                        \
		orma_code;                                                                         \
	})
#endif
/* What an errno value means, of either sign, in words that go behind a colon. Unlike strerror() it
 * may be called on any thread, and says the same with every C library. */
const char *orma_base_error_words(int error);
/* Puts "text: " in front of the message. */
void orma_base_error_prefix(struct orma_error *error, const char *format, ...) ORMA_PRINTF(2, 3);

#endif
