/* SPDX-License-Identifier: Apache-2.0
 * export_profile.c - see export_profile.h.
 */
#include "tool/export/export_profile.h"

#include <string.h>

#include "base/buf.h"
#include "tool/tool.h"

static bool find_value(const struct orma_cost_profile *profile, const char *name, size_t *ret)
{
	for (size_t i = 0; i < profile->value_count; i++)
		if (orma_base_str_is(profile->values[i].name, name)) {
			*ret = i;
			return true;
		}
	return false;
}

static int refuse_value(const struct orma_export_profile *profile, const char *name)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	for (uint32_t i = 0; i < profile->all.count; i++)
		for (size_t k = 0; k < profile->all.items[i].value_count; k++) {
			struct orma_str value = profile->all.items[i].values[k].name;
			(void)orma_base_buf_printf(&names, "%s%.*s", names.size > 0 ? ", " : "",
						   (int)value.size, value.data ? value.data : "");
		}
	const char *text = names.size > 0 ? orma_base_buf_cstr(&names) : NULL;
	return orma_tool_fail("no profile of the trace has the value \"%s\"; there is: %s", name,
			      text ? text : "none");
}

static int choose(struct orma_export_profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->all.count; i++) {
		const struct orma_cost_profile *item = &profile->all.items[i];
		size_t value = item->is_heap ? ORMA_HEAP_INUSE_SPACE : 0;
		if (name && !find_value(item, name, &value))
			continue;
		/* The heaps are the last profile. */
		profile->chosen = item;
		profile->value = value;
		return 0;
	}
	return name ? refuse_value(profile, name) : 0;
}

int orma_export_profile_read(struct orma_export_profile *profile,
			     const struct orma_trace_database *database,
			     const struct orma_export_options *options)
{
	*profile = (struct orma_export_profile){.chosen = NULL};
	int r = orma_cost_profiles_read(&profile->all, database);
	if (r == 0 && profile->all.count > 0)
		r = orma_stack_functions_read(&profile->functions, database);
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : choose(profile, options->value);
}

void orma_export_profile_done(struct orma_export_profile *profile)
{
	orma_cost_profiles_done(&profile->all);
	orma_stack_functions_done(&profile->functions);
}
