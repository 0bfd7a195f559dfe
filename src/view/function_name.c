/* SPDX-License-Identifier: Apache-2.0
 * function_name.c - functions under their names in the source.
 *
 * The trace keeps the linker's names, because two functions of a program may have one name in the source. They are translated
 * when an answer is written. Rejected: translating at import (names of frames in SQL would not be those of Trace Processor).
 */
#include "view/function_name.h"

#include "symbols/demangle.h"

int orma_view_function_name(const struct orma_view *view, int64_t cell, struct orma_buf *scratch,
			    struct orma_str *ret)
{
	*ret = orma_view_text(view, cell);
	/* Every mangled name begins with an underscore. */
	if (ret->size < 2 || ret->data[0] != '_')
		return 0;

	scratch->size = 0;
	int r = orma_base_buf_append(scratch, ret->data, ret->size);
	if (r == 0)
		r = orma_base_buf_append(scratch, "", 1);
	if (r < 0)
		return r;
	struct orma_buf name = {0};
	r = orma_demangle((const char *)scratch->data, &name);
	if (r > 0) {
		orma_base_buf_done(scratch);
		*scratch = name;
		*ret = orma_base_buf_str(scratch);
		return 0;
	}
	orma_base_buf_done(&name);
	return r;
}
