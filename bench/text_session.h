/* SPDX-License-Identifier: Apache-2.0
 * text_session.h - a session of a benchmark whose config is a text.
 */
#ifndef ORMA_BENCH_TEXT_SESSION_H
#define ORMA_BENCH_TEXT_SESSION_H

#include <orma/session.h>

#include "process.h"

/* Returns a session that has started, or NULL. */
struct orma_session *bench_text_session_start(const struct bench_daemon *daemon,
					      const char *config);

#endif
