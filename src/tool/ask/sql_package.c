/* SPDX-License-Identifier: Apache-2.0
 * sql_package.c - walks a folder for --add-sql-package. Links to folders are not followed, so the walk ends.
 */
#include "tool/ask/sql_package.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/tool.h"

enum { MODULE_MAX_BYTES = 16 << 20, FOLDERS_MAX = 10000 };

struct walk {
	const char *root, *package;
	bool is_overriding;
	struct orma_module_list *list;
	/* Folders below the root that are still to be read, each with a NUL behind; "" is the root itself. */
	struct orma_buf folders;
	size_t folder_count;
};

static int add_file(struct walk *walk, const char *path, const char *below)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0}, name = {0};
	int r = orma_base_file_read(AT_FDCWD, path, MODULE_MAX_BYTES, &text);
	if (r < 0)
		return orma_tool_fail("cannot read %s: %s", path, strerror(-r));
	r = orma_base_buf_printf(&name, "%s%s%.*s", walk->package, *walk->package ? "." : "",
				 (int)(strlen(below) - strlen(".sql")), below);
	for (size_t i = strlen(walk->package); r == 0 && i < name.size; i++)
		if (name.data[i] == '/')
			name.data[i] = '.';
	const char *module = r == 0 ? orma_base_buf_cstr(&name) : NULL;
	if (!module)
		return orma_tool_fail("%s", strerror(ENOMEM));
	r = orma_modules_add(walk->list, module,
			     (struct orma_str){(const char *)text.data, text.size},
			     walk->is_overriding);
	if (r == -EEXIST)
		return orma_tool_fail("%s: there is already a module or package named %s; give the "
				      "package another name with @NAME",
				      path, module);
	if (r == -EINVAL) {
		orma_tool_warn("%s is left out: \"%s\" is not the name of a module", path, module);
		return 0;
	}
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : 0;
}

static int take_entry(struct walk *walk, const char *folder, const char *entry)
{
	char below[PATH_MAX], path[PATH_MAX];
	struct stat info;
	size_t size = strlen(entry);
	if (entry[0] == '.')
		return 0;
	if ((size_t)snprintf(below, sizeof(below), "%s%s%s", folder, *folder ? "/" : "", entry) >=
		    sizeof(below) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", walk->root, below) >= sizeof(path))
		return orma_tool_fail("%s: %s", walk->root, strerror(ENAMETOOLONG));
	if (lstat(path, &info) < 0)
		return 0;
	if (S_ISDIR(info.st_mode)) {
		walk->folder_count++;
		return orma_base_buf_append(&walk->folders, below, strlen(below) + 1);
	}
	bool is_sql = size > 4 && strcmp(entry + size - 4, ".sql") == 0;
	return is_sql ? add_file(walk, path, below) : 0;
}

static int read_folder(struct walk *walk, const char *folder)
{
	char path[PATH_MAX];
	struct dirent **entries;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", walk->root, folder) >= sizeof(path))
		return orma_tool_fail("%s: %s", walk->root, strerror(ENAMETOOLONG));
	int count = scandir(path, &entries, NULL, alphasort), r = 0;
	if (count < 0)
		return orma_tool_fail("cannot read the folder %s: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = take_entry(walk, folder, entries[i]->d_name);
		free(entries[i]); /* calls: allow free, because scandir() allocated it */
	}
	free(entries); /* calls: allow free, because scandir() allocated it */
	return r;
}

static int read_folders(struct walk *walk)
{
	int r = orma_base_buf_append(&walk->folders, "", 1);
	walk->folder_count = 1;
	for (size_t at = 0; r == 0 && at < walk->folders.size;) {
		char folder[PATH_MAX];
		snprintf(folder, sizeof(folder), "%s", (const char *)walk->folders.data + at);
		at += strlen(folder) + 1;
		r = read_folder(walk, folder);
		if (walk->folder_count > FOLDERS_MAX)
			return orma_tool_fail("%s has more than %d folders", walk->root,
					      FOLDERS_MAX);
	}
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : r;
}

int orma_sql_package_read(const char *package, bool is_overriding, struct orma_module_list *list)
{
	char root[PATH_MAX];
	const char *at = strrchr(package, '@');
	size_t size = at ? (size_t)(at - package) : strlen(package);
	while (size > 1 && package[size - 1] == '/')
		size--;
	if (size == 0 || size >= sizeof(root))
		return orma_tool_fail("\"%s\" names no folder", package);
	memcpy(root, package, size);
	root[size] = '\0';
	const char *slash = strrchr(root, '/');
	struct walk walk = {.root = root,
			    .package = at      ? at + 1
				       : slash ? slash + 1
					       : root,
			    .is_overriding = is_overriding,
			    .list = list};
	int r = read_folders(&walk);
	orma_base_buf_done(&walk.folders);
	return r;
}
