/* SPDX-License-Identifier: Apache-2.0
 * split.c - cuts the text of a file into items, with the names that each defines or declares.
 *
 * Invariant: items do not overlap and are in the order of the text; only include guards and blank
 * lines are in no item. This reads the C of this tree, formatted by clang-format with one name per
 * declaration at file scope, and fails where it does not understand. Rejected: a real C parser (it
 * would need every system header).
 */
#include <ctype.h>
#include <string.h>

#include "amalgamate.h"
#include "base/assert.h"

struct splitter {
	struct am_tree *tree;
	struct am_file *file;
	struct am_item **tail;
	const char *at;
	const char *comment; /* above the next item, or NULL */
	bool saw_first;      /* a token: a comment that comes first is the preface */
	unsigned guards;     /* open include guards */
};

static struct am_token next_token(struct splitter *s)
{
	struct am_token token = am_lex(s->at, s->file->end);

	s->at = token.text + token.size;
	return token;
}

static struct am_item *add_item(struct splitter *s, enum am_item_kind kind, const char *start)
{
	struct am_item *item = am_alloc(s->tree, sizeof(*item));

	ORMA_ASSERT(start < s->at && s->at <= s->file->end);
	ORMA_ASSERT(!*s->tail && (!s->comment || s->comment < start));
	item->kind = kind;
	item->build = AM_NO_BUILD;
	item->file = s->file;
	item->start = start;
	item->end = s->at;
	item->comment = s->comment ? s->comment : start;
	s->comment = NULL;
	*s->tail = item;
	s->tail = &item->next;
	return item;
}

static struct am_name *add_name(struct splitter *s, struct am_item *item,
				const struct am_token *token, enum am_name_kind kind)
{
	struct am_name *name = am_alloc(s->tree, sizeof(*name));

	name->item = item;
	name->kind = kind;
	name->text = am_copy(s->tree, token->text, token->size);
	name->next = item->names;
	item->names = name;
	name->next_same = am_find(&s->tree->names, token->text, token->size);
	am_put(&s->tree->names, token->text, token->size, name);
	return name;
}

/* Returns the n-th word of a directive: 1 is "define", 2 is its name. */
static struct am_token directive_word(const struct am_token *directive, unsigned n)
{
	const char *end = directive->text + directive->size;
	struct am_token token = {.text = directive->text + 1};

	while (n-- > 0)
		token = am_lex(token.text + token.size, end);
	return token;
}

/* Adds the names in enum { A, B = 1, C }. `at` points behind the brace. */
static void add_constants(struct splitter *s, struct am_item *item, const char *at)
{
	int depth = 0;
	bool expects = true;
	struct am_token token;

	for (;; at = token.text + token.size) {
		token = am_lex(at, s->file->end);
		if (token.kind == AM_COMMENT || token.kind == AM_DIRECTIVE)
			continue;
		if (token.kind == AM_END || (depth == 0 && am_token_is(&token, "}")))
			return;
		if (token.kind == AM_NAME && expects)
			add_name(s, item, &token, AM_ORDINARY)->is_definite = true;
		expects = depth == 0 && am_token_is(&token, ",");
		depth += token.kind == AM_PUNCT && strchr("([{", *token.text) != NULL;
		depth -= token.kind == AM_PUNCT && strchr(")]}", *token.text) != NULL;
	}
}

/* A declaration, as far as it has been read. */
struct head {
	struct am_token previous;
	struct am_token name; /* the function's or object's, AM_END = none yet */
	int depth;            /* open parentheses, brackets and braces */
	bool is_typedef, has_value, is_body, in_attribute;
};

static bool is_tag_word(const struct am_token *token)
{
	return am_token_is(token, "struct") || am_token_is(token, "union") ||
	       am_token_is(token, "enum");
}

static void on_open_brace(struct splitter *s, struct am_item *item, struct head *head,
			  const struct am_token *before)
{
	if (head->depth == 0 && !head->has_value && am_token_is(&head->previous, ")")) {
		head->is_body = true;
		return;
	}
	if (head->is_body || head->has_value)
		return;
	if (is_tag_word(before) && head->previous.kind == AM_NAME)
		add_name(s, item, &head->previous, AM_TAG)->is_definite = true;
	if (am_token_is(before, "enum") || am_token_is(&head->previous, "enum"))
		add_constants(s, item, s->at);
}

static void add_object(struct splitter *s, struct am_item *item, const struct head *head)
{
	struct am_name *name = add_name(s, item, &head->name, AM_ORDINARY);

	name->is_external = !item->is_static;
	name->is_definite = item->is_function ? head->is_body : !item->is_extern;
}

