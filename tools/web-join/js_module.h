/* SPDX-License-Identifier: Apache-2.0
 * js_module.h - a module of the page: what it imports, which names it has, and what is left of it in the joined file.
 */
#ifndef ORMA_TOOLS_WEB_JOIN_JS_MODULE_H
#define ORMA_TOOLS_WEB_JOIN_JS_MODULE_H

#include "base/buf.h"
#include "base/str.h"

enum { JS_NAMES_MAX = 512, JS_IMPORTS_MAX = 512 };

/* A name at the top of a module. */
struct js_name {
	struct orma_str text;
	unsigned line;
	bool is_exported;
};

struct js_import {
	struct orma_str name, file; /* "scale", "time.js" */
	unsigned line;
};

struct js_module {
	const char *file;
	struct orma_buf source;
	struct orma_buf joined; /* without imports and the words `export` */
	struct js_name names[JS_NAMES_MAX];
	size_t name_count;
	struct js_import imports[JS_IMPORTS_MAX];
	size_t import_count;
	unsigned programs; /* a bit for each program that has it */
	bool is_written;
};

/* Reads module->source. False when the module breaks a rule, which a message has said. */
bool js_module_read(struct js_module *module);
const struct js_name *js_module_find(const struct js_module *module, struct orma_str name);

#endif
