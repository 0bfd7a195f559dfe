/* SPDX-License-Identifier: Apache-2.0
 * emit.c - writes orma.h and orma.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "amalgamate.h"
#include "base/assert.h"
#include "base/macros.h"

struct output {
	struct am_tree *tree;
	struct orma_buf body;
	struct orma_map included; /* headers whose text or #include is there already */
	struct orma_buf system_includes;
	enum am_build guard; /* the smallest build that has the current place */
};

/* --- the code of an item ---------------------------------------------------------------------- */

/* The place of a word in an item. Members of structs are not names of the file. */
struct place {
	struct am_token before;
	int depth;         /* open braces */
	int members_depth; /* depth inside the outermost struct, 0 = not in a struct */
	int brackets;      /* open ones: array sizes name constants of the file */
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
	ORMA_ASSERT(place->depth >= 0 && place->brackets >= 0);
}

/* The new text of a word, or NULL when it keeps its text. */
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

/* Appends the item with its new names. `skip_extern` leaves out the word "extern". */
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
			am_append(out, done, (size_t)(token.text - done));
			done = am_lex(token.text + token.size, item->end).text;
			skip_extern = false;
		}
		name = token.kind == AM_NAME ? new_name(item->file, &token, &place) : NULL;
		if (name) {
			am_append(out, done, (size_t)(token.text - done));
			am_append_text(out, name);
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
	am_append(out, done, (size_t)(item->end - done));
	am_append_text(out, "\n");
}

/* External names that are not public are visible in orma.c only. */
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

	am_append_text(&output->body, "\n");
	am_append(&output->body, item->comment, (size_t)(item->start - item->comment));
	if (is_static)
		am_append_text(&output->body, "static ");
	put_code(&output->body, item, is_static);
}

/* --- a file ----------------------------------------------------------------------------------- */

/* Appends the path and the preface, without its first line, which orma.c has once. */
static void put_preface(struct output *output, const struct am_file *file)
{
	static const char license[] = "/* SPDX-License-Identifier: Apache-2.0\n";
	const struct am_item *item = file->items;

	am_append_text(&output->body, "\n/* ");
	for (size_t i = strlen(file->path); i < 92; i++)
		am_append_text(&output->body, "-");
	am_append_text(&output->body, " ");
	am_append_text(&output->body, file->path);
	am_append_text(&output->body, " */\n");
	if (!item || item->kind != AM_PREFACE)
		return;
	if (strncmp(item->start, license, strlen(license)) != 0)
		am_fail("%s does not begin with %s", file->path, license);
	am_append_text(&output->body, "/*\n");
	am_append(&output->body, item->start + strlen(license),
		  (size_t)(item->end - item->start) - strlen(license));
	am_append_text(&output->body, "\n");
}

static void put_include(struct output *output, const char *system)
{
	if (am_find(&output->included, system, strlen(system)))
		return;
	am_put(&output->included, system, strlen(system), (void *)system);
	am_append_text(&output->system_includes, "#include <");
	am_append_text(&output->system_includes, system);
	am_append_text(&output->system_includes, ">\n");
}

/* The smallest build that has an item of the file. */
static enum am_build smallest_build(const struct am_file *file)
{
	enum am_build build = AM_NO_BUILD;

	for (const struct am_item *item = file->items; item; item = item->next)
		build = ORMA_MIN(build, item->build);
	return build;
}

/* Closes and opens #ifndef ORMA_..., so that it fits what is appended next. */
static void set_guard(struct output *output, enum am_build build)
{
	static const char *const names[] = {
		[AM_LEAN] = "ORMA_PRODUCER_ONLY",
		[AM_WHOLE] = "ORMA_WITHOUT_SERVICE",
	};

	ORMA_ASSERT(build != AM_NO_BUILD);
	if (build == output->guard)
		return;
	if (output->guard != AM_PRODUCER) {
		am_append_text(&output->body, "\n#endif /* ");
		am_append_text(&output->body, names[output->guard]);
		am_append_text(&output->body, " */\n");
	}
	if (build != AM_PRODUCER) {
		am_append_text(&output->body, "\n#ifndef ");
		am_append_text(&output->body, names[build]);
		am_append_text(&output->body, "\n");
	}
	output->guard = build;
}

/* Code that runs rarely is optimised for size, which is also faster to compile. */
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

/* The smallest build that has code of a cold file. clang warns about a region without code. */
static enum am_build smallest_cold_build(const struct am_file *file)
{
	enum am_build build = AM_NO_BUILD;

	for (const struct am_item *item = file->items; item && file->is_cold; item = item->next) {
		for (const struct am_name *name = item->names; name; name = name->next) {
			if (item->is_function && name->is_definite)
				build = ORMA_MIN(build, item->build);
		}
	}
	return build;
}

/* Begins or ends the region of a file's cold code, if it has any. */
static void put_cold(struct output *output, enum am_build build, const char *text)
{
	if (build == AM_NO_BUILD)
		return;
	set_guard(output, build);
	am_append_text(&output->body, text);
}

