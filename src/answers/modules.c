/* SPDX-License-Identifier: Apache-2.0
 * modules.c - the modules that `include perfetto module` finds in the binary.
 */
#include "answers/modules.h"

#include <module_texts.h> /* CMakeLists.txt writes it */

const char *orma_module_name(void *ctx, size_t idx)
{
	(void)ctx;
	return idx < sizeof(module_texts) / sizeof(*module_texts) ? module_texts[idx].name : NULL;
}

struct orma_str orma_module_text(void *ctx, const char *name)
{
	(void)ctx;
	for (size_t i = 0; module_texts[i].name; i++)
		if (strcmp(module_texts[i].name, name) == 0)
			return orma_base_str(module_texts[i].text);
	return (struct orma_str){NULL, 0};
}
