/* SPDX-License-Identifier: Apache-2.0
 * protogen_tables.c - protogen_tables OUT_FOLDER FILE.proto...: writes <file>.pb.h and <file>.pb.c
 * for each of the files, which may import each other by their names without folders.
 *
 * A development tool: users of orma get what it writes, src/schema/gen, from the repository. It
 * reads .proto files as `orma protogen` does, with the same sources. It is not a subcommand of
 * orma, because orma cannot be built before src/schema/gen is there. Rejected: protoc and its
 * descriptors (a second reader of the same language, and a requirement of the build).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "tables.h"

#define FILE_MAX_BYTES (16 << 20)

static int parse_file(struct pg_generator *generator, const char *path)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0};
	struct orma_tool_proto_file *file;
	int r = orma_base_file_read(AT_FDCWD, path, FILE_MAX_BYTES, &text);

	if (r < 0) {
		fprintf(stderr, "protogen_tables: cannot read %s: %s\n", path, strerror(-r));
		return r;
	}
	return orma_tool_proto_parse(&generator->set, path,
				     text.data ? (const char *)text.data : "", text.size, &file);
}

static int write_file(const char *path, const struct orma_buf *content)
{
	FILE *file = fopen(path, "wbe");
	bool ok;

	if (!file) {
		fprintf(stderr, "protogen_tables: cannot write %s: %s\n", path, strerror(errno));
		return -errno;
	}
	ok = fwrite(content->data, 1, content->size, file) == content->size;
	if (fclose(file) == 0 && ok)
		return 0;
	fprintf(stderr, "protogen_tables: cannot write %s: %s\n", path, strerror(errno));
	return -EIO;
}

typedef void emit_fn(struct pg_generator *generator, const struct orma_tool_proto_file *file);

static int generate_file(struct pg_generator *generator, emit_fn *emit, const char *folder,
			 const struct orma_tool_proto_file *file, const char *suffix)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0};
	const char *path = orma_tool_proto_format(&generator->output, "%s/%s%s", folder,
						  pg_stem(generator, file->path), suffix);

	generator->output.text = &text;
	emit(generator, file);
	generator->output.text = NULL;
	if (generator->output.failure < 0)
		return generator->output.failure;
	return write_file(path, &text);
}

static int generate(struct pg_generator *generator, const char *folder, char **paths)
{
	int r = 0;

	for (; *paths && r == 0; paths++)
		r = parse_file(generator, *paths);
	if (r == 0)
		r = orma_tool_proto_resolve(&generator->set);
	if (r == 0)
		r = pg_prepare(generator);
	for (const struct orma_tool_proto_file *file = generator->set.files; file && r == 0;
	     file = file->next) {
		r = generate_file(generator, pg_emit_header, folder, file, ".pb.h");
		if (r == 0)
			r = generate_file(generator, pg_emit_source, folder, file, ".pb.c");
	}
	return r;
}

int main(int argc, char **argv)
{
	struct pg_generator generator = {0};
	int r;

	if (orma_base_fds_hold_standard() < 0)
		return 1;
	if (argc < 3) {
		fputs("usage: protogen_tables OUT_FOLDER FILE.proto...\n", stderr);
		return 2;
	}
	generator.output.arena = &generator.set.arena;
	r = generate(&generator, argv[1], argv + 2);
	if (generator.set.error.code < 0)
		fprintf(stderr, "protogen_tables: %s\n", generator.set.error.message);
	else if (r == -ENOMEM)
		fputs("protogen_tables: out of memory\n", stderr);
	orma_base_map_done(&generator.constants);
	orma_tool_proto_set_done(&generator.set);
	return r < 0;
}
