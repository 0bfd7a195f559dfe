/* SPDX-License-Identifier: Apache-2.0
 * amalgamate.c - amalgamate ROOT VERSION EXPORTS SOURCES OUT: the library as orma.h and orma.c.
 *
 * The public headers become orma.h. The sources become orma.c, in the order of the list SOURCES,
 * each header before its first use. There are five differences between the sources and orma.c:
 *   - All names are static that are not public (the list EXPORTS).
 *   - Items are left out that no public function reaches.
 *   - A name that is private to one source, and that another source has too, is prefixed with the
 *     name of its file.
 *   - Sources that the list calls cold are optimised for size.
 *   - Items that only the sources of the service reach stand between #ifndef ORMA_WITHOUT_SERVICE
 *     and #endif. A function of another source that calls the service has this condition in its
 *     own text. Items that only sources of consumers reach stand between #ifndef
 *     ORMA_PRODUCER_ONLY and #endif.
 *
 * The files of this folder are the steps: source_tree.c loads, lex.c and split.c cut into items,
 * rename.c finds names that clash, reach.c finds items that are needed, emit.c writes.
 *
 * Invariant: the same tree gives the same bytes, whatever folder it is in; each name is defined
 * once. Rejected: plain concatenation (static functions of the same name clash, and every user
 * compiles the tables of messages that the library never uses); making every static name unique in
 * the tree (a rule for a hundred files to please a generated one).
 */
#include "amalgamate.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"

/* Calls `use` for each line of a list that is neither empty nor a comment. */
static void read_list(struct am_tree *tree, const char *path,
		      void (*use)(struct am_tree *tree, const char *line))
{
	struct orma_buf text = {0};
	const char *at, *end;

	am_read(path, &text);
	for (at = am_copy(tree, (const char *)text.data, text.size); *at;
	     at = *end ? end + 1 : end) {
		end = at + strcspn(at, "\n");
		if (*at != '#' && end > at)
			use(tree, am_copy(tree, at, (size_t)(end - at)));
	}
	orma_base_buf_done(&text);
}

static void add_export(struct am_tree *tree, const char *name)
{
	am_put(&tree->exports, name, strlen(name), (void *)name);
}

/* A line is a path, followed by the words that apply to the file: "src/a/b.c cold service". */
static void add_source(struct am_tree *tree, const char *line)
{
	size_t size = strcspn(line, " ");
	struct am_file *file = am_load(tree, am_copy(tree, line, size));

	file->is_cold = strstr(line + size, " cold") != NULL;
	file->build = strstr(line + size, " service")    ? AM_WHOLE
		      : strstr(line + size, " consumer") ? AM_LEAN
							 : AM_PRODUCER;
}

int main(int argc, char **argv)
{
	struct am_tree tree = {0};
	size_t header_lines, source_lines;

	if (orma_base_fds_hold_standard() < 0)
		return 1;
	if (argc != 6) {
		fputs("usage: amalgamate ROOT VERSION EXPORTS SOURCES OUT\n", stderr);
		return 2;
	}
	tree.root = argv[1];
	read_list(&tree, argv[3], add_export);
	read_list(&tree, argv[4], add_source);
	am_load_includes(&tree);
	am_rename_names(&tree);
	am_find_reached(&tree, AM_WHOLE);
	am_find_reached(&tree, AM_LEAN);
	am_find_reached(&tree, AM_PRODUCER);
	header_lines = am_write_header(&tree, argv[2], argv[5]);
	source_lines = am_write_source(&tree, argv[2], argv[5]);
	printf("%s/orma.h: %zu lines\n%s/orma.c: %zu lines\n", argv[5], header_lines, argv[5],
	       source_lines);
	for (struct am_file *file = tree.first; file; file = file->next)
		orma_base_map_done(&file->renames);
	orma_base_map_done(&tree.files);
	orma_base_map_done(&tree.names);
	orma_base_map_done(&tree.exports);
	orma_base_arena_done(&tree.arena);
	return 0;
}
