/* SPDX-License-Identifier: Apache-2.0
 * amalgamate.h - the tree's sources, cut into items.
 *
 * An item is one definition, declaration or directive of a file, with the comment above it.
 */
#ifndef ORMA_TOOLS_AMALGAMATE_H
#define ORMA_TOOLS_AMALGAMATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"

enum am_token_kind {
	AM_END,
	AM_NAME,
	AM_NUMBER,
	AM_STRING, /* characters, too */
	AM_PUNCT,
	AM_COMMENT,
	AM_DIRECTIVE, /* the whole logical line, without its line break */
};

struct am_token {
	enum am_token_kind kind;
	const char *text;
	size_t size;
	bool after_blank; /* an empty line before it */
};

/* The token at `at`; its end is where the next one is looked for. */
struct am_token am_lex(const char *at, const char *end);
bool am_token_is(const struct am_token *token, const char *text);

enum am_item_kind {
	AM_PREFACE, /* the file's first comment */
	AM_INCLUDE,
	AM_MACRO,
	AM_CONDITIONAL, /* #if ... #endif around items */
	AM_ASSERT,
	AM_DECLARATION,
};

enum am_name_kind { AM_ORDINARY, AM_TAG };

struct am_name {
	struct am_name *next, *next_same;
	struct am_item *item;
	const char *text;
	enum am_name_kind kind;
	bool is_external; /* a function or object without "static" */
	bool is_definite; /* defines it: a body, a value, members; not only a declaration */
};

struct am_item {
	struct am_item *next;
	struct am_file *file;
	enum am_item_kind kind;
	const char *comment, *start, *end; /* comment == start when there is none */
	struct am_name *names;
	bool is_static, is_extern, is_function;
	bool is_root, is_kept;
	bool is_lean; /* kept also when orma.c is compiled with ORMA_WITHOUT_SERVICE */
};

struct am_file {
	struct am_file *next;
	const char *path; /* from the root */
	const char *text, *end;
	bool is_source, is_emitted, is_cold;
	bool is_service; /* nobody outside of orma.c calls it with ORMA_WITHOUT_SERVICE */
	struct am_item *items;
	struct orma_map renames; /* by hash of the old name -> struct am_rename */
};

struct am_rename {
	const char *old_text, *new_text;
	enum am_name_kind kind;
};

struct am_tree {
	struct orma_arena arena;
	struct orma_map files;   /* by hash of the path */
	struct orma_map names;   /* by hash of the text -> struct am_name, linked by next_same */
	struct orma_map exports; /* by hash of the name */
	struct am_file *first, *last;
	const char *root;
};

/* Prints and ends the program: this is a development tool. */
_Noreturn void am_fail(const char *format, ...) ORMA_PRINTF(1, 2);
void *am_alloc(struct am_tree *tree, size_t size);
const char *am_copy(struct am_tree *tree, const char *text, size_t size);
void *am_find(const struct orma_map *map, const char *text, size_t size);
void am_put(struct orma_map *map, const char *text, size_t size, void *value);

/* Cuts the file's text into items and enters their names into the tree. */
void am_split(struct am_tree *tree, struct am_file *file);

#endif
