/* SPDX-License-Identifier: Apache-2.0
 * amalgamate.c - amalgamate ROOT VERSION EXPORTS SOURCES OUT: the library as orma.h and orma.c.
 *
 * The public headers become orma.h as they are. The sources, in the order of the list, and each
 * header before its first use, become orma.c: everything that is not public is static there, what
 * no public function reaches is left out, and names that are private to one source, and would meet
 * another's, get their file's name in front. Sources that the list calls cold ask for small code.
 * What is reached only from sources that the list calls the service stands between #ifndef
 * ORMA_WITHOUT_SERVICE and #endif, and so does in functions what reaches them from elsewhere.
 *
 * Invariant: the same tree gives the same bytes, wherever it lies; each name is defined once.
 * Rejected: plain concatenation (static functions of the same name meet, and every user compiles
 * the tables of messages that the library never touches); making every static name unique in the
 * tree (a rule for a hundred files to please a generated one).
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgamate.h"
#include "base/fd.h"

#define INCLUDE_DEPTH_MAX 32

struct output {
	struct am_tree *tree;
	struct orma_buf body;
	struct orma_map system; /* headers that were included already */
	struct orma_buf system_names;
	bool is_guarded; /* inside #ifndef ORMA_WITHOUT_SERVICE */
};

_Noreturn void am_fail(const char *format, ...)
{
	va_list args;

	fputs("amalgamate: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void *am_alloc(struct am_tree *tree, size_t size)
{
	void *memory = orma_base_arena_alloc(&tree->arena, size);

	if (!memory)
		am_fail("no memory");
	return memory;
}

const char *am_copy(struct am_tree *tree, const char *text, size_t size)
{
	char *copy = am_alloc(tree, size + 1);

	memcpy(copy, text, size);
	return copy;
}

/* Two names with one hash of 64 bits would be taken for one; the tree has 10,000. */
void *am_find(const struct orma_map *map, const char *text, size_t size)
{
	return orma_base_map_get(map, orma_base_fnv1a(ORMA_FNV1A_INIT, text, size));
}

void am_put(struct orma_map *map, const char *text, size_t size, void *value)
{
	if (orma_base_map_put(map, orma_base_fnv1a(ORMA_FNV1A_INIT, text, size), value) < 0)
		am_fail("no memory");
}

static void put(struct orma_buf *buf, const char *text, size_t size)
{
	if (orma_base_buf_append(buf, text, size) < 0)
		am_fail("no memory");
}

static void put_text(struct orma_buf *buf, const char *text)
{
	put(buf, text, strlen(text));
}

static const char *join(struct am_tree *tree, const char *first, const char *second,
			const char *third)
{
	struct orma_buf buf = {0};
	const char *text;

	put_text(&buf, first);
	put_text(&buf, second);
	put_text(&buf, third);
	text = am_copy(tree, (const char *)buf.data, buf.size);
	orma_base_buf_done(&buf);
	return text;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_all(const char *path, struct orma_buf *out)
{
	char chunk[4096];
	size_t size;
	FILE *file = fopen(path, "rbe");

	if (!file)
		am_fail("%s: %s", path, strerror(errno));
	while ((size = fread(chunk, 1, sizeof(chunk), file)) > 0)
		put(out, chunk, size);
	if (ferror(file))
		am_fail("%s: cannot be read", path);
	fclose(file);
}

static struct am_file *load(struct am_tree *tree, const char *path)
{
	struct am_file *file = am_find(&tree->files, path, strlen(path));
	struct orma_buf text = {0};

	if (file)
		return file;
	file = am_alloc(tree, sizeof(*file));
	file->path = path;
	file->is_source = strcmp(path + strlen(path) - 2, ".c") == 0;
	read_all(join(tree, tree->root, "/", path), &text);
	file->text = am_copy(tree, (const char *)text.data, text.size);
	file->end = file->text + text.size;
	orma_base_buf_done(&text);
	am_put(&tree->files, path, strlen(path), file);
	if (tree->last)
		tree->last->next = file;
	else
		tree->first = file;
	tree->last = file;
	am_split(tree, file);
	return file;
}

/* What the directive includes: the path of a file of the tree, or NULL with *ret_system. */
static const char *included(struct am_tree *tree, const struct am_item *item,
			    const char **ret_system)
{
	const char *open = memchr(item->start, '"', (size_t)(item->end - item->start));
	const char *close;

	*ret_system = NULL;
	if (open) {
		close = memchr(open + 1, '"', (size_t)(item->end - open - 1));
		return join(tree, "src/", am_copy(tree, open + 1, (size_t)(close - open - 1)), "");
	}
	open = memchr(item->start, '<', (size_t)(item->end - item->start));
	close = open ? memchr(open, '>', (size_t)(item->end - open)) : NULL;
	if (!close)
		am_fail("%s: what is %.*s?", item->file->path, (int)(item->end - item->start),
			item->start);
	*ret_system = am_copy(tree, open + 1, (size_t)(close - open - 1));
	return strncmp(*ret_system, "orma/", 5) == 0 ? join(tree, "include/", *ret_system, "")
						     : NULL;
}

/* All that is included from here on; files that this appends are visited, too. */
static void load_includes(struct am_tree *tree, struct am_file *file)
{
	const char *system;

	for (; file; file = file->next) {
		for (struct am_item *item = file->items; item; item = item->next) {
			const char *path =
				item->kind == AM_INCLUDE ? included(tree, item, &system) : NULL;

			if (path)
				load(tree, path);
		}
	}
}

/* Lines of a list, but for comments and empty ones. */
static void each_line(struct am_tree *tree, const char *path,
		      void (*fn)(struct am_tree *tree, const char *line))
{
	struct orma_buf text = {0};
	const char *at, *end;

	read_all(path, &text);
	for (at = am_copy(tree, (const char *)text.data, text.size); *at;
	     at = *end ? end + 1 : end) {
		end = at + strcspn(at, "\n");
		if (*at != '#' && end > at)
			fn(tree, am_copy(tree, at, (size_t)(end - at)));
	}
	orma_base_buf_done(&text);
}

static void add_export(struct am_tree *tree, const char *name)
{
	am_put(&tree->exports, name, strlen(name), (void *)name);
}

/* "src/a/b.c", behind it what is true of it: " cold", " service". */
static void add_source(struct am_tree *tree, const char *line)
{
	size_t size = strcspn(line, " ");
	struct am_file *file = load(tree, am_copy(tree, line, size));

	file->is_cold = strstr(line + size, " cold") != NULL;
	file->is_service = strstr(line + size, " service") != NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

/* A source's own: nobody else can mean it. (A struct may be known to all and defined in one.) */
static bool is_local(const struct am_name *name, const struct am_name *all)
{
	if (!name->item->file->is_source || name->is_external)
		return false;
	for (; name->kind == AM_TAG && all; all = all->next_same) {
		if (all->kind == AM_TAG && !all->item->file->is_source)
			return false;
	}
	return true;
}

/* src/host/host_clone.c and send -> host_clone_send */
static const char *qualify(struct am_tree *tree, const struct am_file *file, const char *name)
{
	const char *base = strrchr(file->path, '/') + 1, *folder = base - 1;
	size_t folder_size;
	struct orma_buf buf = {0};
	const char *result;

	while (folder[-1] != '/')
		folder--;
	folder_size = (size_t)(base - 1 - folder);
	if (strncmp(base, folder, folder_size) != 0) {
		put(&buf, folder, folder_size);
		put_text(&buf, "_");
	}
	put(&buf, base, strlen(base) - 2);
	put_text(&buf, "_");
	if (isupper((unsigned char)*name)) {
		for (size_t i = 0; i < buf.size; i++)
			buf.data[i] = (uint8_t)toupper(buf.data[i]);
	}
	put_text(&buf, name);
	result = am_copy(tree, (const char *)buf.data, buf.size);
	orma_base_buf_done(&buf);
	return result;
}

static void rename_one(struct am_tree *tree, struct am_name *name)
{
	struct am_rename *rename = am_alloc(tree, sizeof(*rename));
	struct am_file *file = name->item->file;

	rename->old_text = name->text;
	rename->kind = name->kind;
	rename->new_text = qualify(tree, file, name->text);
	if (am_find(&tree->names, rename->new_text, strlen(rename->new_text)))
		am_fail("%s: %s would become %s, which there is already", file->path, name->text,
			rename->new_text);
	am_put(&file->renames, name->text, strlen(name->text), rename);
}

/* Names of one word may also meet a system header that their file does not include. */
static bool has_to_change(const struct am_name *name, const struct am_name *all)
{
	if (!is_local(name, all))
		return false;
	if (!strchr(name->text, '_') && islower((unsigned char)*name->text) &&
	    name->kind == AM_ORDINARY)
		return true;
	for (; all; all = all->next_same) {
		if (all->item->file != name->item->file && all->kind == name->kind)
			return true;
	}
	return false;
}

static void check_definitions(const struct am_name *all)
{
	const struct am_name *first = NULL;

	for (const struct am_name *name = all; name; name = name->next_same) {
		if (!name->is_definite || is_local(name, all))
			continue;
		if (first && first->kind == name->kind && first->item != name->item)
			am_fail("%s is defined in %s and in %s", name->text, name->item->file->path,
				first->item->file->path);
		first = name;
	}
}

static void resolve_names(struct am_tree *tree)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&tree->names, &position)) != NULL) {
		check_definitions(slot->value);
		for (struct am_name *name = slot->value; name; name = name->next_same) {
			if (has_to_change(name, slot->value) &&
			    !am_find(&name->item->file->renames, name->text, strlen(name->text)))
				rename_one(tree, name);
		}
	}
}

