/* SPDX-License-Identifier: Apache-2.0
 * symbols.h - names and places in the source for addresses in files.
 */
#ifndef ORMA_TRACE_SYMBOLS_H
#define ORMA_TRACE_SYMBOLS_H

#include "trace/call_stacks.h"
#include "trace/system.h"

/* Takes ModuleSymbols: gives symbols to the frames so far. 0 or a negative errno value. */
int orma_module_symbols_take(struct orma_system *system, struct orma_call_stacks *stacks,
			     const struct orma_ordered_event *event);

#endif
