/* SPDX-License-Identifier: Apache-2.0
 * mount_table.c - the text of /proc/self/mountinfo.
 *
 * Owns nothing. A line is "36 35 98:0 /root /mount/point options - type source options". The third
 * word is the device. The kernel writes blanks, newlines and backslashes in paths as octal numbers.
 * Rejected: /proc/mounts with a stat() of each mount point, which blocks on a file server that does
 * not answer.
 */
#include <sys/sysmacros.h>

#include "probes/inode_file_map/inode_file_map.h"
#include "probes/probe_text.h"

/* "\040" becomes a blank. */
static bool unescape(struct orma_str text, struct orma_buf *ret)
{
	ret->size = 0;
	if (orma_base_buf_reserve(ret, text.size + 1) < 0)
		return false;
	for (size_t i = 0; i < text.size; i++) {
		const char *at = text.data + i;
		char c = *at;
		if (c == '\\' && text.size - i >= 4 && at[1] >= '0' && at[1] <= '3' &&
		    at[2] >= '0' && at[2] <= '7' && at[3] >= '0' && at[3] <= '7') {
			c = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			i += 3;
		}
		ret->data[ret->size++] = (uint8_t)c;
	}
	return true;
}

static bool parse_line(struct orma_str line, struct orma_buf *path_buf, struct orma_mount *ret)
{
	struct orma_str word, major_word, root, path;
	uint32_t major_id, minor_id;

	if (!orma_probes_text_word(&line, &word) || !orma_probes_text_word(&line, &word) ||
	    !orma_probes_text_word(&line, &word) ||
	    !orma_probes_text_until(&word, ':', &major_word) ||
	    !orma_probes_text_u32(major_word, &major_id) ||
	    !orma_probes_text_u32(word, &minor_id) || !orma_probes_text_word(&line, &root) ||
	    !orma_probes_text_word(&line, &path) || path.data[0] != '/' ||
	    !unescape(path, path_buf))
		return false;
	*ret = (struct orma_mount){
		.device = makedev(major_id, minor_id),
		.is_whole = orma_base_str_is(root, "/"),
		.path = {(const char *)path_buf->data, path_buf->size},
	};
	return true;
}

bool orma_mount_next(struct orma_str *text, struct orma_buf *path_buf, struct orma_mount *ret)
{
	struct orma_str line;

	while (orma_probes_text_line(text, &line))
		if (parse_line(line, path_buf, ret))
			return true;
	return false;
}
