/* SPDX-License-Identifier: Apache-2.0
 * status_json.h - the state of a daemon for scripts.
 */
#ifndef ORMA_TOOL_STATUS_JSON_H
#define ORMA_TOOL_STATUS_JSON_H

#include <stddef.h>

/* Prints a serialized TracingServiceState as one line on standard output. 0, -EBADMSG or -ENOMEM. */
int orma_status_print_json(const void *data, size_t size);

#endif
