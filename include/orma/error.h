/* SPDX-License-Identifier: Apache-2.0
 * orma/error.h - a description of an error for people to read.
 *
 * Every function of orma that can fail returns a negative errno value. Functions that can describe
 * the failure have a last argument `struct orma_error *`, which may be NULL and is set on failure
 * only.
 *
 * Threads: plain data; the caller owns it.
 */
#ifndef ORMA_ERROR_H
#define ORMA_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#define ORMA_ERROR_MESSAGE_BYTES 504

struct orma_error {
	int code; /* the negative errno value that was returned */
	/* one or more lines of text, NUL-terminated, no final newline */
	char message[ORMA_ERROR_MESSAGE_BYTES];
};

#ifdef __cplusplus
}
#endif
#endif
