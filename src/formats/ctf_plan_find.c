/* SPDX-License-Identifier: Apache-2.0
 * ctf_plan_find.c - the fields that lengths and tags refer to.
 *
 * A path is absolute, as stream.event.header.id, or relative: then it begins at a field before this one, in the innermost
 * structure that has such a field, or else in the scopes that are read before.
 */
#include <string.h>

#include "base/macros.h"
#include "formats/ctf_plan.h"

static bool take_prefix(struct orma_str *path, const char *prefix)
{
	size_t size = strlen(prefix);
	if (path->size < size || memcmp(path->data, prefix, size) != 0)
		return false;
	*path = (struct orma_str){path->data + size, path->size - size};
	return true;
}

static struct orma_str take_word(struct orma_str *path)
{
	const char *point = memchr(path->data, '.', path->size);
	struct orma_str word = {path->data, point ? (size_t)(point - path->data) : path->size};
	size_t taken = point ? word.size + 1 : word.size;
	*path = (struct orma_str){path->data + taken, path->size - taken};
	return word;
}

static bool has_children(const struct orma_ctf_step *step)
{
	return step->op >= ORMA_CTF_BEGIN_STRUCT && step->op <= ORMA_CTF_BEGIN_ARRAY;
}

/* Finds a field among those of the structure that begins at a step. Returns its step, or 0. */
static uint32_t find_child(struct orma_ctf_planner *planner, const struct orma_ctf_plan *plan,
			   uint32_t parent, struct orma_str name)
{
	uint32_t i = parent + 1;
	while (i < plan->count) {
		const struct orma_ctf_step *step = &plan->steps[i];
		if (++planner->lookups > ORMA_CTF_LOOKUPS_MAX || step->op == ORMA_CTF_END ||
		    step->op == ORMA_CTF_END_ARRAY)
			return 0;
		if (step->op != ORMA_CTF_JUMP && orma_base_str_is_equal(step->raw_name, name))
			return i;
		/* A structure that is still open has no end yet. */
		if (has_children(step) && step->jump == 0)
			return 0;
		i = has_children(step) ? step->jump : i + 1;
	}
	return 0;
}

static struct orma_ctf_step *find_path(struct orma_ctf_planner *planner,
				       const struct orma_ctf_plan *plan, uint32_t parent,
				       struct orma_str path)
{
	do {
		parent = find_child(planner, plan, parent, take_word(&path));
	} while (parent > 0 && path.size > 0);
	struct orma_ctf_step *step = parent > 0 ? &plan->steps[parent] : NULL;
	return step && step->op <= ORMA_CTF_READ_BITS ? step : NULL;
}

static struct orma_ctf_step *find_in_scope(struct orma_ctf_planner *planner,
					   enum orma_ctf_scope scope, struct orma_str path)
{
	const struct orma_ctf_scope_steps *steps = &planner->scopes[scope];
	return steps->plan ? find_path(planner, steps->plan, steps->first, path) : NULL;
}

struct orma_ctf_step *orma_ctf_plan_find(struct orma_ctf_planner *planner,
					 const struct orma_ctf_plan *plan, const uint32_t *open,
					 uint32_t open_count, enum orma_ctf_scope scope,
					 struct orma_str path)
{
	static const struct {
		const char *prefix;
		enum orma_ctf_scope scope;
	} prefixes[] = {{"trace.packet.header.", ORMA_CTF_PACKET_HEADER},
			{"stream.packet.context.", ORMA_CTF_PACKET_CONTEXT},
			{"stream.event.header.", ORMA_CTF_EVENT_HEADER},
			{"stream.event.context.", ORMA_CTF_STREAM_CONTEXT},
			{"event.context.", ORMA_CTF_EVENT_CONTEXT},
			{"event.fields.", ORMA_CTF_EVENT_FIELDS}};
	struct orma_ctf_step *found = NULL;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(prefixes); i++) {
		struct orma_str rest = path;
		if (prefixes[i].scope <= scope && take_prefix(&rest, prefixes[i].prefix))
			return find_in_scope(planner, prefixes[i].scope, rest);
	}
	while (open_count-- > 0 && !found)
		found = find_path(planner, plan, open[open_count], path);
	while (scope-- > 0 && !found)
		found = find_in_scope(planner, scope, path);
	return found;
}