/* Punctuation at depth 0 determines what the name before it is. */
static void on_head_punct(struct splitter *s, struct am_item *item, struct head *head, char c)
{
	bool is_named = head->previous.kind == AM_NAME && !head->in_attribute;

	if (head->is_body)
		return;
	if (c == ',' && !item->is_function) {
		if (head->name.kind == AM_END && is_named)
			head->name = head->previous;
		if (head->name.kind == AM_NAME)
			add_object(s, item, head);
		head->name.kind = AM_END;
		head->has_value = false;
	}
	if (head->has_value)
		return;
	if (c == '(' && is_named && head->name.kind == AM_END) {
		head->name = head->previous;
		item->is_function = true;
	} else if (strchr("=;[", c) && is_named && head->name.kind == AM_END) {
		head->name = head->previous;
	}
	head->has_value |= c == '=';
}

static void finish_declaration(struct splitter *s, struct am_item *item, struct head *head,
			       const struct am_token *before_last)
{
	/* "struct x;" is a declaration without members. */
	if (head->name.kind == AM_NAME && is_tag_word(before_last)) {
		add_name(s, item, &head->name, AM_TAG);
		return;
	}
	if (head->name.kind == AM_END)
		return;
	if (head->is_typedef) {
		add_name(s, item, &head->name, AM_ORDINARY)->is_definite = true;
		item->is_function = false;
		return;
	}
	add_object(s, item, head);
}

static void track_words(struct am_item *item, struct head *head, const struct am_token *token)
{
	item->is_static |= am_token_is(token, "static");
	item->is_extern |= am_token_is(token, "extern");
	head->is_typedef |= am_token_is(token, "typedef");
	item->is_root |= am_token_is(token, "constructor");
}

/* A comment on the item's last line belongs to the item, not to the next one. */
static void take_trailing_comment(struct splitter *s, struct am_item *item)
{
	struct am_token token = am_lex(s->at, s->file->end);

	if (token.kind != AM_COMMENT || memchr(s->at, '\n', (size_t)(token.text - s->at)))
		return;
	s->at = token.text + token.size;
	item->end = s->at;
}

/* A declaration goes from `token` to its ";" or to the "}" of a function's body. */
static void split_declaration(struct splitter *s, struct am_token token)
{
	struct am_item *item = add_item(s, AM_DECLARATION, token.text);
	struct head head = {.name = {.kind = AM_END}};
	struct am_token before = {.kind = AM_END}, attribute_end = {.kind = AM_END};

	if (am_token_is(&token, "_Static_assert"))
		item->kind = AM_ASSERT;
	for (;; token = next_token(s)) {
		if (token.kind == AM_END)
			am_fail("%s: this declaration does not end: %.40s", s->file->path,
				item->start);
		if (token.kind == AM_COMMENT || token.kind == AM_DIRECTIVE)
			continue;
		/* __attribute__((...)) and the like at depth 0 contain no names of the file. */
		if (head.depth == 0 && token.kind == AM_NAME &&
		    (am_token_is(&token, "__attribute__") || am_token_is(&token, "_Alignas") ||
		     am_token_is(&token, "ORMA_PRINTF") || am_token_is(&token, "_Static_assert"))) {
			head.in_attribute = true;
			attribute_end = head.previous;
			continue;
		}
		if (token.kind == AM_NAME && (head.depth == 0 || head.in_attribute))
			track_words(item, &head, &token);
		if (token.kind == AM_PUNCT) {
			if (*token.text == '{' && !head.in_attribute)
				on_open_brace(s, item, &head, &before);
			if (head.depth == 0)
				on_head_punct(s, item, &head, *token.text);
			head.depth += strchr("([{", *token.text) != NULL;
			head.depth -= strchr(")]}", *token.text) != NULL;
			if (head.in_attribute) {
				if (head.depth > 0)
					continue;
				/* The token before it is the previous one of the token behind it. */
				head.in_attribute = false;
				head.previous = attribute_end;
				continue;
			}
			if (head.depth == 0 &&
			    (*token.text == ';' || (*token.text == '}' && head.is_body)))
				break;
		}
		if (head.in_attribute)
			continue;
		before = head.previous;
		head.previous = token;
	}
	item->end = s->at;
	take_trailing_comment(s, item);
	if (item->kind == AM_DECLARATION)
		finish_declaration(s, item, &head, &before);
}

static bool is_if(const struct am_token *word)
{
	return word->size >= 2 && memcmp(word->text, "if", 2) == 0;
}

