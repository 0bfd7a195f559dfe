/* SPDX-License-Identifier: Apache-2.0
 * ctf_plan.c - makes plans of types.
 *
 * Types are a graph without cycles, since each is declared before it is used; but a type may use another many times, so
 * the number of steps has a limit. The walk has a stack of its own.
 */
#include "formats/ctf_plan.h"

#include <errno.h>

#include "base/error_message.h"
#include "base/macros.h"

struct open_type {
	const struct orma_ctf_type *type;
	uint32_t step, next_child, align, last_jump;
};

struct walk {
	struct orma_ctf_planner *planner;
	struct orma_ctf_plan *plan;
	enum orma_ctf_scope scope;
	struct open_type open[ORMA_CTF_NESTING_MAX];
	uint32_t open_steps[ORMA_CTF_NESTING_MAX];
	uint32_t depth;
	/* Where the alternatives of the variants begin that are open: the first step of each, by order. */
	uint32_t *targets;
	uint32_t target_count, target_capacity;
};

uint32_t orma_ctf_name_add(struct orma_ctf_names *names, struct orma_str name)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);
	/* Names of one hash but different text get numbers of their own. */
	for (;; hash++) {
		uintptr_t number = (uintptr_t)orma_base_map_get(&names->by_hash, hash);
		if (number == 0)
			break;
		if (orma_base_str_is_equal(names->list.items[number - 1], name))
			return (uint32_t)number;
	}
	struct orma_str *item =
		orma_ctf_list_add(names->arena, &names->list.items, &names->list.count,
				  &names->list.capacity, sizeof(*item));
	if (!item ||
	    orma_base_map_put(&names->by_hash, hash, (void *)(uintptr_t)names->list.count) < 0)
		return 0;
	*item = name;
	return names->list.count;
}

static int fail(struct walk *walk, const char *problem)
{
	return orma_base_error_set(walk->planner->reterr, -EBADMSG, "%s", problem);
}

static int fail_at(struct walk *walk, const char *problem, struct orma_str name)
{
	return orma_base_error_set(walk->planner->reterr, -EBADMSG, "%s: %.*s", problem,
				   (int)ORMA_MIN(name.size, (size_t)80), name.data);
}

static int add_step(struct walk *walk, enum orma_ctf_op op, const struct orma_ctf_type *type,
		    struct orma_ctf_step **ret)
{
	struct orma_ctf_plan *plan = walk->plan;
	if (plan->count == ORMA_CTF_STEPS_MAX ||
	    walk->planner->step_count++ == ORMA_CTF_ALL_STEPS_MAX)
		return fail(walk, "the types are too large");
	struct orma_ctf_step *step = orma_ctf_list_add(
		walk->planner->arena, &plan->steps, &plan->count, &plan->capacity, sizeof(*step));
	if (!step)
		return -ENOMEM;
	bool is_native = !type || type->byte_order == ORMA_CTF_NATIVE;
	*step = (struct orma_ctf_step){.op = (uint8_t)op,
				       .slot = ORMA_CTF_NO_SLOT,
				       .from = ORMA_CTF_NO_SLOT,
				       .type = type};
	step->is_big_endian = (is_native ? walk->planner->metadata->byte_order
					 : type->byte_order) == ORMA_CTF_BIG_ENDIAN;
	*ret = step;
	return 0;
}

/* Tracers put an underscore before names, lest they be keywords. */
static int set_name(struct walk *walk, struct orma_ctf_step *step, struct orma_str name)
{
	step->raw_name = name;
	if (name.size == 0)
		return 0;
	if (name.size > 1 && name.data[0] == '_')
		name = (struct orma_str){name.data + 1, name.size - 1};
	step->name = orma_ctf_name_add(walk->planner->names, name);
	return step->name ? 0 : -ENOMEM;
}

static bool is_character(const struct orma_ctf_type *type)
{
	return type->kind == ORMA_CTF_INTEGER && type->bits == 8 && type->align % 8 == 0 &&
	       type->is_text;
}

