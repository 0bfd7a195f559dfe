/* SPDX-License-Identifier: Apache-2.0
 * modules.h - the modules that `include perfetto module` finds in the binary; for struct orma_sql_options.
 */
#ifndef ORMA_ANSWERS_MODULES_H
#define ORMA_ANSWERS_MODULES_H

#include "base/str.h"

const char *orma_module_name(void *ctx, size_t idx);
struct orma_str orma_module_text(void *ctx, const char *name);

#endif