/* --- what is reached -------------------------------------------------------------------------- */

struct queue {
	struct am_item **items;
	size_t count, capacity;
	bool is_lean;
};

/* The tree is walked twice: for all of orma.c, and for what is left of it without the service. */
static bool is_reached(const struct queue *queue, const struct am_item *item)
{
	return queue->is_lean ? item->is_lean : item->is_kept;
}

static void keep(struct queue *queue, struct am_item *item)
{
	if (is_reached(queue, item))
		return;
	if (queue->is_lean)
		item->is_lean = true;
	else
		item->is_kept = true;
	if (queue->count == queue->capacity)
		am_fail("more items than there are");
	queue->items[queue->count++] = item;
}

static void keep_word(struct am_tree *tree, struct queue *queue, const struct am_file *from,
		      const struct am_token *word)
{
	struct am_name *all = am_find(&tree->names, word->text, word->size), *name;

	for (name = all; name; name = name->next_same) {
		if (!is_local(name, all) || name->item->file == from)
			keep(queue, name->item);
	}
}

/* PREFIX##name in a macro may become any name of that prefix. */
static bool is_pasted(const struct am_item *item, const struct am_token *word)
{
	const char *next = word->text + word->size;

	return item->kind == AM_MACRO && word->size > 5 && item->end - next > 2 &&
	       memcmp(next, "##", 2) == 0 && strncasecmp(word->text, "orma_", 5) == 0;
}

