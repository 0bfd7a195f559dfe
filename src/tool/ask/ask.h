/* SPDX-License-Identifier: Apache-2.0
 * ask.h - a trace that answers SQL, as text.
 */
#ifndef ORMA_TOOL_ASK_H
#define ORMA_TOOL_ASK_H

#include <orma/error.h>
#include <stddef.h>

#include "base/str.h"

struct orma_ask;

enum orma_ask_format { ORMA_ASK_CSV, ORMA_ASK_TABLE, ORMA_ASK_JSON, ORMA_ASK_MARKDOWN };

/*
 * Loads a trace from a descriptor, which stays open until orma_ask_free() and then is still the caller's. 0 or a negative
 * errno value: -ENOTSUP when the binary has no SQL. -EBADMSG with a trace in *ret: it is damaged, `reterr` says where, and
 * what comes before can be asked.
 */
int orma_ask_open(int fd, size_t memory_bytes, struct orma_ask **ret, struct orma_error *reterr);
void orma_ask_free(struct orma_ask *ask);
/* Runs queries, and passes the text of their rows on as it grows. 0, the function's error, -ECANCELED, -ENOMEM, or -EINVAL
 * with the place in reterr. */
int orma_ask_run(struct orma_ask *ask, struct orma_str queries, enum orma_ask_format format,
		 int (*write)(void *ctx, const void *data, size_t size), void *ctx,
		 struct orma_error *reterr);
/* Stops the query that runs. A signal handler may call it. */
void orma_ask_interrupt(struct orma_ask *ask);

#endif
