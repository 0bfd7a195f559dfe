/* SPDX-License-Identifier: Apache-2.0
 * rename.c - names that are private to a source and clash with others in one file.
 *
 * A private name is renamed when another source uses it too. `send` of src/host/host_clone.c then
 * becomes host_clone_send.
 */
#include <ctype.h>
#include <string.h>

#include "amalgamate.h"
#include "base/assert.h"

bool am_is_local(const struct am_name *name, const struct am_name *all)
{
	if (!name->item->file->is_source || name->is_external)
		return false;
	/* A struct may be defined in one source and declared in a header for all. */
	for (; name->kind == AM_TAG && all; all = all->next_same) {
		if (all->kind == AM_TAG && !all->item->file->is_source)
			return false;
	}
	return true;
}

/* Puts the names of the folder and of the file in front, but the folder's only once. */
static const char *qualify(struct am_tree *tree, const struct am_file *file, const char *name)
{
	const char *base = strrchr(file->path, '/') + 1, *folder = base - 1;
	size_t folder_size;
	struct orma_buf buf = {0};
	const char *qualified;

	ORMA_ASSERT(file->is_source);
	while (folder[-1] != '/')
		folder--;
	folder_size = (size_t)(base - 1 - folder);
	if (strncmp(base, folder, folder_size) != 0) {
		am_append(&buf, folder, folder_size);
		am_append_text(&buf, "_");
	}
	am_append(&buf, base, strlen(base) - 2);
	am_append_text(&buf, "_");
	if (isupper((unsigned char)*name)) {
		for (size_t i = 0; i < buf.size; i++)
			buf.data[i] = (uint8_t)toupper(buf.data[i]);
	}
	am_append_text(&buf, name);
	qualified = am_copy(tree, (const char *)buf.data, buf.size);
	orma_base_buf_done(&buf);
	return qualified;
}

static void rename_one(struct am_tree *tree, struct am_name *name)
{
	struct am_rename *rename = am_alloc(tree, sizeof(*rename));
	struct am_file *file = name->item->file;

	rename->old_text = name->text;
	rename->kind = name->kind;
	rename->new_text = qualify(tree, file, name->text);
	if (am_find(&tree->names, rename->new_text, strlen(rename->new_text)))
		am_fail("%s: %s would become %s, which already exists", file->path, name->text,
			rename->new_text);
	am_put(&file->renames, name->text, strlen(name->text), rename);
}

static bool must_be_renamed(const struct am_name *name, const struct am_name *all)
{
	if (!am_is_local(name, all))
		return false;
	/* A name of one word may clash with a system header that another source includes. */
	if (!strchr(name->text, '_') && islower((unsigned char)*name->text) &&
	    name->kind == AM_ORDINARY)
		return true;
	for (; all; all = all->next_same) {
		if (all->item->file != name->item->file && all->kind == name->kind)
			return true;
	}
	return false;
}

/* Fails when two items define the same name for all files. */
static void check_definitions(const struct am_name *all)
{
	const struct am_name *first = NULL;

	for (const struct am_name *name = all; name; name = name->next_same) {
		if (!name->is_definite || am_is_local(name, all))
			continue;
		if (first && first->kind == name->kind && first->item != name->item)
			am_fail("%s is defined in %s and in %s", name->text, name->item->file->path,
				first->item->file->path);
		first = name;
	}
}

void am_rename_names(struct am_tree *tree)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&tree->names, &position)) != NULL) {
		check_definitions(slot->value);
		for (struct am_name *name = slot->value; name; name = name->next_same) {
			if (must_be_renamed(name, slot->value) &&
			    !am_find(&name->item->file->renames, name->text, strlen(name->text)))
				rename_one(tree, name);
		}
	}
}
