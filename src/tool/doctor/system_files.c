/* SPDX-License-Identifier: Apache-2.0
 * system_files.c - small parsers of /proc and /sys.
 */
#include "tool/doctor/system_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "probes/probe_text.h"

#define FILE_BYTES_MAX ((size_t)4 << 20)

static int make_path(const char *root, const char *path, char ret[PATH_MAX])
{
	return snprintf(ret, PATH_MAX, "%s%s", root, path) >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int orma_system_file_read(const char *root, const char *path, struct orma_buf *ret)
{
	char name[PATH_MAX];
	int r = make_path(root, path, name);

	ret->size = 0;
	return r ? r : orma_base_file_read(AT_FDCWD, name, FILE_BYTES_MAX, ret);
}

static struct orma_str text_of(const struct orma_buf *content)
{
	return (struct orma_str){(const char *)content->data, content->size};
}

bool orma_system_file_read_u64(const char *root, const char *path, uint64_t *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	struct orma_str line, text;

	if (orma_system_file_read(root, path, &content))
		return false;
	text = text_of(&content);
	return orma_probes_text_line(&text, &line) &&
	       orma_probes_text_u64(orma_probes_text_trim(line), ret);
}

bool orma_system_file_find_u64(const char *root, const char *path, const char *key, uint64_t *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	struct orma_str line, text, word;

	if (orma_system_file_read(root, path, &content))
		return false;
	text = text_of(&content);
	while (orma_probes_text_line(&text, &line))
		if (orma_probes_text_word(&line, &word) && orma_base_str_is(word, key))
			return orma_probes_text_next_u64(&line, ret);
	return false;
}

bool orma_system_file_is_readable(const char *root, const char *path)
{
	char name[PATH_MAX];

	return make_path(root, path, name) == 0 && access(name, R_OK) == 0;
}

bool orma_system_find_tracefs(const char *root, char ret[PATH_MAX])
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	struct orma_str line, text, device, folder, type;

	if (orma_system_file_read(root, "/proc/mounts", &content))
		return false;
	text = text_of(&content);
	while (orma_probes_text_line(&text, &line))
		if (orma_probes_text_word(&line, &device) &&
		    orma_probes_text_word(&line, &folder) && orma_probes_text_word(&line, &type) &&
		    orma_base_str_is(type, "tracefs") &&
		    snprintf(ret, PATH_MAX, "%.*s", (int)folder.size, folder.data) < PATH_MAX)
			return true;
	return false;
}

void orma_system_name_group(const char *root, gid_t gid, char *ret, size_t size)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	struct orma_str line, text, name, password, number;
	uint64_t value;

	snprintf(ret, size, "%u", (unsigned)gid);
	if (orma_system_file_read(root, "/etc/group", &content))
		return;
	text = (struct orma_str){(const char *)content.data, content.size};
	while (orma_probes_text_line(&text, &line))
		if (orma_probes_text_until(&line, ':', &name) &&
		    orma_probes_text_until(&line, ':', &password) &&
		    orma_probes_text_until(&line, ':', &number) &&
		    orma_probes_text_u64(number, &value) && value == gid) {
			snprintf(ret, size, "%.*s", (int)name.size, name.data);
			return;
		}
}
