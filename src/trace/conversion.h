/* SPDX-License-Identifier: Apache-2.0
 * conversion.h - what a conversion says about itself.
 */
#ifndef ORMA_TRACE_CONVERSION_H
#define ORMA_TRACE_CONVERSION_H

#include "trace/system.h"

/* Adds what a conversion counted to the statistics. 0 or a negative errno value. */
int orma_conversion_report_take(struct orma_system *system, uint32_t machine_idx,
				struct orma_str content);

#endif
