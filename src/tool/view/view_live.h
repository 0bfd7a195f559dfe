/* SPDX-License-Identifier: Apache-2.0
 * view_live.h - shows a trace while it is recorded.
 */
#ifndef ORMA_TOOL_VIEW_LIVE_H
#define ORMA_TOOL_VIEW_LIVE_H

#include "base/loop.h"
#include "tool/view/view_run.h"

struct orma_view_live;
struct orma_view_server;

/* Begins to read the trace, or to record it. 0 or a negative errno value, after a message. */
int orma_view_live_new(struct orma_loop *loop, struct orma_view_server *server,
		       const struct orma_view_options *options, struct orma_view_live **ret);
/* Stops a recording that goes on, and waits for it. The server does not load any more. NULL does nothing. */
void orma_view_live_free(struct orma_view_live *live);
/* Loads what is there, on the worker's thread. NULL when a message has said why not. */
struct orma_ask *orma_view_live_load(struct orma_view_live *live,
				     const struct orma_ask_options *options);
/* A loading has ended. It is called on the loop's thread. */
void orma_view_live_loaded(struct orma_view_live *live);

#endif
