/* SPDX-License-Identifier: Apache-2.0
 * source_tree.c - the files of the tree: loading them and what they include; memory and text.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgamate.h"
#include "base/assert.h"

/* --- memory and text -------------------------------------------------------------------------- */

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
		am_fail("out of memory");
	return memory;
}

const char *am_copy(struct am_tree *tree, const char *text, size_t size)
{
	char *copy = am_alloc(tree, size + 1);

	memcpy(copy, text, size);
	return copy;
}

/* Two names with the same hash of 64 bits would be taken for one. The tree has 10,000 names. */
void *am_find(const struct orma_map *map, const char *text, size_t size)
{
	return orma_base_map_get(map, orma_base_fnv1a(ORMA_FNV1A_INIT, text, size));
}

void am_put(struct orma_map *map, const char *text, size_t size, void *value)
{
	if (orma_base_map_put(map, orma_base_fnv1a(ORMA_FNV1A_INIT, text, size), value) < 0)
		am_fail("out of memory");
}

void am_append(struct orma_buf *buf, const char *text, size_t size)
{
	if (orma_base_buf_append(buf, text, size) < 0)
		am_fail("out of memory");
}

void am_append_text(struct orma_buf *buf, const char *text)
{
	am_append(buf, text, strlen(text));
}

const char *am_join(struct am_tree *tree, const char *first, const char *second, const char *third)
{
	struct orma_buf buf = {0};
	const char *text;

	am_append_text(&buf, first);
	am_append_text(&buf, second);
	am_append_text(&buf, third);
	text = am_copy(tree, (const char *)buf.data, buf.size);
	orma_base_buf_done(&buf);
	return text;
}

void am_read(const char *path, struct orma_buf *out)
{
	char chunk[4096];
	size_t size;
	FILE *file = fopen(path, "rbe");

	if (!file)
		am_fail("cannot open %s: %s", path, strerror(errno));
	while ((size = fread(chunk, 1, sizeof(chunk), file)) > 0)
		am_append(out, chunk, size);
	if (ferror(file))
		am_fail("cannot read %s: %s", path, strerror(errno));
	fclose(file);
}

/* --- files ------------------------------------------------------------------------------------ */

struct am_file *am_load(struct am_tree *tree, const char *path)
{
	struct am_file *file = am_find(&tree->files, path, strlen(path));
	struct orma_buf text = {0};

	if (file)
		return file;
	file = am_alloc(tree, sizeof(*file));
	file->path = path;
	file->is_source = strcmp(path + strlen(path) - 2, ".c") == 0;
	am_read(am_join(tree, tree->root, "/", path), &text);
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

const char *am_included(struct am_tree *tree, const struct am_item *item, const char **ret_system)
{
	const char *open = memchr(item->start, '"', (size_t)(item->end - item->start));
	const char *close;

	ORMA_ASSERT(item->start < item->end && *item->start == '#');
	*ret_system = NULL;
	if (open) {
		close = memchr(open + 1, '"', (size_t)(item->end - open - 1));
		return am_join(tree, "src/", am_copy(tree, open + 1, (size_t)(close - open - 1)),
			       "");
	}
	open = memchr(item->start, '<', (size_t)(item->end - item->start));
	close = open ? memchr(open, '>', (size_t)(item->end - open)) : NULL;
	if (!close)
		am_fail("%s: cannot understand %.*s", item->file->path,
			(int)(item->end - item->start), item->start);
	*ret_system = am_copy(tree, open + 1, (size_t)(close - open - 1));
	return strncmp(*ret_system, "orma/", 5) == 0 ? am_join(tree, "include/", *ret_system, "")
						     : NULL;
}

void am_load_includes(struct am_tree *tree)
{
	/* Files that this loads are appended to the list, so that the loop reaches them too. */
	for (struct am_file *file = tree->first; file; file = file->next) {
		for (struct am_item *item = file->items; item; item = item->next) {
			const char *system, *path = item->kind == AM_INCLUDE
							    ? am_included(tree, item, &system)
							    : NULL;

			if (path)
				am_load(tree, path);
		}
	}
}
