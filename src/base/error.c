/* SPDX-License-Identifier: Apache-2.0
 * error.c - writing the message of a struct orma_error.
 *
 * Owns nothing; the message is cut at its fixed size and always ends in NUL. Rejected: messages on
 * the heap, because reporting a failed allocation must not allocate; a chain of causes, because
 * prefixes read as well.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends what fits. */
static void append(char message[ORMA_ERROR_MESSAGE_BYTES], const char *text)
{
	size_t used = strlen(message);
	size_t size = ORMA_MIN(strlen(text), ORMA_ERROR_MESSAGE_BYTES - 1 - used);
	memcpy(message + used, text, size);
	message[used + size] = '\0';
}

int(orma_base_error_set)(struct orma_error *error, int code, const char *format, ...)
{
	if (!error)
		return code;
	/* Formatted aside, because an argument may be the old message. */
	char message[ORMA_ERROR_MESSAGE_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	error->code = code;
	memcpy(error->message, message, sizeof(message));
	return code;
}

void orma_base_error_prefix(struct orma_error *error, const char *format, ...)
{
	if (!error)
		return;
	char message[ORMA_ERROR_MESSAGE_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	append(message, ": ");
	append(message, error->message);
	memcpy(error->message, message, sizeof(message));
}
