/* SPDX-License-Identifier: Apache-2.0
 * startup_match.h - does a session ask for what startup tracing has begun?
 */
#ifndef ORMA_CLIENT_STARTUP_MATCH_H
#define ORMA_CLIENT_STARTUP_MATCH_H

#include <stdbool.h>

#include "base/str.h"

struct orma_data_source;

/* May an instance that was started with `startup` go on as the session's instance with `config`? */
bool orma_client_startup_matches(const struct orma_data_source *source, struct orma_str startup,
				 struct orma_str config);

#endif