/* #if ... #endif around declarations is one item. It has the names of all branches. */
static void split_conditional(struct splitter *s, const struct am_token *first)
{
	struct am_item *whole = add_item(s, AM_CONDITIONAL, first->text), *inner = NULL;
	struct am_item **tail = s->tail;
	unsigned depth = 1;

	whole->is_root = true;
	s->tail = &inner;
	while (depth > 0) {
		struct am_token token = next_token(s), word;

		if (token.kind == AM_END)
			am_fail("%s: #if without #endif", s->file->path);
		if (token.kind == AM_DIRECTIVE) {
			word = directive_word(&token, 1);
			depth += is_if(&word);
			depth -= am_token_is(&word, "endif");
			if (am_token_is(&word, "define")) {
				word = directive_word(&token, 2);
				add_name(s, whole, &word, AM_ORDINARY);
			}
		} else if (token.kind != AM_COMMENT) {
			split_declaration(s, token);
		}
	}
	ORMA_ASSERT(depth == 0);
	for (; inner; inner = inner->next) {
		for (struct am_name *name = inner->names; name; name = name->next) {
			if (name->is_external && name->is_definite)
				am_fail("%s: %s is defined in a conditional", s->file->path,
					name->text);
			name->item = whole;
		}
	}
	whole->end = s->at;
	s->tail = tail;
}

static bool is_guard(const struct am_token *word)
{
	return word->size > 7 && memcmp(word->text, "ORMA_", 5) == 0 &&
	       memcmp(word->text + word->size - 2, "_H", 2) == 0;
}

/* Skips the part of a public header that is for C++ only, up to the #else or #endif. */
static void skip_cplusplus(struct splitter *s)
{
	for (unsigned depth = 1; depth > 0;) {
		struct am_token token = next_token(s), word;

		if (token.kind == AM_END)
			am_fail("%s: #if without #endif", s->file->path);
		if (token.kind != AM_DIRECTIVE)
			continue;
		word = directive_word(&token, 1);
		depth += is_if(&word);
		depth -= am_token_is(&word, "endif") || (depth == 1 && am_token_is(&word, "else"));
	}
}

/* Public headers are emitted as they are. Only their names matter, in all branches for C. */
static void split_public_directive(struct splitter *s, const struct am_token *token)
{
	static const char cplusplus[] = "__cplusplus";
	struct am_token word = directive_word(token, 1), operand = directive_word(token, 2);

	if (is_if(&word) && memmem(token->text, token->size, cplusplus, sizeof(cplusplus) - 1))
		skip_cplusplus(s);
	else if (am_token_is(&word, "define") && !is_guard(&operand))
		add_name(s, add_item(s, AM_MACRO, token->text), &operand, AM_ORDINARY);
	else if (am_token_is(&word, "include"))
		add_item(s, AM_INCLUDE, token->text);
}

static void split_directive(struct splitter *s, const struct am_token *token)
{
	struct am_token word = directive_word(token, 1), operand = directive_word(token, 2);

	if (strncmp(s->file->path, "include/", 8) == 0) {
		split_public_directive(s, token);
		return;
	}
	if (am_token_is(&word, "include")) {
		add_item(s, AM_INCLUDE, token->text);
	} else if (am_token_is(&word, "ifndef") && is_guard(&operand)) {
		s->guards++;
	} else if (am_token_is(&word, "define") && is_guard(&operand)) {
		return;
	} else if (am_token_is(&word, "endif") && s->guards > 0) {
		s->guards--;
	} else if (am_token_is(&word, "define")) {
		struct am_name *name =
			add_name(s, add_item(s, AM_MACRO, token->text), &operand, AM_ORDINARY);

		name->is_definite = true;
	} else if (is_if(&word)) {
		split_conditional(s, token);
	} else {
		am_fail("%s: cannot understand %.*s", s->file->path, (int)token->size, token->text);
	}
}

void am_split(struct am_tree *tree, struct am_file *file)
{
	struct splitter s = {.tree = tree, .file = file, .tail = &file->items, .at = file->text};

	for (;;) {
		struct am_token token = next_token(&s);

		if (token.kind == AM_END)
			break;
		if (token.kind == AM_COMMENT && !s.saw_first) {
			add_item(&s, AM_PREFACE, token.text);
		} else if (token.kind == AM_COMMENT) {
			if (!s.comment)
				s.comment = token.text;
		} else if (token.kind == AM_DIRECTIVE) {
			split_directive(&s, &token);
		} else {
			split_declaration(&s, token);
		}
		s.saw_first = true;
	}
	if (s.guards > 0)
		am_fail("%s: the include guard has no #endif", file->path);
}
