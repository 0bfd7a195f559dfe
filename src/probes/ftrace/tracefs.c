/* SPDX-License-Identifier: Apache-2.0
 * tracefs.c - finds, reads and writes the files of tracefs.
 *
 * Owns the descriptor of one folder; every file is opened below it, for one read or one write. Files of tracefs follow
 * the rules of ordinary files where it matters: opening with O_TRUNC clears a list and does nothing to a single value,
 * and O_APPEND adds to a list. So there are two ways to write, and tests can use a folder of text files.
 *
 * A file does not always show the form that it takes. orma_tracefs_value() knows the exceptions, so that a saved value can be
 * written back. Rejected: opening `trace` to find out whether tracefs is usable, as that pauses tracing on older kernels.
 */
#include "probes/ftrace/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"

static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* --- the folder ------------------------------------------------------------------------------- */

bool orma_tracefs_is_name(struct orma_str name)
{
	if (name.size == 0 || name.size >= ORMA_TRACEFS_NAME_BYTES || name.data[0] == '.')
		return false;
	for (size_t i = 0; i < name.size; i++) {
		char c = name.data[i];
		bool is_word =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!is_word && c != '_' && c != '-' && c != '.' && c != ':')
			return false;
	}
	return true;
}

static int fail_root(const char *root, int error, struct orma_error *reterr)
{
	if (error == -ENOENT)
		return orma_base_error_set(reterr, error,
					   "tracefs is not mounted at %s; mount it with: "
					   "mount -t tracefs nodev /sys/kernel/tracing",
					   root);
	if (error == -EACCES || error == -EPERM)
		return orma_base_error_set(reterr, error,
					   "no permission to use %s; run this as root", root);
	return orma_base_error_set(reterr, error, "cannot open %s: %s", root,
				   orma_base_error_words(error));
}

/* A mount point without a file system on it has no file tracing_on. */
static int open_root(const char *path, struct orma_tracefs *ret)
{
	int fd = orma_probes_dir_open(AT_FDCWD, path);

	if (fd < 0)
		return fd;
	if (faccessat(fd, "tracing_on", R_OK | W_OK, AT_EACCESS) < 0) {
		int r = -errno;

		orma_base_fd_close(fd);
		return r;
	}
	ret->fd = fd;
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	return 0;
}

static int find_root(const char *root_path, struct orma_tracefs *ret, struct orma_error *reterr)
{
	if (root_path) {
		int r = open_root(root_path, ret);

		return r < 0 ? fail_root(root_path, r, reterr) : 0;
	}
	int first_error = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(roots); i++) {
		int r = open_root(roots[i], ret);

		if (r == 0)
			return 0;
		if (i == 0 || first_error == -ENOENT)
			first_error = r;
	}
	return fail_root(roots[0], first_error, reterr);
}

static int open_instance(const struct orma_tracefs *root, struct orma_str instance,
			 struct orma_tracefs *ret, struct orma_error *reterr)
{
	bool is_hypervisor =
		orma_base_str_is(instance, "hyp") || orma_base_str_is(instance, "hypervisor");

	if (!orma_tracefs_is_name(instance))
		return orma_base_error_set(reterr, -EINVAL,
					   "instance_name: not the name of an instance");
	int size = snprintf(ret->path, sizeof(ret->path), "%s/%s%.*s", root->path,
			    is_hypervisor ? "" : "instances/", (int)instance.size, instance.data);
	if (size < 0 || (size_t)size >= sizeof(ret->path))
		return orma_base_error_set(reterr, -ENAMETOOLONG, "instance_name: too long");
	int fd = orma_probes_dir_open(root->fd, ret->path + strlen(root->path) + 1);
	if (fd < 0)
		return orma_base_error_set(
			reterr, fd, "instance_name: cannot open %s: %s; make it with: mkdir %s",
			ret->path, orma_base_error_words(fd), ret->path);
	ret->fd = fd;
	return 0;
}

int orma_tracefs_open(const char *root_path, struct orma_str instance, struct orma_tracefs *ret,
		      struct orma_error *reterr)
{
	struct orma_tracefs root = {.fd = -1}, fs = {.fd = -1};
	int r = find_root(root_path, &root, reterr);

	if (r < 0)
		return r;
	if (instance.size == 0) {
		*ret = root;
		return 0;
	}
	r = open_instance(&root, instance, &fs, reterr);
	orma_tracefs_close(&root);
	if (r == 0)
		*ret = fs;
	return r;
}

void orma_tracefs_close(struct orma_tracefs *fs)
{
	if (fs)
		fs->fd = orma_base_fd_close(fs->fd);
}

/* --- files ------------------------------------------------------------------------------------ */

int orma_tracefs_read(const struct orma_tracefs *fs, const char *file, struct orma_buf *buf,
		      struct orma_str *ret)
{
	return orma_probes_file_read(fs->fd, file, buf, ret);
}

/* These lists have one function on a line. */
static bool is_function_list(struct orma_str file)
{
	return orma_base_str_is(file, "set_ftrace_filter") ||
	       orma_base_str_is(file, "set_graph_function");
}

/* The kernel forgets the rest of a write after a function that it refuses, for example since its module has gone. */
static int write_lines(int fd, struct orma_str text)
{
	struct orma_str line;
	int first_error = 0;

	while (orma_probes_text_line(&text, &line)) {
		char copy[ORMA_TRACEFS_LINE_BYTES];
		int r = -ENAMETOOLONG;

		if (line.size < sizeof(copy)) {
			memcpy(copy, line.data, line.size);
			copy[line.size] = '\n'; /* the kernel judges a word when it has ended */
			r = orma_base_fd_write_all(fd, copy, line.size + 1);
		}
		if (r < 0 && first_error == 0)
			first_error = r;
	}
	return first_error;
}

