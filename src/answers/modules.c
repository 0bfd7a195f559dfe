/* SPDX-License-Identifier: Apache-2.0
 * modules.c - finds modules by their names. The user's come first, because they may replace others.
 */
#include "answers/modules.h"

#include <ctype.h>
#include <errno.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"
#include <module_texts.h> /* CMakeLists.txt writes it */

enum { BUILT_IN = sizeof(module_texts) / sizeof(*module_texts) - 1 };

void orma_modules_done(struct orma_module_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		orma_base_free(list->modules[i].name);
		orma_base_free(list->modules[i].text);
	}
	orma_base_free(list->modules);
	*list = (struct orma_module_list){0};
}

static bool is_module_name(const char *name)
{
	bool is_begin = true;
	for (; *name; name++) {
		bool is_letter = isalpha((unsigned char)*name) || *name == '_';
		if (is_begin ? !is_letter : !isalnum((unsigned char)*name) && !strchr("_.", *name))
			return false;
		is_begin = *name == '.';
	}
	return !is_begin;
}

/* Returns whether a module of the binary begins with the same word. */
static bool is_built_in_package(const char *name)
{
	size_t size = strcspn(name, ".");
	for (size_t i = 0; i < BUILT_IN; i++)
		if (strncmp(module_texts[i].name, name, size) == 0 &&
		    module_texts[i].name[size] == '.')
			return true;
	return false;
}

static struct orma_module *find_module(const struct orma_module_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->modules[i].name, name) == 0)
			return &list->modules[i];
	return NULL;
}

static struct orma_module *add_name(struct orma_module_list *list, const char *name)
{
	if (list->count == list->capacity) {
		size_t capacity = ORMA_MAX(2 * list->capacity, (size_t)16);
		void *modules =
			orma_base_realloc_array(list->modules, capacity, sizeof(*list->modules));
		if (!modules)
			return NULL;
		list->modules = modules;
		list->capacity = capacity;
	}
	char *copy = orma_base_strdup(name);
	if (!copy)
		return NULL;
	list->modules[list->count] = (struct orma_module){.name = copy};
	return &list->modules[list->count++];
}

int orma_modules_add(struct orma_module_list *list, const char *name, struct orma_str text,
		     bool replaces)
{
	if (!is_module_name(name))
		return -EINVAL;
	struct orma_module *module = find_module(list, name);
	if (!replaces && (module || is_built_in_package(name)))
		return -EEXIST;
	char *copy = orma_base_str_dup(text);
	if (copy && !module)
		module = add_name(list, name);
	if (!copy || !module) {
		orma_base_free(copy);
		return -ENOMEM;
	}
	orma_base_free(module->text);
	module->text = copy;
	module->size = text.size;
	return 0;
}

const char *orma_module_name(void *ctx, size_t idx)
{
	const struct orma_trace_database *database = ctx;
	if (idx < BUILT_IN)
		return module_texts[idx].name;
	idx -= BUILT_IN;
	return idx < database->modules.count ? database->modules.modules[idx].name : NULL;
}

struct orma_str orma_module_text(void *ctx, const char *name)
{
	const struct orma_trace_database *database = ctx;
	const struct orma_module *module = find_module(&database->modules, name);
	if (module)
		return (struct orma_str){module->text, module->size};
	for (size_t i = 0; i < BUILT_IN; i++)
		if (strcmp(module_texts[i].name, name) == 0)
			return orma_base_str(module_texts[i].text);
	return (struct orma_str){NULL, 0};
}
