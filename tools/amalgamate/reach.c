/* SPDX-License-Identifier: Apache-2.0
 * reach.c - which items the public functions reach.
 *
 * The search begins with the public functions and the items that are kept anyway. An item reaches
 * every item that has one of its words as a name, if the word can mean that name. The search runs
 * once per build, the largest build first, and lowers the build of each item that it reaches.
 */
#include <string.h>

#include "amalgamate.h"
#include "base/assert.h"

/* Items that are reached; those from the search's position on have not been looked into. */
struct queue {
	struct am_item **items;
	size_t count, capacity;
	enum am_build build;
};

static bool is_reached(const struct queue *queue, const struct am_item *item)
{
	return item->build <= queue->build;
}

static void enqueue(struct queue *queue, struct am_item *item)
{
	if (is_reached(queue, item))
		return;
	item->build = queue->build;
	ORMA_ASSERT(queue->count < queue->capacity);
	queue->items[queue->count++] = item;
}

/* --- the words of an item --------------------------------------------------------------------- */

static bool begins(const struct am_token *token, const char *text)
{
	return token->size >= strlen(text) && memcmp(token->text, text, strlen(text)) == 0;
}

/*
 * Follows #ifdef or #ifndef ORMA_WITHOUT_SERVICE ... #else ... #endif in a function, with no other
 * conditional inside. `skips` tells whether what comes next is left out without the service.
 */
static void follow_branches(const struct am_token *directive, bool *is_inside, bool *skips)
{
	if (begins(directive, "#ifdef ORMA_WITHOUT_SERVICE") ||
	    begins(directive, "#ifndef ORMA_WITHOUT_SERVICE")) {
		*is_inside = true;
		*skips = begins(directive, "#ifndef");
	} else if (*is_inside && begins(directive, "#else")) {
		*skips = !*skips;
	} else if (*is_inside && begins(directive, "#endif")) {
		*is_inside = *skips = false;
	}
}

/* Calls `use` for each name in an item, also in its directives, but not for members behind a dot. */
static void for_each_word(const struct am_item *item, enum am_build build,
			  void (*use)(void *ctx, const struct am_item *item,
				      const struct am_token *word),
			  void *ctx)
{
	bool is_member = false, is_inside = false, skips = false;
	struct am_token token;

	for (const char *at = item->start; at < item->end; at = token.text + token.size) {
		token = am_lex(at, item->end);
		if (token.kind == AM_DIRECTIVE) {
			follow_branches(&token, &is_inside, &skips);
			token.size = 1;
		}
		if (build != AM_WHOLE && skips)
			continue;
		if (token.kind == AM_NAME && !is_member)
			use(ctx, item, &token);
		is_member = am_token_is(&token, ".") || am_token_is(&token, "->");
	}
}

/* --- the search ------------------------------------------------------------------------------- */

struct search {
	struct am_tree *tree;
	struct queue queue;
	bool all_reached; /* so far, of the words of a static assertion */
};

static void enqueue_name(struct search *search, const struct am_file *from,
			 const struct am_token *word)
{
	struct am_name *all = am_find(&search->tree->names, word->text, word->size);

	for (struct am_name *name = all; name; name = name->next_same) {
		if (!am_is_local(name, all) || name->item->file == from)
			enqueue(&search->queue, name->item);
	}
}

/* PREFIX##name in a macro may become any name with this prefix. */
static bool is_pasted(const struct am_item *item, const struct am_token *word)
{
	const char *next = word->text + word->size;

	return item->kind == AM_MACRO && word->size > 5 && item->end - next > 2 &&
	       memcmp(next, "##", 2) == 0 && strncasecmp(word->text, "orma_", 5) == 0;
}

static void enqueue_prefixed(struct search *search, const struct am_token *prefix)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&search->tree->names, &position)) != NULL) {
		for (struct am_name *name = slot->value; name; name = name->next_same) {
			if (strncmp(name->text, prefix->text, prefix->size) == 0)
				enqueue(&search->queue, name->item);
		}
	}
}

static void on_word(void *ctx, const struct am_item *item, const struct am_token *word)
{
	struct search *search = ctx;

	enqueue_name(search, item->file, word);
	if (is_pasted(item, word))
		enqueue_prefixed(search, word);
}

/* Whether the build has the public function. */
static bool has_function(struct am_tree *tree, const struct am_name *name, enum am_build build)
{
	const struct am_name *definition = am_find(&tree->names, name->text, strlen(name->text));

	while (definition && !(definition->is_external && definition->is_definite))
		definition = definition->next_same;
	return !definition || definition->item->file->build <= build;
}

/* Whether the search begins with this item. */
static bool is_root(struct am_tree *tree, const struct am_item *item, enum am_build build)
{
	for (const struct am_name *name = item->names; name; name = name->next) {
		if (name->is_external && am_find(&tree->exports, name->text, strlen(name->text)) &&
		    has_function(tree, name, build))
			return true;
	}
	return item->is_root;
}

/* --- static assertions ------------------------------------------------------------------------ */

static void on_assert_word(void *ctx, const struct am_item *item, const struct am_token *word)
{
	struct search *search = ctx;
	struct am_name *all = am_find(&search->tree->names, word->text, word->size);
	bool has_reached = !all;

	for (struct am_name *name = all; name; name = name->next_same)
		has_reached |= is_reached(&search->queue, name->item) &&
			       (!am_is_local(name, all) || name->item->file == item->file);
	search->all_reached &= has_reached;
}

/* An assertion is kept when everything is that it names. */
static void judge_assert(struct search *search, struct am_item *item)
{
	search->all_reached = true;
	for_each_word(item, search->queue.build, on_assert_word, search);
	if (search->all_reached)
		item->build = search->queue.build;
}

void am_find_reached(struct am_tree *tree, enum am_build build)
{
	struct search search = {.tree = tree, .queue.build = build};
	struct am_file *file;
	struct am_item *item;

	for (file = tree->first; file; file = file->next) {
		for (item = file->items; item; item = item->next)
			search.queue.capacity++;
	}
	search.queue.items = am_alloc(tree, search.queue.capacity * sizeof(item));
	for (file = tree->first; file; file = file->next) {
		for (item = file->items; item; item = item->next) {
			ORMA_ASSERT(item->build > build);
			if (is_root(tree, item, build))
				enqueue(&search.queue, item);
		}
	}
	for (size_t i = 0; i < search.queue.count; i++)
		for_each_word(search.queue.items[i], build, on_word, &search);
	for (file = tree->first; file; file = file->next) {
		for (item = file->items; item; item = item->next) {
			if (item->kind == AM_ASSERT)
				judge_assert(&search, item);
		}
	}
}
