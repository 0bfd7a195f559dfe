/* SPDX-License-Identifier: Apache-2.0
 * js_module.c - the language rules that make a bundler unnecessary.
 *
 * If each module imports names with `import {a, b} from './file.js'` and exports declarations, if no two modules have one
 * name at their top, and if imports form no cycle, then the modules without these words, one after the other, mean the same
 * as the modules. So nothing has to be wrapped, and no name stands for two things at the top. Functions that make
 * markup or code of a text are refused too, because texts come from traces.
 */
#include "js_module.h"

#include <stdio.h>

#include "js_token.h"

static bool fail(const struct js_module *module, unsigned line, const char *what,
		 struct orma_str name)
{
	fprintf(stderr, "web/%s:%u: %s%s%.*s\n", module->file, line, what, name.size ? " " : "",
		(int)name.size, name.data ? name.data : "");
	return false;
}

static bool keep(struct js_module *module, const char *from, const char *to)
{
	return orma_base_buf_append(&module->joined, from, (size_t)(to - from)) == 0;
}

static bool add_name(struct js_module *module, const struct js_token *token, bool is_exported)
{
	if (token->kind != JS_NAME)
		return fail(module, token->line, "a declaration at the top needs a plain name, not",
			    token->text);
	if (js_module_find(module, token->text))
		return fail(module, token->line, "there are two declarations of", token->text);
	if (module->name_count == JS_NAMES_MAX)
		return fail(module, token->line, "there are too many names", (struct orma_str){0});
	module->names[module->name_count++] =
		(struct js_name){token->text, token->line, is_exported};
	return true;
}

/* Reads the file of an import, './name.js'. */
static bool read_file(struct js_module *module, const struct js_token *token, struct orma_str *ret)
{
	struct orma_str text = token->text;
	if (token->kind != JS_STRING || text.size < 8 || memcmp(text.data + 1, "./", 2) != 0 ||
	    memchr(text.data + 3, '/', text.size - 3))
		return fail(module, token->line, "an import names a file like './time.js', not",
			    text);
	*ret = (struct orma_str){text.data + 3, text.size - 4};
	return true;
}

/* Reads `{a, b} from './file.js';`, behind the word import. */
static bool read_import(struct js_module *module, struct js_scan *scan)
{
	static const char form[] = "an import has the form `import {a, b} from './file.js';`, not";
	struct js_token token = js_next(scan);
	size_t first = module->import_count;
	struct orma_str file;
	if (!js_is(&token, "{"))
		return fail(module, token.line, form, token.text);
	for (token = js_next(scan); token.kind == JS_NAME; token = js_next(scan)) {
		if (module->import_count == JS_IMPORTS_MAX)
			return fail(module, token.line, "there are too many imports",
				    (struct orma_str){0});
		module->imports[module->import_count++] =
			(struct js_import){.name = token.text, .line = token.line};
		token = js_next(scan);
		if (!js_is(&token, ","))
			break;
	}
	if (!js_is(&token, "}"))
		return fail(module, token.line, form, token.text);
	token = js_next(scan);
	if (!js_is(&token, "from"))
		return fail(module, token.line, form, token.text);
	token = js_next(scan);
	if (!read_file(module, &token, &file))
		return false;
	for (size_t i = first; i < module->import_count; i++)
		module->imports[i].file = file;
	token = js_next(scan);
	return js_is(&token, ";") || fail(module, token.line, form, token.text);
}

static bool is_declaration(const struct js_token *token)
{
	static const char *const words[] = {"const", "let", "var", "function", "async", "class"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (js_is(token, words[i]))
			return true;
	return false;
}

static bool check_token(struct js_module *module, const struct js_token *before,
			const struct js_token *token)
{
	static const char *const forbidden[] = {
		"innerHTML",     "outerHTML", "insertAdjacentHTML",
		"setHTMLUnsafe", "eval",      "createContextualFragment",
		"Function",      "writeln"};
	if (token->kind == JS_DAMAGED)
		return fail(module, token->line, "this has no end, or a bracket is wrong",
			    (struct orma_str){0});
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (js_is(token, forbidden[i]))
			return fail(module, token->line,
				    "texts come from traces, so that there is no", token->text);
	if (js_is(token, "import") && !js_is(before, "."))
		return fail(module, token->line, "imports stand at the top of a module",
			    (struct orma_str){0});
	return true;
}

/* Reads the names behind `const`, `let`, `var`, `function`, `async function` or `class`. Ends behind the declaration, which
 * is behind the name if that is all that matters. */
static bool read_declaration(struct js_module *module, struct js_scan *scan,
			     const struct js_token *word, bool is_exported)
{
	bool is_list = js_is(word, "const") || js_is(word, "let") || js_is(word, "var");
	struct js_token token = js_next(scan), before = *word;
	if (js_is(word, "async"))
		token = js_next(scan);
	if (js_is(&token, "*"))
		token = js_next(scan);
	if (!add_name(module, &token, is_exported))
		return false;
	while (is_list && !js_is(&token, ";")) {
		before = token;
		token = js_next(scan);
		if (token.kind == JS_END)
			return fail(module, word->line, "a declaration ends with a semicolon",
				    (struct orma_str){0});
		if (!check_token(module, &before, &token))
			return false;
		if (token.nesting > 0 || !js_is(&token, ","))
			continue;
		token = js_next(scan);
		if (!add_name(module, &token, is_exported))
			return false;
	}
	return true;
}

/* Goes behind the line feed that follows an import. */
static void skip_line_feed(struct js_scan *scan)
{
	if (scan->at < scan->end && *scan->at == '\n') {
		scan->at++;
		scan->line++;
	}
}

bool js_module_read(struct js_module *module)
{
	const char *text = (const char *)module->source.data;
	struct js_scan scan = {.at = text, .end = text + module->source.size, .line = 1};
	const char *kept = text;
	struct js_token before = {0}, token = js_next(&scan);
	for (; token.kind != JS_END; before = token, token = js_next(&scan)) {
		bool is_at_top = token.nesting == 0 && !js_is(&before, ".");
		bool is_export = is_at_top && js_is(&token, "export");
		if (is_at_top && js_is(&token, "import")) {
			if (!keep(module, kept, token.text.data) || !read_import(module, &scan))
				return false;
			skip_line_feed(&scan);
			kept = scan.at;
			continue;
		}
		if (!check_token(module, &before, &token))
			return false;
		if (is_export) {
			if (!keep(module, kept, token.text.data))
				return false;
			token = js_next(&scan);
			kept = token.text.data;
			if (!is_declaration(&token))
				return fail(module, token.line,
					    "what is exported is a declaration, not", token.text);
		}
		if (is_at_top && is_declaration(&token) &&
		    !read_declaration(module, &scan, &token, is_export))
			return false;
	}
	return keep(module, kept, scan.end);
}

const struct js_name *js_module_find(const struct js_module *module, struct orma_str name)
{
	for (size_t i = 0; i < module->name_count; i++)
		if (orma_base_str_is_equal(module->names[i].text, name))
			return &module->names[i];
	return NULL;
}