static int write_file(const struct orma_tracefs *fs, const char *file, struct orma_str text,
		      int flags)
{
	ORMA_AUTO(orma_base_fd_closep)
	int fd = orma_base_fd_avoid_standard(
		openat(fs->fd, file, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags));

	if (fd < 0)
		return -errno;
	if (is_function_list(orma_base_str(file)))
		return write_lines(fd, text);
	return text.size > 0 ? orma_base_fd_write_all(fd, text.data, text.size) : 0;
}

int orma_tracefs_write(const struct orma_tracefs *fs, const char *file, struct orma_str text)
{
	return write_file(fs, file, text, O_TRUNC);
}

int orma_tracefs_append(const struct orma_tracefs *fs, const char *file, struct orma_str text)
{
	return write_file(fs, file, text, O_APPEND);
}

bool orma_tracefs_is_readable(const struct orma_tracefs *fs, const char *file)
{
	return faccessat(fs->fd, file, R_OK, AT_EACCESS) == 0;
}

const char *orma_tracefs_event_file(char file[ORMA_TRACEFS_FILE_BYTES], struct orma_str group,
				    struct orma_str name, const char *leaf)
{
	snprintf(file, ORMA_TRACEFS_FILE_BYTES, "events/%.*s/%.*s/%s", (int)group.size, group.data,
		 (int)name.size, name.data, leaf);
	return file;
}

/* --- values ----------------------------------------------------------------------------------- */

/* "local [boot] mono" -> "boot" */
static int take_bracketed(struct orma_str text, struct orma_str *ret)
{
	struct orma_str before;

	if (!orma_probes_text_until(&text, '[', &before) ||
	    !orma_probes_text_until(&text, ']', ret))
		return -EBADMSG;
	return 0;
}

/* "1408", or "7 (expanded: 1408)" before the first use since the boot. "X": the CPUs have different sizes. */
static int take_size(struct orma_str text, struct orma_str *ret)
{
	struct orma_str word, last = {0};
	uint64_t size;

	while (orma_probes_text_word(&text, &word))
		last = word;
	if (orma_probes_text_has_suffix(last, ")"))
		last.size--;
	if (!orma_probes_text_u64(last, &size))
		return -EBADMSG;
	*ret = last;
	return 0;
}

/*
 * A line of a list of functions is "NAME", or "NAME [MODULE]", which cannot be written. A line with a colon is a command
 * ("NAME:traceoff:unlimited"), which stays when the list is cleared.
 */
static struct orma_str take_function(struct orma_str line)
{
	struct orma_str name = {0};

	if (!memchr(line.data, ':', line.size))
		(void)orma_probes_text_word(&line, &name);
	return name;
}

/* Removes the lines that begin with '#', in place; the text ends at the end of the buffer. */
static struct orma_str take_lines(struct orma_buf *buf, struct orma_str text, bool has_functions)
{
	struct orma_str line;
	size_t size = 0;

	while (orma_probes_text_line(&text, &line)) {
		if (has_functions && line.size > 0)
			line = take_function(line);
		if (line.size == 0 || line.data[0] == '#')
			continue;
		if (size > 0)
			buf->data[size++] = '\n';
		memmove(buf->data + size, line.data, line.size);
		size += line.size;
	}
	return (struct orma_str){(const char *)buf->data, size};
}

int orma_tracefs_value(const struct orma_tracefs *fs, const char *file, struct orma_buf *buf,
		       struct orma_str *ret)
{
	struct orma_str text, first_line = {0}, name = orma_base_str(file);
	int r = orma_tracefs_read(fs, file, buf, &text);

	if (r < 0)
		return r;
	bool has_functions = is_function_list(name);
	if (has_functions || orma_base_str_is(name, "set_event_pid") ||
	    orma_base_str_is(name, "set_event")) {
		*ret = take_lines(buf, text, has_functions);
		return 0;
	}
	(void)orma_probes_text_line(&text, &first_line);
	first_line = orma_probes_text_trim(first_line);
	if (orma_base_str_is(name, "trace_clock"))
		return take_bracketed(first_line, ret);
	if (orma_probes_text_has_suffix(name, "buffer_size_kb"))
		return take_size(first_line, ret);
	if (orma_probes_text_has_suffix(name, "/filter") && orma_base_str_is(first_line, "none"))
		first_line = ORMA_STR("0");
	/* A trigger elsewhere adds a star to the state of an event. */
	if (orma_probes_text_has_suffix(name, "/enable") && first_line.size > 1)
		first_line.size = 1;
	*ret = first_line;
	return 0;
}

uint64_t orma_tracefs_buffer_kb(const struct orma_tracefs *fs, uint32_t cpu)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	char file[ORMA_PROBES_PATH_BYTES];
	struct orma_str text;
	uint64_t kb = 0;

	orma_probes_path(file, "per_cpu/cpu", cpu, "/buffer_size_kb");
	int r = orma_tracefs_value(fs, file, &buf, &text);
	if (r < 0)
		r = orma_tracefs_value(fs, "buffer_size_kb", &buf, &text);
	if (r == 0)
		(void)orma_probes_text_u64(text, &kb);
	return kb;
}
