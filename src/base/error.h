/* SPDX-License-Identifier: Apache-2.0
 * error.h - filling struct orma_error.
 */
#ifndef ORMA_BASE_ERROR_H
#define ORMA_BASE_ERROR_H

#include <orma/error.h>

#include "base/macros.h"

/* Fills `error` (may be NULL) and returns `code`, so that one can return what this returns. */
int orma_base_error_set(struct orma_error *error, int code, const char *format, ...)
	ORMA_PRINTF(3, 4);
/* Puts "text: " in front of the message. */
void orma_base_error_prefix(struct orma_error *error, const char *format, ...) ORMA_PRINTF(2, 3);

#endif
