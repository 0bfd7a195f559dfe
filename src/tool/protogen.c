/* SPDX-License-Identifier: Apache-2.0
 * protogen.c - `orma protogen`: from somebody's .proto file to a C header of setters.
 *
 * Owns the set of files: the one that was named, and what it imports, each loaded once, in the
 * order of their naming. The header is written when all is well, and not before. Rejected: a plugin
 * for protoc (everybody who builds a program would need protoc), one header for all imports (two
 * programs' headers would define the same things).
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "tool/print.h"
#include "tool/proto_file.h"
#include "tool/tool.h"

#define FOLDERS_MAX 64

static void print_help(void)
{
	puts("Usage: orma protogen [OPTIONS] FILE.proto\n"
	     "\n"
	     "Makes a C header (C11, C++17) with a setter for each field of the messages in a "
	     ".proto\n"
	     "file, for packets that a program writes with <orma/packet.h>. Needs no protoc.\n"
	     "\n"
	     "  -o, --out FILE      the header; default: FILE.pz.h beside FILE.proto, - is "
	     "standard output\n"
	     "  -I, --include DIR   where imports are looked for; may be given often; default: .\n"
	     "  -p, --prefix NAME   what names begin with, instead of the package\n"
	     "  -h, --help          show this");
}

struct protogen {
	struct orma_tool_proto_set set;
	struct orma_map loaded; /* files by hash of their paths */
	const char *folders[FOLDERS_MAX];
	size_t folder_count;
	const char *prefix, *out;
};

static bool is_loaded(const struct protogen *pg, const char *path)
{
	const struct orma_tool_proto_file *file = orma_base_map_get(
		&pg->loaded, orma_base_fnv1a(ORMA_FNV1A_INIT, path, strlen(path)));

	return file && strcmp(file->path, path) == 0;
}

static int load(struct protogen *pg, const char *path, struct orma_tool_proto_file **ret)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0};
	int err = orma_tool_read_file(path, &text);

	*ret = NULL;
	if (err == 0)
		err = orma_tool_proto_parse(
			&pg->set, path, text.data ? (const char *)text.data : "", text.size, ret);
	if (err)
		return err;
	return orma_base_map_put(&pg->loaded, orma_base_fnv1a(ORMA_FNV1A_INIT, path, strlen(path)),
				 *ret);
}

/*
 * Upstream's files may be missing, what is there to be extended is known without them; so may
 * protobuf's own, whose options nobody writes into a trace.
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
	int err = -ENOENT;

	for (size_t i = 0; i < pg->folder_count && err == -ENOENT; i++) {
		struct orma_buf ORMA_AUTO(orma_base_buf_done) path = {0};
		bool is_here = strcmp(pg->folders[i], ".") == 0;

		if (orma_base_buf_printf(&path, "%s%s%s", is_here ? "" : pg->folders[i],
					 is_here ? "" : "/", import->path) < 0 ||
		    !orma_base_buf_cstr(&path))
			return -ENOMEM;
		if (is_loaded(pg, (const char *)path.data))
			return 0;
		err = load(pg, (const char *)path.data, &loaded);
	}
	if (err == -ENOENT && may_be_missing(import->path))
		return 0;
	if (err < 0 && pg->set.error.code == 0)
		return orma_proto_lexer_fail_at(&file->lexer, import->at, "cannot read %s: %s",
						orma_proto_quote(import->at).text, strerror(-err));
	return err;
}

static const char *make_guard(struct protogen *pg, const char *path)
{
	const char *base = strrchr(path, '/');
	char *guard = orma_base_arena_alloc(&pg->set.arena, strlen(path) + sizeof("PZ__H"));
	char *at = guard;

	base = base ? base + 1 : path;
	/* No identifier begins with a digit, and none of a program with an underscore. */
	if (guard && !isalpha((unsigned char)*base))
		at = stpcpy(at, "PZ_");
	for (; guard && *base; base++)
		*at++ = (char)(isalnum((unsigned char)*base) ? toupper((unsigned char)*base) : '_');
	return guard;
}

static int generate(struct protogen *pg, const char *path, const char *out_path,
		    struct orma_buf *out)
{
	struct orma_tool_proto_file *file = NULL, *each;
	const char *guard;
	int err = load(pg, path, &file);

	for (each = file; each && err == 0; each = each->next) {
		for (const struct orma_tool_proto_import *import = each->imports;
		     import && err == 0; import = import->next)
			err = load_import(pg, each, import);
	}
	if (err == 0)
		err = orma_tool_proto_resolve(&pg->set);
	if (err < 0)
		return err;
	guard = make_guard(pg, strcmp(out_path, "-") == 0 ? path : out_path);
	return guard ? orma_tool_proto_emit(&pg->set, file, guard, pg->prefix, out) : -ENOMEM;
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

static int run(struct protogen *pg, const char *path)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0}, name = {0};
	size_t stem = strlen(path);
	int err;

	if (stem > 6 && strcmp(path + stem - 6, ".proto") == 0)
		stem -= 6;
	if (!pg->out) {
		if (orma_base_buf_printf(&name, "%.*s.pz.h", (int)stem, path) < 0 ||
		    !orma_base_buf_cstr(&name))
			return orma_tool_fail("no memory");
		pg->out = (const char *)name.data;
	}
	err = generate(pg, path, pg->out, &text);
	if (err < 0 && pg->set.error.code != 0)
		return orma_tool_fail_in_text(&pg->set.error);
	if (err < 0)
		return orma_tool_fail("%s: %s", path, strerror(-err));
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

int orma_tool_protogen(int argc, char **argv)
{
	static const struct option options[] = {
		{"out", required_argument, NULL, 'o'},
		{"include", required_argument, NULL, 'I'},
		{"prefix", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct protogen pg = {.folders = {"."}};
	int status;

	for (int option; (option = orma_tool_option(argc, argv, ":o:I:p:h", options)) != -1;) {
		switch (option) {
		case 'o':
			pg.out = optarg;
			break;
		case 'I':
			if (pg.folder_count == FOLDERS_MAX)
				return orma_tool_usage_error("more than %d folders", FOLDERS_MAX);
			pg.folders[pg.folder_count++] = optarg;
			break;
		case 'p':
			if (!is_identifier(optarg))
				return orma_tool_usage_error("\"%s\" cannot begin a name in C",
							     optarg);
			pg.prefix = optarg;
			break;
		case 'h':
			print_help();
			return ORMA_EXIT_OK;
		default:
			return ORMA_EXIT_USAGE;
		}
	}
	if (optind + 1 != argc)
		return orma_tool_usage_error("name one .proto file");
	pg.folder_count += pg.folder_count == 0;
	status = run(&pg, argv[optind]);
	orma_base_map_done(&pg.loaded);
	orma_tool_proto_set_done(&pg.set);
	return status;
}
