/* SPDX-License-Identifier: Apache-2.0
 * ctf_track_class.c - finds the fields and the meaning of a class of events, once for each class.
 *
 * Owns nothing. Fields are recognized by the names that LTTng gives them. Events of function entry and exit become slices. The
 * functions tracef() and tracelog() write events with a message; such an event becomes an instant, whose name is the message. The
 * metadata is not trusted. A field is used only if it has the expected type.
 */
#include "formats/ctf_track_class.h"

#include <errno.h>
#include <string.h>

static bool is_step(const struct orma_ctf_step *step, const char *name)
{
	struct orma_str raw = step->raw_name;
	if (raw.size > 0 && raw.data[0] == '_')
		raw = (struct orma_str){raw.data + 1, raw.size - 1};
	return orma_base_str_is(raw, name);
}

/* A field of a scope itself, or NULL. */
static const struct orma_ctf_step *find_step(const struct orma_ctf_plan *plan, uint32_t begin,
					     uint32_t end, const char *name)
{
	for (uint32_t i = begin + 1; i < end;) {
		const struct orma_ctf_step *step = &plan->steps[i];
		bool has_children =
			step->op >= ORMA_CTF_BEGIN_STRUCT && step->op <= ORMA_CTF_BEGIN_ARRAY;
		if (step->op < ORMA_CTF_BEGIN_STRUCT && is_step(step, name))
			return step;
		i = has_children ? step->jump : i + 1;
	}
	return NULL;
}

static const struct orma_ctf_step *find_context(const struct orma_ctf_event *event,
						const char *name)
{
	const struct orma_ctf_step *step = find_step(&event->plan, 0, event->context_step, name);
	return step ? step : find_step(&event->plan, event->context_step, event->fields_step, name);
}

static const struct orma_ctf_step *find_field(const struct orma_ctf_event *event, const char *name)
{
	return find_step(&event->plan, event->fields_step, event->plan.count, name);
}

static void set_meaning(struct orma_ctf_track_class *class, const struct orma_ctf_event *event,
			struct orma_str provider, struct orma_str name)
{
	bool is_function = orma_base_str_is(provider, "lttng_ust_cyg_profile") ||
			   orma_base_str_is(provider, "lttng_ust_cyg_profile_fast");
	bool is_level = orma_base_str_is(provider, "lttng_ust_tracelog");
	if (is_function && orma_base_str_is(name, "func_entry"))
		class->text = find_field(event, "addr");
	if (class->text && class->text->op <= ORMA_CTF_READ_BITS)
		class->meaning = ORMA_CTF_IS_ENTRY;
	if (is_function && orma_base_str_is(name, "func_exit"))
		class->meaning = ORMA_CTF_IS_EXIT;
	if (!is_level && !orma_base_str_is(provider, "lttng_ust_tracef"))
		return;
	class->text = find_field(event, "msg");
	class->has_level = is_level;
	if (class->text &&
	    (class->text->op == ORMA_CTF_READ_TEXT || class->text->op == ORMA_CTF_READ_STRING))
		class->meaning = ORMA_CTF_IS_MESSAGE;
}

int orma_ctf_track_class_init(struct orma_ctf_track_class *class, struct orma_ctf_names *names,
			      const struct orma_ctf_event *event)
{
	struct orma_str name = event->declared->name, provider = {0};
	const char *colon = name.size > 0 ? memchr(name.data, ':', name.size) : NULL;
	if (colon) {
		provider = (struct orma_str){name.data, (size_t)(colon - name.data)};
		name = (struct orma_str){colon + 1, name.size - provider.size - 1};
	}
	*class = (struct orma_ctf_track_class){
		.pid = find_context(event, "vpid"),
		.tid = find_context(event, "vtid"),
		.thread_name = find_context(event, "procname"),
	};
	if (!class->pid)
		class->pid = find_context(event, "pid");
	if (!class->tid)
		class->tid = find_context(event, "tid");
	set_meaning(class, event, provider, name);
	class->category = provider.size > 0 ? orma_ctf_name_add(names, provider) : 0;
	class->name = orma_ctf_name_add(names, name);
	return class->name && (class->category || provider.size == 0) ? 0 : -ENOMEM;
}
