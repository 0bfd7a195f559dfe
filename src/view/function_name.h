/* SPDX-License-Identifier: Apache-2.0
 * function_name.h - functions under their names in the source, as the other commands show them.
 */
#ifndef ORMA_VIEW_FUNCTION_NAME_H
#define ORMA_VIEW_FUNCTION_NAME_H

#include "base/buf.h"
#include "view/view_state.h"

/*
 * Sets *ret to the name of a function that a cell has: the name in the source when the cell has a mangled one; .data = NULL for
 * NULL. It is in scratch, or in the trace, and valid until scratch changes. 0 or -ENOMEM.
 */
int orma_view_function_name(const struct orma_view *view, int64_t cell, struct orma_buf *scratch,
			    struct orma_str *ret);

#endif
