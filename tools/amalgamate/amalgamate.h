/* SPDX-License-Identifier: Apache-2.0
 * amalgamate.h - the library's sources, cut into items.
 *
 * An item is one definition, declaration or directive of a file, with the comment above it. Memory
 * is that of the tree; failures end the program, which is a development tool.
 */
#ifndef ORMA_TOOLS_AMALGAMATE_H
#define ORMA_TOOLS_AMALGAMATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"

#define AM_INCLUDE_DEPTH_MAX 32

enum am_token_kind {
	AM_END,
	AM_NAME,
	AM_NUMBER,
	AM_STRING, /* also a character */
	AM_PUNCT,
	AM_COMMENT,
	AM_DIRECTIVE, /* the whole logical line, without its line break */
};

struct am_token {
	enum am_token_kind kind;
	const char *text;
	size_t size;
};

enum am_item_kind {
	AM_PREFACE, /* the file's first comment */
	AM_INCLUDE,
	AM_MACRO,
	AM_CONDITIONAL, /* #if ... #endif around items */
	AM_ASSERT,      /* a static one */
	AM_DECLARATION,
};

/* The definitions with which orma.c is compiled select a build. Each build contains the smaller ones. */
enum am_build {
	AM_PRODUCER, /* -DORMA_PRODUCER_ONLY */
	AM_LEAN,     /* -DORMA_WITHOUT_SERVICE */
	AM_WHOLE,
	AM_NO_BUILD, /* left out of orma.c */
};

enum am_name_kind { AM_ORDINARY, AM_TAG };

struct am_name {
	struct am_name *next;      /* in the item */
	struct am_name *next_same; /* the same text elsewhere */
	struct am_item *item;
	const char *text;
	enum am_name_kind kind;
	bool is_external; /* a function or object without "static" */
	bool is_definite; /* the item defines it: a body, a value, or members */
};

struct am_item {
	struct am_item *next; /* in the file */
	struct am_file *file;
	enum am_item_kind kind;
	const char *comment, *start, *end; /* comment <= start <= end; comment == start: none */
	struct am_name *names;
	bool is_static, is_extern, is_function;
	bool is_root; /* kept whether something reaches it or not */
	/* The smallest build in which a root or a public function reaches the item. */
	enum am_build build;
};

struct am_file {
	struct am_file *next;
	const char *path; /* from the root */
	const char *text, *end;
	bool is_source, is_emitted;
	bool is_cold;        /* runs rarely: to be optimised for size */
	enum am_build build; /* the smallest one that has the file's public functions */
	struct am_item *items;
	struct orma_map renames; /* by the hash of the old name -> struct am_rename */
};

struct am_rename {
	const char *old_text, *new_text;
	enum am_name_kind kind;
};

struct am_tree {
	struct orma_arena arena;
	struct orma_map files; /* by the hash of the path */
	struct orma_map names; /* by the hash of the text -> struct am_name, linked by next_same */
	struct orma_map exports;      /* by the hash of the name: the public functions */
	struct am_file *first, *last; /* in the order in which they were loaded */
	const char *root;
};

/* --- lex.c ------------------------------------------------------------------------------------ */

/* Returns the token at `at`, after white space; the next one begins where it ends. */
struct am_token am_lex(const char *at, const char *end);
bool am_token_is(const struct am_token *token, const char *text);

/* --- split.c ---------------------------------------------------------------------------------- */

/* Cuts the file's text into items and enters their names into the tree. */
void am_split(struct am_tree *tree, struct am_file *file);

/* --- source_tree.c ---------------------------------------------------------------------------- */

/* Prints the message on standard error and exits with status 1. */
_Noreturn void am_fail(const char *format, ...) ORMA_PRINTF(1, 2);
void *am_alloc(struct am_tree *tree, size_t size);
const char *am_copy(struct am_tree *tree, const char *text, size_t size);
const char *am_join(struct am_tree *tree, const char *first, const char *second, const char *third);
void *am_find(const struct orma_map *map, const char *text, size_t size);
void am_put(struct orma_map *map, const char *text, size_t size, void *value);
void am_append(struct orma_buf *buf, const char *text, size_t size);
void am_append_text(struct orma_buf *buf, const char *text);
/* Reads a file of any place; appends its text. */
void am_read(const char *path, struct orma_buf *out);
/* Loads and splits a file of the tree, unless that is done already. `path` must live on. */
struct am_file *am_load(struct am_tree *tree, const char *path);
/* Loads the files that those of the tree include. */
void am_load_includes(struct am_tree *tree);
/* Returns the path of the file that the directive includes; or NULL, and *ret_system is its name. */
const char *am_included(struct am_tree *tree, const struct am_item *item, const char **ret_system);

/* --- rename.c --------------------------------------------------------------------------------- */

/* Whether only the source that has the name can mean it. `all` are the names with this text. */
bool am_is_local(const struct am_name *name, const struct am_name *all);
/* Decides which local names get a new text, and refuses what is defined twice. */
void am_rename_names(struct am_tree *tree);

/* --- reach.c ---------------------------------------------------------------------------------- */

/* Sets the build of all items that something reaches in `build`. Call for the largest build first. */
void am_find_reached(struct am_tree *tree, enum am_build build);

/* --- emit.c: both return the number of lines -------------------------------------------------- */

size_t am_write_header(struct am_tree *tree, const char *version, const char *folder);
size_t am_write_source(struct am_tree *tree, const char *version, const char *folder);

#endif