static void keep_prefixed(struct am_tree *tree, struct queue *queue, const struct am_token *prefix)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&tree->names, &position)) != NULL) {
		for (struct am_name *name = slot->value; name; name = name->next_same) {
			if (strncmp(name->text, prefix->text, prefix->size) == 0)
				keep(queue, name->item);
		}
	}
}

static bool begins(const struct am_token *token, const char *text)
{
	return token->size >= strlen(text) && memcmp(token->text, text, strlen(text)) == 0;
}

/*
 * Whether a directive of a function begins what a library without the service does not have:
 * #ifdef or #ifndef ORMA_WITHOUT_SERVICE ... #else ... #endif, with no other conditional inside.
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

/* The text of an item, word for word; directives are looked into. */
static void
each_word(const struct am_item *item, bool is_lean,
	  void (*fn)(void *ctx, const struct am_item *item, const struct am_token *word), void *ctx)
{
	bool is_member = false, is_inside = false, skips = false;
	struct am_token token;

	for (const char *at = item->start; at < item->end; at = token.text + token.size) {
		token = am_lex(at, item->end);
		if (token.kind == AM_DIRECTIVE) {
			follow_branches(&token, &is_inside, &skips);
			token.size = 1;
		}
		if (is_lean && skips)
			continue;
		if (token.kind == AM_NAME && !is_member)
			fn(ctx, item, &token);
		is_member = am_token_is(&token, ".") || am_token_is(&token, "->");
	}
}

struct reach {
	struct am_tree *tree;
	struct queue queue;
	bool all_kept;
};

static void on_word(void *ctx, const struct am_item *item, const struct am_token *word)
{
	struct reach *reach = ctx;

	keep_word(reach->tree, &reach->queue, item->file, word);
	if (is_pasted(item, word))
		keep_prefixed(reach->tree, &reach->queue, word);
}

