/* SPDX-License-Identifier: Apache-2.0
 * config_advice.h - finds what a trace's config asked for that makes traces worse than they could be.
 */
#ifndef ORMA_TRACE_CONFIG_ADVICE_H
#define ORMA_TRACE_CONFIG_ADVICE_H

#include "trace/system.h"

/* Fills the table of diagnostics, when the statistics are known. A trace without a config has none. 0 or -ENOMEM. */
int orma_config_advise(struct orma_system *system);

#endif