/* Finds the slot of the field that a length or a tag refers to. */
static int set_source(struct walk *walk, struct orma_ctf_step *step, struct orma_str path,
		      const struct orma_ctf_type **ret_type)
{
	struct orma_ctf_step *source = orma_ctf_plan_find(
		walk->planner, walk->plan, walk->open_steps, walk->depth, walk->scope, path);
	if (!source)
		return fail_at(walk, "no field before it is the length or tag", path);
	if (source->slot == ORMA_CTF_NO_SLOT) {
		/* A field that all events share keeps its slot; the other slots are used again for the
		 * next class of events. */
		bool is_own = walk->scope >= ORMA_CTF_STREAM_CONTEXT &&
			      source >= walk->plan->steps &&
			      source < walk->plan->steps + walk->plan->count;
		uint32_t *count = is_own ? &walk->planner->own_slots : &walk->planner->shared_slots;
		if (*count == ORMA_CTF_SLOTS_MAX)
			return fail_at(walk, "there are too many lengths and tags", path);
		source->slot = (uint16_t)((*count)++ + (is_own ? ORMA_CTF_SLOTS_MAX : 0u));
	}
	step->from = source->slot;
	*ret_type = source->type;
	if (step->op != ORMA_CTF_BEGIN_VARIANT && source->raw_name.size > 1 &&
	    memcmp(source->raw_name.data, "__", 2) == 0)
		source->roles |= ORMA_CTF_IS_LENGTH;
	return 0;
}

static int set_length(struct walk *walk, struct orma_ctf_step *step)
{
	const struct orma_ctf_type *source = NULL;
	step->has_length = step->type->kind == ORMA_CTF_ARRAY;
	step->length = step->type->length;
	return step->has_length ? 0 : set_source(walk, step, step->type->reference, &source);
}

static void widen_parent(struct walk *walk, uint32_t align)
{
	if (walk->depth > 0 && walk->open[walk->depth - 1].type->kind != ORMA_CTF_VARIANT)
		walk->open[walk->depth - 1].align =
			ORMA_MAX(walk->open[walk->depth - 1].align, align);
}

static int add_leaf(struct walk *walk, struct orma_str name, const struct orma_ctf_type *type)
{
	bool is_text = type->kind >= ORMA_CTF_ARRAY;
	uint32_t align = is_text ? type->element->align : type->align;
	enum orma_ctf_op op =
		is_text                         ? ORMA_CTF_READ_TEXT
		: type->kind == ORMA_CTF_STRING ? ORMA_CTF_READ_STRING
		: type->kind == ORMA_CTF_FLOAT  ? ORMA_CTF_READ_FLOAT
		: type->bits % 8 == 0 && align % 8 == 0 && (type->bits & (type->bits - 1)) == 0
			? ORMA_CTF_READ_BYTES
			: ORMA_CTF_READ_BITS;
	struct orma_ctf_step *step = NULL;
	int r = add_step(walk, op, type, &step);
	if (r < 0 || !step)
		return r;
	step->bits = type->bits;
	step->is_signed = type->is_signed;
	step->align_mask = align - 1;
	if (walk->scope == ORMA_CTF_EVENT_HEADER && op <= ORMA_CTF_READ_BITS) {
		if (orma_base_str_is(name, "id"))
			step->roles |= ORMA_CTF_IS_ID;
		if (type->clock.size > 0 || orma_base_str_is(name, "timestamp"))
			step->roles |= ORMA_CTF_IS_TIME;
	}
	widen_parent(walk, align);
	r = set_name(walk, step, name);
	return r == 0 && is_text ? set_length(walk, step) : r;
}