static void on_assert_word(void *ctx, const struct am_item *item, const struct am_token *word)
{
	struct reach *reach = ctx;
	struct am_name *all = am_find(&reach->tree->names, word->text, word->size), *name;
	bool has_kept = !all;

	for (name = all; name; name = name->next_same)
		has_kept |= is_reached(&reach->queue, name->item) &&
			    (!is_local(name, all) || name->item->file == item->file);
	reach->all_kept &= has_kept;
}

static bool is_of_service(struct am_tree *tree, const struct am_name *name)
{
	const struct am_name *each = am_find(&tree->names, name->text, strlen(name->text));

	while (each && !(each->is_external && each->is_definite))
		each = each->next_same;
	return each && each->item->file->is_service;
}

static bool is_wanted(struct am_tree *tree, const struct am_item *item, bool is_lean)
{
	for (const struct am_name *name = item->names; name; name = name->next) {
		if (name->is_external && am_find(&tree->exports, name->text, strlen(name->text)) &&
		    !(is_lean && is_of_service(tree, name)))
			return true;
	}
	return item->is_root;
}

/* An assertion stays when all that it speaks of does. */
static void judge_assert(struct reach *reach, struct am_item *item)
{
	bool is_lean = reach->queue.is_lean;

	reach->all_kept = true;
	each_word(item, is_lean, on_assert_word, reach);
	if (is_lean)
		item->is_lean = reach->all_kept;
	else
		item->is_kept = reach->all_kept;
}

