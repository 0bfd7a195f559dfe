/* SPDX-License-Identifier: Apache-2.0
 * protogen.c - `orma protogen`: makes a C header of setters from a user's .proto file.
 *
 * It loads the named file and its imports, each once, breadth first, and writes the header only
 * when all of them were parsed and resolved. The other generator, tools/protogen, is a program of
 * its own: it makes src/schema/gen, without which this binary cannot be built.
 *
 * Rejected: a plugin for protoc (every build of a program would need protoc), one header with all
 * imports (the headers of two .proto files would define the same things).
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tool/print.h"
#include "tool/protogen/proto_setters.h"
#include "tool/tool.h"

#define FOLDERS_MAX 64

struct protogen {
	struct orma_tool_proto_set set;
	struct orma_map loaded; /* files by the hash of their paths */
	const char *folders[FOLDERS_MAX];
	size_t folder_count;
	const char *prefix, *out; /* NULL = default */
};

static uint64_t hash_path(const char *path)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, path, strlen(path));
}

static bool is_loaded(const struct protogen *pg, const char *path)
{
	const struct orma_tool_proto_file *file = orma_base_map_get(&pg->loaded, hash_path(path));

	return file && strcmp(file->path, path) == 0;
}

static int load(struct protogen *pg, const char *path, struct orma_tool_proto_file **ret)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0};
	int r = orma_tool_read_file(path, &text);

	*ret = NULL;
	if (r == 0)
		r = orma_tool_proto_parse(&pg->set, path, text.data ? (const char *)text.data : "",
					  text.size, ret);
	return r < 0 ? r : orma_base_map_put(&pg->loaded, hash_path(path), *ret);
}

/*
 * Perfetto's files may be missing, because it is known which of its messages can be extended.
 * Protobuf's own may be missing too: they are imported to define options, and traces contain none.
 */
static bool may_be_missing(const char *path)
{
	return strncmp(path, "protos/perfetto/", 16) == 0 || strncmp(path, "perfetto/", 9) == 0 ||
	       strncmp(path, "google/protobuf/", 16) == 0;
}

static int load_import(struct protogen *pg, struct orma_tool_proto_file *file,
		       const struct orma_tool_proto_import *import)
{
	struct orma_tool_proto_file *loaded;
	int r = -ENOENT;

	for (size_t i = 0; i < pg->folder_count && r == -ENOENT; i++) {
		struct orma_buf ORMA_AUTO(orma_base_buf_done) path = {0};
		bool is_here = strcmp(pg->folders[i], ".") == 0;

		if (orma_base_buf_printf(&path, "%s%s%s", is_here ? "" : pg->folders[i],
					 is_here ? "" : "/", import->path) < 0 ||
		    !orma_base_buf_cstr(&path))
			return -ENOMEM;
		if (is_loaded(pg, (const char *)path.data))
			return 0;
		r = load(pg, (const char *)path.data, &loaded);
	}
	if (r == -ENOENT && may_be_missing(import->path))
		return 0;
	if (r < 0 && pg->set.error.code == 0)
		return orma_proto_lexer_fail_at(&file->lexer, import->path_at, "cannot read %s: %s",
						orma_proto_quote(import->path_at).text,
						strerror(-r));
	return r;
}

/* Returns the name of the header's include guard, in the arena; NULL when there is no memory. */
static const char *make_guard(struct protogen *pg, const char *path)
{
	const char *base = strrchr(path, '/');
	char *guard = orma_base_arena_alloc(&pg->set.arena, strlen(path) + sizeof("PZ__H"));
	char *at = guard;

	base = base ? base + 1 : path;
	/* An identifier must not begin with a digit. One that begins with an underscore is reserved. */
	if (guard && !isalpha((unsigned char)*base))
		at = stpcpy(at, "PZ_");
	for (; guard && *base; base++)
		*at++ = (char)(isalnum((unsigned char)*base) ? toupper((unsigned char)*base) : '_');
	return guard;
}

