/* SPDX-License-Identifier: Apache-2.0
 * convert_fixture.h - imports a trace of another format.
 */
#ifndef ORMA_TESTS_CONVERT_FIXTURE_H
#define ORMA_TESTS_CONVERT_FIXTURE_H

#include "../trace/import_fixture.h"

/* Converts, with records where the format has them, and imports; returns the result of the conversion, see orma_formats_open(). After another error than -EBADMSG there
 * are no tables. `error` may be NULL. */
int convert_bytes(struct import_fixture *fixture, const void *data, size_t size,
		  struct orma_error *error);
/* The same for a text, which has to be converted without an error, and to have the same rows when it is converted for other readers of
 * packets. */
void convert_text(struct import_fixture *fixture, const char *text);

#endif