static void find_reached(struct am_tree *tree, bool is_lean)
{
	struct reach reach = {.tree = tree, .queue.is_lean = is_lean};
	struct am_file *file;
	struct am_item *item;

	for (file = tree->first; file; file = file->next) {
		for (item = file->items; item; item = item->next)
			reach.queue.capacity++;
	}
	reach.queue.items = am_alloc(tree, reach.queue.capacity * sizeof(item));
	for (file = tree->first; file; file = file->next) {
		for (item = file->items; item; item = item->next) {
			if (is_wanted(tree, item, is_lean))
				keep(&reach.queue, item);
		}
	}
	for (size_t i = 0; i < reach.queue.count; i++)
		each_word(reach.queue.items[i], is_lean, on_word, &reach);
	for (file = tree->first; file; file = file->next) {
		for (item = file->items; item; item = item->next) {
			if (item->kind == AM_ASSERT)
				judge_assert(&reach, item);
		}
	}
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Where in an item a word stands: members and what follows a dot are not the file's names. */
struct place {
	struct am_token before;
	int depth, members_depth; /* members_depth: of the struct's braces, 0 = not inside of one */
	int brackets;
};

static void track_place(struct place *place, const struct am_token *token, bool opens_members)
{
	if (am_token_is(token, "{")) {
		place->depth++;
		if (opens_members && !place->members_depth)
			place->members_depth = place->depth;
	} else if (am_token_is(token, "}")) {
		if (place->depth == place->members_depth)
			place->members_depth = 0;
		place->depth--;
	}
	place->brackets += am_token_is(token, "[");
	place->brackets -= am_token_is(token, "]");
}

static const char *new_name(const struct am_file *file, const struct am_token *token,
			    const struct place *place)
{
	const struct am_rename *rename = am_find(&file->renames, token->text, token->size);
	bool is_tag = am_token_is(&place->before, "struct") ||
		      am_token_is(&place->before, "union") || am_token_is(&place->before, "enum");

	if (!rename || is_tag != (rename->kind == AM_TAG))
		return NULL;
	if (am_token_is(&place->before, ".") || am_token_is(&place->before, "->"))
		return NULL;
	if (!is_tag && place->members_depth && !place->brackets)
		return NULL;
	return rename->new_text;
}

static void put_code(struct orma_buf *out, const struct am_item *item, bool skip_extern)
{
	struct place place = {.before = {.text = ""}};
	struct am_token token, two_before = {.text = ""};
	const char *done = item->start, *at, *name;

	for (at = item->start; at < item->end; at = token.text + token.size) {
		token = am_lex(at, item->end);
		if (token.kind == AM_COMMENT)
			continue;
		if (token.kind == AM_DIRECTIVE)
			token.size = 1;
		if (skip_extern && am_token_is(&token, "extern")) {
			put(out, done, (size_t)(token.text - done));
			done = am_lex(token.text + token.size, item->end).text;
			skip_extern = false;
		}
		name = token.kind == AM_NAME ? new_name(item->file, &token, &place) : NULL;
		if (name) {
			put(out, done, (size_t)(token.text - done));
			put_text(out, name);
			done = token.text + token.size;
		}
		track_place(&place, &token,
			    am_token_is(&place.before, "struct") ||
				    am_token_is(&place.before, "union") ||
				    am_token_is(&two_before, "struct") ||
				    am_token_is(&two_before, "union"));
		two_before = place.before;
		place.before = token;
	}
	put(out, done, (size_t)(item->end - done));
	put_text(out, "\n");
}

/* What other files see of a file is seen by nobody outside of orma.c. */
static bool becomes_static(struct am_tree *tree, const struct am_item *item)
{
	for (const struct am_name *name = item->names; name; name = name->next) {
		if (name->is_external && !am_find(&tree->exports, name->text, strlen(name->text)))
			return true;
	}
	return false;
}

static void put_item(struct output *output, const struct am_item *item)
{
	bool is_static = item->kind == AM_DECLARATION && becomes_static(output->tree, item);

	put_text(&output->body, "\n");
	put(&output->body, item->comment, (size_t)(item->start - item->comment));
	if (is_static)
		put_text(&output->body, "static ");
	put_code(&output->body, item, is_static);
}

/* The file's own comment, without the line that orma.c has once. */
static void put_preface(struct output *output, const struct am_file *file)
{
	static const char license[] = "/* SPDX-License-Identifier: Apache-2.0\n";
	const struct am_item *item = file->items;

	put_text(&output->body, "\n/* ");
	for (size_t i = strlen(file->path); i < 92; i++)
		put_text(&output->body, "-");
	put_text(&output->body, " ");
	put_text(&output->body, file->path);
	put_text(&output->body, " */\n");
	if (!item || item->kind != AM_PREFACE)
		return;
	if (strncmp(item->start, license, strlen(license)) != 0)
		am_fail("%s: begins without %s", file->path, license);
	put_text(&output->body, "/*\n");
	put(&output->body, item->start + strlen(license),
	    (size_t)(item->end - item->start) - strlen(license));
	put_text(&output->body, "\n");
}

static void put_include(struct output *output, const char *system)
{
	if (am_find(&output->system, system, strlen(system)))
		return;
	am_put(&output->system, system, strlen(system), (void *)system);
	put_text(&output->system_names, "#include <");
	put_text(&output->system_names, system);
	put_text(&output->system_names, ">\n");
}

static bool has_kept(const struct am_file *file)
{
	for (const struct am_item *item = file->items; item; item = item->next) {
		if (item->is_kept)
			return true;
	}
	return false;
}

static bool has_lean(const struct am_file *file)
{
	for (const struct am_item *item = file->items; item; item = item->next) {
		if (item->is_kept && item->is_lean)
			return true;
	}
	return false;
}

/* What follows is, or is not, there without the service. */
static void put_border(struct output *output, bool needs_service)
{
	if (output->is_guarded != needs_service)
		put_text(&output->body, needs_service ? "\n#ifndef ORMA_WITHOUT_SERVICE\n"
						      : "\n#endif /* ORMA_WITHOUT_SERVICE */\n");
	output->is_guarded = needs_service;
}

/* What runs rarely is to be small, and soon compiled. */
static const char cold_begin[] =
	"\n#ifdef __clang__\n"
	"#pragma clang attribute push(__attribute__((minsize)), apply_to = "
	"function)\n"
	"#elif defined(__OPTIMIZE__)\n"
	"#pragma GCC push_options\n"
	"#pragma GCC optimize(\"Os\")\n"
	"#endif\n";
static const char cold_end[] = "\n#ifdef __clang__\n"
			       "#pragma clang attribute pop\n"
			       "#elif defined(__OPTIMIZE__)\n"
			       "#pragma GCC pop_options\n"
			       "#endif\n";

/* Whether there is code to be small; a region without any is one that clang warns about. */
static bool is_cold_code(const struct am_file *file, bool is_lean)
{
	for (const struct am_item *item = file->items; item && file->is_cold; item = item->next) {
		for (const struct am_name *name = item->names; name; name = name->next) {
			if (item->is_kept && (item->is_lean || !is_lean) && item->is_function &&
			    name->is_definite)
				return true;
		}
	}
	return false;
}

static void put_file(struct output *output, struct am_file *file, unsigned depth)
{
	const char *system;
	bool is_reached = has_kept(file), is_cold = is_cold_code(file, false);
	bool is_lean = is_cold ? is_cold_code(file, true) : has_lean(file);

	if (file->is_emitted || strncmp(file->path, "include/", 8) == 0)
		return;
	if (depth > INCLUDE_DEPTH_MAX)
		am_fail("%s: includes nested too deeply", file->path);
	file->is_emitted = true;
	for (const struct am_item *item = file->items; item; item = item->next) {
		const char *path =
			item->kind == AM_INCLUDE ? included(output->tree, item, &system) : NULL;

		if (path)
			put_file(output, load(output->tree, path), depth + 1);
		else if (item->kind == AM_INCLUDE && is_reached)
			put_include(output, system);
	}
	if (!is_reached)
		return;
	/* Regions of a file end with it, so that each push of options has its pop. */
	put_border(output, !has_lean(file));
	put_preface(output, file);
	put_border(output, !is_lean);
	put_text(&output->body, is_cold ? cold_begin : "");
	for (const struct am_item *item = file->items; item; item = item->next) {
		if (!item->is_kept)
			continue;
		put_border(output, !item->is_lean);
		put_item(output, item);
	}
	put_border(output, !is_lean);
	put_text(&output->body, is_cold ? cold_end : "");
}

static void put_header(struct output *output, const char *name, unsigned depth)
{
	struct am_file *file = am_alloc(output->tree, sizeof(*file));
	struct orma_buf text = {0};
	struct am_token token;
	const char *at, *done;

	if (depth > INCLUDE_DEPTH_MAX)
		am_fail("%s: includes nested too deeply", name);
	if (am_find(&output->system, name, strlen(name)))
		return;
	am_put(&output->system, name, strlen(name), file);
	read_all(join(output->tree, output->tree->root, "/include/", name), &text);
	file->path = name;
	file->text = am_copy(output->tree, (const char *)text.data, text.size);
	file->end = file->text + text.size;
	orma_base_buf_done(&text);
	for (at = done = file->text; at < file->end; at = token.text + token.size) {
		struct am_item item = {.file = file};
		const char *system;

		token = am_lex(at, file->end);
		if (token.kind != AM_DIRECTIVE || token.size < 10 ||
		    memcmp(token.text, "#include", 8) != 0)
			continue;
		item.start = token.text;
		item.end = token.text + token.size;
		included(output->tree, &item, &system);
		put(&output->body, done, (size_t)(item.start - done));
		done = item.end + (*item.end == '\n');
		if (strncmp(system, "orma/", 5) == 0)
			put_header(output, system, depth + 1);
		else
			put(&output->body, item.start, (size_t)(done - item.start));
	}
	put(&output->body, done, (size_t)(file->end - done));
}

static size_t write_all(const char *folder, const char *name, const struct orma_buf *head,
			const struct orma_buf *body)
{
	struct orma_buf path = {0};
	FILE *file;
	size_t lines = 0;

	if (orma_base_buf_printf(&path, "%s/%s", folder, name) < 0 || !orma_base_buf_cstr(&path))
		am_fail("no memory");
	file = fopen((const char *)path.data, "wbe");
	if (!file)
		am_fail("%s: %s", (const char *)path.data, strerror(errno));
	if (fwrite(head->data, 1, head->size, file) != head->size ||
	    fwrite(body->data, 1, body->size, file) != body->size || fclose(file) != 0)
		am_fail("%s: cannot be written", (const char *)path.data);
	for (size_t i = 0; i < head->size; i++)
		lines += head->data[i] == '\n';
	for (size_t i = 0; i < body->size; i++)
		lines += body->data[i] == '\n';
	orma_base_buf_done(&path);
	return lines;
}

static size_t write_header(struct am_tree *tree, const char *version, const char *folder)
{
	struct output output = {.tree = tree};
	struct orma_buf head = {0};
	size_t lines;

	if (orma_base_buf_printf(&head,
				 "/* SPDX-License-Identifier: Apache-2.0\n"
				 " * orma.h - the public interface of orma %s in one header.\n"
				 " *\n"
				 " * Made from include/orma by make amalgamation; see orma.c.\n"
				 " */\n",
				 version) < 0)
		am_fail("no memory");
	put_header(&output, "orma/orma.h", 0);
	lines = write_all(folder, "orma.h", &head, &output.body);
	orma_base_buf_done(&head);
	orma_base_buf_done(&output.body);
	orma_base_map_done(&output.system);
	return lines;
}

/* clang-format off */
static const char source_head[] =
	"/* SPDX-License-Identifier: Apache-2.0\n"
	" * orma.c - the library of orma %s in one source.\n"
	" *\n"
	" * Made from src/ by make amalgamation; change it there.\n"
	" *\n"
	" *\tcc -O2 orma.c app.c -lpthread\n"
	" *\n"
	" * C11 with GNU's extensions (gcc, clang), Linux. With -DORMA_STATIC, for orma.c and for what\n"
	" * includes orma.h, a shared object built from it exports nothing of orma. With\n"
	" * -DORMA_WITHOUT_SERVICE it is without the in-process service and the functions of\n"
	" * orma/service.h: two thirds of the size, for programs that emit to a daemon.\n"
	" */\n"
	"#ifndef _GNU_SOURCE\n"
	"#define _GNU_SOURCE\n"
	"#endif\n"
	"#ifndef _FILE_OFFSET_BITS\n"
	"#define _FILE_OFFSET_BITS 64\n"
	"#endif\n"
	"#ifndef ORMA_VERSION_STRING\n"
	"#define ORMA_VERSION_STRING \"%s\"\n"
	"#endif\n"
	"#include \"orma.h\"\n\n%.*s\n"
	"/*\n"
	" * What is hidden elsewhere is static here and need not be said to be hidden; a function that\n"
	" * shares its name with somebody's variable may be here in vain; and what gcc cannot prove to be\n"
	" * set, when a function has been put into another one's body, may be set all the same. A program\n"
	" * may have stricter warnings than this source, which uses GNU's extensions.\n"
	" */\n"
	"#pragma GCC diagnostic ignored \"-Wattributes\"\n"
	"#pragma GCC diagnostic ignored \"-Wunused-function\"\n"
	"#pragma GCC diagnostic ignored \"-Wpedantic\"\n"
	"#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
	"#pragma GCC diagnostic ignored \"-Wcast-qual\"\n"
	"#pragma GCC diagnostic ignored \"-Wconversion\"\n"
	"#pragma GCC diagnostic ignored \"-Wsign-conversion\"\n"
	"#ifndef __clang__\n"
	"#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n"
	"#endif\n";
/* clang-format on */

static size_t write_source(struct am_tree *tree, const char *version, const char *folder)
{
	struct output output = {.tree = tree};
	struct orma_buf head = {0};
	size_t lines;

	for (struct am_file *file = tree->first; file; file = file->next) {
		if (file->is_source)
			put_file(&output, file, 0);
	}
	put_border(&output, false);
	if (orma_base_buf_printf(&head, source_head, version, version,
				 (int)output.system_names.size,
				 (const char *)output.system_names.data) < 0)
		am_fail("no memory");
	lines = write_all(folder, "orma.c", &head, &output.body);
	orma_base_buf_done(&head);
	orma_base_buf_done(&output.body);
	orma_base_buf_done(&output.system_names);
	orma_base_map_done(&output.system);
	return lines;
}

int main(int argc, char **argv)
{
	struct am_tree tree = {0};
	size_t header_lines, source_lines;

	if (orma_base_fds_hold_standard() < 0)
		return 1;
	if (argc != 6) {
		fputs("usage: amalgamate ROOT VERSION EXPORTS SOURCES OUT\n", stderr);
		return 2;
	}
	tree.root = argv[1];
	each_line(&tree, argv[3], add_export);
	each_line(&tree, argv[4], add_source);
	load_includes(&tree, tree.first);
	resolve_names(&tree);
	find_reached(&tree, false);
	find_reached(&tree, true);
	header_lines = write_header(&tree, argv[2], argv[5]);
	source_lines = write_source(&tree, argv[2], argv[5]);
	printf("%s/orma.h: %zu lines\n%s/orma.c: %zu lines\n", argv[5], header_lines, argv[5],
	       source_lines);
	for (struct am_file *file = tree.first; file; file = file->next)
		orma_base_map_done(&file->renames);
	orma_base_map_done(&tree.files);
	orma_base_map_done(&tree.names);
	orma_base_map_done(&tree.exports);
	orma_base_arena_done(&tree.arena);
	return 0;
}