static int generate(struct protogen *pg, const char *path, struct orma_buf *out)
{
	struct orma_tool_proto_file *file = NULL;
	const char *guard;
	int r = load(pg, path, &file);

	/* Files that are loaded here are appended to the list, so that the loop reaches them
	 * too. */
	for (struct orma_tool_proto_file *importer = file; importer && r == 0;
	     importer = importer->next) {
		for (const struct orma_tool_proto_import *import = importer->imports;
		     import && r == 0; import = import->next)
			r = load_import(pg, importer, import);
	}
	if (r == 0)
		r = orma_tool_proto_resolve(&pg->set);
	if (r < 0)
		return r;
	guard = make_guard(pg, strcmp(pg->out, "-") == 0 ? path : pg->out);
	if (!guard)
		return -ENOMEM;
	return orma_tool_proto_emit_setters(&pg->set, file, guard, pg->prefix, out);
}

static int write_header(const char *path, const struct orma_buf *text)
{
	FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	bool ok;

	if (!file)
		return orma_tool_fail("cannot write %s: %s", path, strerror(errno));
	ok = orma_tool_write_raw(file, text->data, text->size) == 0;
	if (file == stdout ? fflush(file) != 0 : fclose(file) != 0)
		ok = false;
	return ok ? ORMA_EXIT_OK : orma_tool_fail("cannot write %s: %s", path, strerror(errno));
}

/* Returns the exit status. */
static int run(struct protogen *pg, const char *path)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0}, default_out = {0};
	size_t stem_size = strlen(path);
	int r;

	if (stem_size > 6 && strcmp(path + stem_size - 6, ".proto") == 0)
		stem_size -= 6;
	if (!pg->out) {
		if (orma_base_buf_printf(&default_out, "%.*s.pz.h", (int)stem_size, path) < 0 ||
		    !orma_base_buf_cstr(&default_out))
			return orma_tool_fail("out of memory");
		pg->out = (const char *)default_out.data;
	}
	r = generate(pg, path, &text);
	if (r < 0 && pg->set.error.code != 0)
		return orma_tool_fail_in_text(&pg->set.error);
	if (r < 0)
		return orma_tool_fail("%s: %s", path, strerror(-r));
	return write_header(pg->out, &text);
}

static bool is_identifier(const char *text)
{
	if (!isalpha((unsigned char)*text))
		return false;
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	return *text == '\0';
}

static const struct orma_tool_option option_table[] = {
	{'o', "out", "FILE",
	 "Write the header to FILE; - is standard output. Default: the .proto file's name with "
	 ".pz.h.",
	 ORMA_COMPLETE_FILE},
	{'I', "include", "DIR",
	 "Search DIR for imports; may be repeated. Default: the working directory.",
	 ORMA_COMPLETE_FOLDER},
	{'p', "prefix", "NAME", "Begin generated names with NAME instead of the package.", NULL},
	{0},
};

static int take_option(void *ctx, int option, char *value)
{
	struct protogen *pg = ctx;

	switch (option) {
	case 'o':
		pg->out = value;
		return -1;
	case 'I':
		if (pg->folder_count == FOLDERS_MAX)
			return orma_tool_usage_error("--include can be given %d times at most",
						     FOLDERS_MAX);
		pg->folders[pg->folder_count++] = value;
		return -1;
	case 'p':
		if (!is_identifier(value))
			return orma_tool_usage_error("--prefix \"%s\" cannot begin a name in C",
						     value);
		pg->prefix = value;
		return -1;
	default:
		return ORMA_EXIT_USAGE;
	}
}

static int run_command(int argc, char **argv)
{
	struct protogen pg = {0};
	int status = orma_tool_read_options(&orma_protogen_command, argc, argv, take_option, &pg);

	if (status >= 0)
		return status;
	if (optind + 1 != argc)
		return orma_tool_usage_error("name one .proto file");
	if (pg.folder_count == 0)
		pg.folders[pg.folder_count++] = ".";
	status = run(&pg, argv[optind]);
	orma_base_map_done(&pg.loaded);
	orma_tool_proto_set_done(&pg.set);
	return status;
}

const struct orma_tool_command orma_protogen_command = {
	.name = "protogen",
	.summary = "make a C header of setters from a .proto file",
	.usage = "[OPTIONS] FILE.proto",
	.about = "Makes a C header (C11, C++17) with a setter for each field of the messages in a "
		 ".proto file, for packets that a program writes with <orma/packet.h>. Needs no "
		 "protoc.",
	.options = option_table,
	.completes = ORMA_COMPLETE_PROTO,
	.run = run_command,
};