static int add_choices(struct walk *walk, struct orma_ctf_step *step,
		       const struct orma_ctf_type *tag)
{
	const struct orma_ctf_type *variant = step->type;
	if (tag->kind != ORMA_CTF_ENUM)
		return fail_at(walk, "a tag is not an enumeration", variant->reference);
	struct orma_ctf_choice *choices = NULL;
	uint32_t capacity = 0, count = 0;
	for (uint32_t i = 0; i < tag->label_count; i++) {
		uint32_t field = 0;
		while (field < variant->field_count &&
		       !orma_base_str_is_equal(variant->fields[field].name, tag->labels[i].name))
			field++;
		walk->planner->lookups += field;
		if (field == variant->field_count)
			continue;
		if (count == ORMA_CTF_CHOICES_MAX || walk->planner->lookups > ORMA_CTF_LOOKUPS_MAX)
			return fail_at(walk, "a variant has too many alternatives",
				       variant->reference);
		struct orma_ctf_choice *choice = orma_ctf_list_add(
			walk->planner->arena, &choices, &count, &capacity, sizeof(*choice));
		if (!choice)
			return -ENOMEM;
		/* The number of the alternative becomes its step when the variant ends. */
		*choice =
			(struct orma_ctf_choice){tag->labels[i].first, tag->labels[i].last, field};
	}
	step->choices = choices;
	step->choice_count = count;
	step->is_signed = tag->is_signed;
	return 0;
}

static int open_type(struct walk *walk, struct orma_str name, const struct orma_ctf_type *type)
{
	enum orma_ctf_op op = type->kind == ORMA_CTF_STRUCT    ? ORMA_CTF_BEGIN_STRUCT
			      : type->kind == ORMA_CTF_VARIANT ? ORMA_CTF_BEGIN_VARIANT
							       : ORMA_CTF_BEGIN_ARRAY;
	const struct orma_ctf_type *tag = NULL;
	if (walk->depth == ORMA_CTF_NESTING_MAX)
		return fail_at(walk, "the types are nested too deeply", name);
	struct orma_ctf_step *step = NULL;
	int r = add_step(walk, op, type, &step);
	if (r < 0 || !step)
		return r;
	uint32_t idx = walk->plan->count - 1;
	r = set_name(walk, step, name);
	if (r == 0 && op == ORMA_CTF_BEGIN_ARRAY)
		r = set_length(walk, step);
	if (r == 0 && op == ORMA_CTF_BEGIN_VARIANT)
		r = type->reference.size > 0 ? set_source(walk, step, type->reference, &tag)
					     : fail_at(walk, "a variant has no tag", name);
	if (r == 0 && tag)
		r = add_choices(walk, step, tag);
	walk->open_steps[walk->depth] = idx;
	walk->open[walk->depth++] =
		(struct open_type){.type = type,
				   .step = idx,
				   .align = type->kind == ORMA_CTF_STRUCT ? type->align : 1};
	return r;
}

static int add_type(struct walk *walk, struct orma_str name, const struct orma_ctf_type *type)
{
	bool is_leaf = type->kind <= ORMA_CTF_STRING ||
		       (type->kind >= ORMA_CTF_ARRAY && is_character(type->element));
	return is_leaf ? add_leaf(walk, name, type) : open_type(walk, name, type);
}

/* Adds the jump behind an alternative; its target is the jump before it, until the variant ends. */
static int add_jump(struct walk *walk, struct open_type *top)
{
	struct orma_ctf_step *jump = NULL;
	int r = add_step(walk, ORMA_CTF_JUMP, NULL, &jump);
	if (r < 0 || !jump)
		return r;
	jump->jump = top->last_jump;
	top->last_jump = walk->plan->count - 1;
	return 0;
}

static int note_target(struct walk *walk)
{
	uint32_t *target =
		orma_ctf_list_add(walk->planner->arena, &walk->targets, &walk->target_count,
				  &walk->target_capacity, sizeof(*target));
	if (!target)
		return -ENOMEM;
	*target = walk->plan->count;
	return 0;
}