static void put_file(struct output *output, struct am_file *file, unsigned depth)
{
	const char *system;
	enum am_build build = smallest_build(file), cold_build = smallest_cold_build(file);

	if (file->is_emitted || strncmp(file->path, "include/", 8) == 0)
		return;
	if (depth > AM_INCLUDE_DEPTH_MAX)
		am_fail("%s is included more than %d files deep", file->path, AM_INCLUDE_DEPTH_MAX);
	file->is_emitted = true;
	for (const struct am_item *item = file->items; item; item = item->next) {
		const char *path =
			item->kind == AM_INCLUDE ? am_included(output->tree, item, &system) : NULL;

		if (path)
			put_file(output, am_load(output->tree, path), depth + 1);
		else if (item->kind == AM_INCLUDE && build != AM_NO_BUILD)
			put_include(output, system);
	}
	if (build == AM_NO_BUILD)
		return;
	set_guard(output, build);
	put_preface(output, file);
	/* A region ends with its file, so that the same condition applies to each push and its pop. */
	put_cold(output, cold_build, cold_begin);
	for (const struct am_item *item = file->items; item; item = item->next) {
		if (item->build == AM_NO_BUILD)
			continue;
		set_guard(output, item->build);
		put_item(output, item);
	}
	put_cold(output, cold_build, cold_end);
}

/* --- orma.h and orma.c ------------------------------------------------------------------------ */

/* Appends a public header, in which those that it includes replace the directives. */
static void put_header(struct output *output, const char *name, unsigned depth)
{
	struct am_file *file = am_alloc(output->tree, sizeof(*file));
	struct orma_buf text = {0};
	struct am_token token;
	const char *at, *done;

	if (depth > AM_INCLUDE_DEPTH_MAX)
		am_fail("%s is included more than %d files deep", name, AM_INCLUDE_DEPTH_MAX);
	if (am_find(&output->included, name, strlen(name)))
		return;
	am_put(&output->included, name, strlen(name), file);
	am_read(am_join(output->tree, output->tree->root, "/include/", name), &text);
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
		am_included(output->tree, &item, &system);
		am_append(&output->body, done, (size_t)(item.start - done));
		done = item.end + (*item.end == '\n');
		if (strncmp(system, "orma/", 5) == 0)
			put_header(output, system, depth + 1);
		else
			am_append(&output->body, item.start, (size_t)(done - item.start));
	}
	am_append(&output->body, done, (size_t)(file->end - done));
}

/* Returns the number of lines. */
static size_t write_file(const char *folder, const char *name, const struct orma_buf *head,
			 const struct orma_buf *body)
{
	struct orma_buf path = {0};
	FILE *file;
	size_t lines = 0;

	if (orma_base_buf_printf(&path, "%s/%s", folder, name) < 0 || !orma_base_buf_cstr(&path))
		am_fail("out of memory");
	file = fopen((const char *)path.data, "wbe");
	if (!file)
		am_fail("cannot open %s: %s", (const char *)path.data, strerror(errno));
	if (fwrite(head->data, 1, head->size, file) != head->size ||
	    fwrite(body->data, 1, body->size, file) != body->size || fclose(file) != 0)
		am_fail("cannot write %s: %s", (const char *)path.data, strerror(errno));
	for (size_t i = 0; i < head->size; i++)
		lines += head->data[i] == '\n';
	for (size_t i = 0; i < body->size; i++)
		lines += body->data[i] == '\n';
	orma_base_buf_done(&path);
	return lines;
}

size_t am_write_header(struct am_tree *tree, const char *version, const char *folder)
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
		am_fail("out of memory");
	put_header(&output, "orma/orma.h", 0);
	lines = write_file(folder, "orma.h", &head, &output.body);
	orma_base_buf_done(&head);
	orma_base_buf_done(&output.body);
	orma_base_map_done(&output.included);
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
	" * It needs Linux and C11 with GNU's extensions (gcc or clang). When orma.c and all sources that\n"
	" * include orma.h are compiled with -DORMA_STATIC, a shared object that contains them exports\n"
	" * nothing of orma. -DORMA_WITHOUT_SERVICE leaves out the in-process service and the functions of\n"
	" * orma/service.h: two thirds of the size remain, for programs that emit to a daemon.\n"
	" * -DORMA_PRODUCER_ONLY leaves out sessions as well; half of the size remains.\n"
	" */\n"
	"#if defined(ORMA_PRODUCER_ONLY) && !defined(ORMA_WITHOUT_SERVICE)\n"
	"#define ORMA_WITHOUT_SERVICE\n"
	"#endif\n"
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
	" * A program may be compiled with more warnings than this source is written for, which uses GNU's\n"
	" * extensions. Attributes of visibility have no effect on names that are static here. A function\n"
	" * may be here although nothing calls it, because it has the name of a variable that is used. And\n"
	" * gcc takes variables for uninitialized where it inlines the function that initializes them.\n"
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

size_t am_write_source(struct am_tree *tree, const char *version, const char *folder)
{
	struct output output = {.tree = tree};
	struct orma_buf head = {0};
	size_t lines;

	for (struct am_file *file = tree->first; file; file = file->next) {
		if (file->is_source)
			put_file(&output, file, 0);
	}
	set_guard(&output, AM_PRODUCER);
	if (orma_base_buf_printf(&head, source_head, version, version,
				 (int)output.system_includes.size,
				 (const char *)output.system_includes.data) < 0)
		am_fail("out of memory");
	lines = write_file(folder, "orma.c", &head, &output.body);
	orma_base_buf_done(&head);
	orma_base_buf_done(&output.body);
	orma_base_buf_done(&output.system_includes);
	orma_base_map_done(&output.included);
	return lines;
}
