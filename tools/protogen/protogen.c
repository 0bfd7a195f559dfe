/* SPDX-License-Identifier: Apache-2.0
 * protogen.c - protogen DESCRIPTOR_SET OUT_FOLDER: writes <file>.pb.h and <file>.pb.c for every
 * file of the set.
 *
 * A development tool; users of orma get its output from the repository. Rejected: a protoc plugin
 * (needs protobuf's library), a parser for .proto (protoc has one).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "emit.h"

static int read_all(const char *path, struct orma_buf *out)
{
	char chunk[4096];
	FILE *file = fopen(path, "rbe");
	size_t size;
	int err = 0;

	if (!file)
		return -errno;
	while (err == 0 && (size = fread(chunk, 1, sizeof(chunk), file)) > 0)
		err = orma_base_buf_append(out, chunk, size);
	if (ferror(file))
		err = -EIO;
	fclose(file);
	return err;
}

static int write_all(const char *path, const struct orma_buf *content)
{
	FILE *file = fopen(path, "wbe");
	bool ok;

	if (!file)
		return -errno;
	ok = fwrite(content->data, 1, content->size, file) == content->size;
	return fclose(file) == 0 && ok ? 0 : -EIO;
}

static int emit_file(struct pg_model *model, const struct pg_file *file, const char *folder)
{
	struct orma_buf header = {0}, source = {0};
	const char *base = pg_printf(&model->arena, "%s/%s.pb", folder, file->name);
	int err = pg_emit_header(model, file, &header);

	if (err == 0)
		err = pg_emit_source(model, file, &source);
	if (err == 0)
		err = write_all(pg_printf(&model->arena, "%s.h", base), &header);
	if (err == 0)
		err = write_all(pg_printf(&model->arena, "%s.c", base), &source);
	orma_base_buf_done(&header);
	orma_base_buf_done(&source);
	return err;
}

int main(int argc, char **argv)
{
	struct orma_buf set = {0};
	struct pg_model model = {0};
	int err;

	if (orma_base_fds_hold_standard() < 0)
		return 1;
	if (argc != 3) {
		fputs("usage: protogen DESCRIPTOR_SET OUT_FOLDER\n", stderr);
		return 2;
	}
	err = read_all(argv[1], &set);
	if (err == 0)
		err = pg_model_read(&model, set.data, set.size);
	for (size_t i = 0; err == 0 && i < model.file_count; i++)
		err = emit_file(&model, model.files[i], argv[2]);
	if (err < 0)
		fprintf(stderr, "protogen: %s\n", strerror(-err));
	orma_base_map_done(&model.constants);
	orma_base_arena_done(&model.arena);
	orma_base_buf_done(&set);
	return err < 0;
}