static void end_variant(struct walk *walk, const struct open_type *top, uint32_t end)
{
	struct orma_ctf_step *steps = walk->plan->steps, *begin = &steps[top->step];
	uint32_t first = walk->target_count - top->type->field_count;
	/* The choices are the plan's, and this is where they are made. */
	struct orma_ctf_choice *choices = (struct orma_ctf_choice *)(uintptr_t)begin->choices;
	for (uint32_t i = 0; walk->targets && i < begin->choice_count; i++)
		choices[i].target = walk->targets[first + choices[i].target];
	walk->target_count = first;
	for (uint32_t i = top->last_jump, before; i > 0; i = before) {
		before = steps[i].jump;
		steps[i].jump = end;
	}
}

static int close_type(struct walk *walk)
{
	struct open_type top = walk->open[walk->depth - 1];
	bool is_array = top.type->kind >= ORMA_CTF_ARRAY;
	struct orma_ctf_step *end = NULL;
	int r = add_step(walk, is_array ? ORMA_CTF_END_ARRAY : ORMA_CTF_END, top.type, &end);
	if (r < 0 || !end)
		return r;
	uint32_t idx = walk->plan->count - 1;
	struct orma_ctf_step *begin = &walk->plan->steps[top.step];
	end->jump = top.step + 1;
	begin->jump = idx + 1;
	begin->align_mask = top.type->kind == ORMA_CTF_VARIANT ? 0 : top.align - 1;
	if (top.type->kind == ORMA_CTF_VARIANT)
		end_variant(walk, &top, idx);
	walk->depth--;
	widen_parent(walk, begin->align_mask + 1);
	return 0;
}

static int walk_on(struct walk *walk)
{
	struct open_type *top = &walk->open[walk->depth - 1];
	uint32_t child = top->next_child++;
	int r = 0;
	if (top->type->kind >= ORMA_CTF_ARRAY)
		return child == 0 ? add_type(walk, (struct orma_str){0}, top->type->element)
				  : close_type(walk);
	if (top->type->kind == ORMA_CTF_VARIANT && child > 0)
		r = add_jump(walk, top);
	if (r < 0 || child == top->type->field_count)
		return r < 0 ? r : close_type(walk);
	if (top->type->kind == ORMA_CTF_VARIANT)
		r = note_target(walk);
	return r < 0 ? r
		     : add_type(walk, top->type->fields[child].name, top->type->fields[child].type);
}

int orma_ctf_plan_add(struct orma_ctf_planner *planner, struct orma_ctf_plan *plan,
		      enum orma_ctf_scope scope, const struct orma_ctf_type *type)
{
	struct walk walk = {.planner = planner, .plan = plan, .scope = scope};
	planner->scopes[scope] = (struct orma_ctf_scope_steps){0};
	if (!type)
		return 0;
	if (type->kind != ORMA_CTF_STRUCT)
		return fail(&walk, "the type of a scope is not a structure");
	planner->scopes[scope] = (struct orma_ctf_scope_steps){plan, plan->count};
	int r = add_type(&walk, (struct orma_str){0}, type);
	while (r == 0 && walk.depth > 0)
		r = walk_on(&walk);
	return r;
}

/* The last label that begins at or before a value, when the labels are in order. */
static uint32_t search_label(const struct orma_ctf_type *type, uint64_t value)
{
	uint32_t low = 0, high = type->label_count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (orma_ctf_is_less(type, value, type->labels[middle].first))
			high = middle;
		else
			low = middle;
	}
	return low;
}

struct orma_str orma_ctf_label_of(const struct orma_ctf_type *type, uint64_t value)
{
	uint32_t i = type->has_ordered_labels ? search_label(type, value) : 0;
	uint32_t end = type->has_ordered_labels ? i + 1 : ORMA_CTF_OVERLAPPING_MAX;
	for (; i < end && i < type->label_count; i++)
		if (orma_ctf_is_in(type, value, type->labels[i].first, type->labels[i].last))
			return type->labels[i].name;
	return ORMA_STR("");
}
