/* SPDX-License-Identifier: Apache-2.0
 * tracefs_journal.c - the record of what orma has changed in a tracefs folder.
 *
 * The kernel has one set of tracing files for everybody, and keeps what is written there when the writer dies. So each
 * change goes through a journal. It holds one undo per file or list entry: which file, what to write, and whether to
 * replace or to append. Restoring walks the undos from the newest to the oldest, so an event is off before its probe is
 * removed, and tracing_on, which is the first change, is the last to return.
 *
 * INVARIANT: a file of tracefs differs from what was found only if its undo is in the state file. The undo is written
 * first (write-ahead). A kill between the two writes leaves an undo without a change, which is harmless.
 *
 * An entry of a list that something else still uses (another tracer has enabled the event of a probe) cannot be removed now.
 * Its undo stays in the state file, and is tried again when the instance is opened next. Files have no second try: by then
 * somebody else may have given them a value. The exception is the tracer, which the kernel does not change while somebody
 * reads trace_pipe: until it ends, its filters stay and the recording is off, or every function would be traced for nobody.
 *
 * The state file is text: a header "orma-ftrace 1 BOOT_ID PID", then one line per undo, oldest first: "w FILE VALUE" or
 * "a FILE VALUE", with \n and \\ escaped. Its owner holds a lock on it (flock) as long as the instance is in use. A
 * process that gets the lock and finds lines knows that their writer has died, and restores. The file stays afterwards,
 * empty. Undos that are kept go to a new file, which replaces it when it is whole: at each moment one file has them.
 *
 * A state file is foreign text. tracefs_state.c checks whose it is; here every line is checked: known files only, no "..",
 * a bounded size. A line that does not pass is logged and skipped. A last line without its newline was never acted upon, and
 * is ignored.
 */
#include "probes/ftrace/tracefs_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"

struct orma_tracefs_undo {
	struct orma_tracefs_undo *before; /* NULL = this is the oldest */
	const char *file;
	struct orma_str value;
	bool must_append;
};

/* --- undos ------------------------------------------------------------------------------------ */

static uint64_t file_key(const char *file)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, file, strlen(file));
}

static int push_undo(struct orma_tracefs_journal *journal, struct orma_str file,
		     struct orma_str value, bool must_append)
{
	struct orma_tracefs_undo *undo = orma_base_arena_alloc(&journal->arena, sizeof(*undo));
	char *name = orma_base_arena_strdup(&journal->arena, file);
	char *text = orma_base_arena_strdup(&journal->arena, value);

	if (!undo || !name || !text)
		return -ENOMEM;
	*undo = (struct orma_tracefs_undo){
		.before = journal->last,
		.file = name,
		.value = {text, value.size},
		.must_append = must_append,
	};
	if (!must_append) {
		int r = orma_base_map_put(&journal->by_file, file_key(name), undo);
		if (r < 0)
			return r;
	}
	journal->last = undo;
	return 0;
}

/* Only the newest. */
static void pop_undo(struct orma_tracefs_journal *journal)
{
	if (!journal->last->must_append)
		(void)orma_base_map_remove(&journal->by_file, file_key(journal->last->file));
	journal->last = journal->last->before;
}

static int append_escaped(struct orma_buf *buf, struct orma_str value)
{
	int r = orma_base_buf_reserve(buf, value.size * 2 + 1);

	if (r < 0)
		return r;
	for (size_t i = 0; i < value.size; i++) {
		char c = value.data[i];

		if (c == '\n' || c == '\\')
			buf->data[buf->size++] = '\\';
		buf->data[buf->size++] = c == '\n' ? 'n' : (uint8_t)c;
	}
	buf->data[buf->size++] = '\n';
	return 0;
}

static int append_line(struct orma_buf *buf, const char *file, struct orma_str value,
		       bool must_append)
{
	int r = orma_base_buf_printf(buf, "%c %s ", must_append ? 'a' : 'w', file);

	return r < 0 ? r : append_escaped(buf, value);
}

/* Writes the undo to the state file. */
static int save_undo(struct orma_tracefs_journal *journal, const char *file, struct orma_str value,
		     bool must_append)
{
	struct orma_buf *line = &journal->text;

	if (journal->state_fd < 0)
		return 0;
	line->size = 0;
	int r = append_line(line, file, value, must_append);
	if (r < 0)
		return r;
	off_t end = lseek(journal->state_fd, 0, SEEK_CUR);
	/* The next start ignores a file that is too large to be orma's. */
	if (end > (off_t)(ORMA_TRACEFS_STATE_BYTES_MAX - line->size))
		return -EFBIG;
	r = orma_base_fd_write_all(journal->state_fd, line->data, line->size);
	/* Half a line must not stay in front of the next one. */
	if (r < 0 && end >= 0 && ftruncate(journal->state_fd, end) == 0)
		(void)lseek(journal->state_fd, end, SEEK_SET);
	return r;
}

static int remember(struct orma_tracefs_journal *journal, const char *file, struct orma_str value,
		    bool must_append)
{
	int r = push_undo(journal, orma_base_str(file), value, must_append);

	if (r < 0)
		return r;
	r = save_undo(journal, file, value, must_append);
	if (r < 0)
		pop_undo(journal);
	return r;
}

/* --- changing --------------------------------------------------------------------------------- */

int orma_tracefs_journal_set_from(struct orma_tracefs_journal *journal, const char *file,
				  struct orma_str old, struct orma_str value)
{
	if (!orma_base_map_get(&journal->by_file, file_key(file))) {
		int r = remember(journal, file, old, false);

		if (r < 0)
			return r;
	}
	return orma_tracefs_write(journal->fs, file, value);
}

int orma_tracefs_journal_set(struct orma_tracefs_journal *journal, const char *file,
			     struct orma_str value)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str old = {0};

	if (!orma_base_map_get(&journal->by_file, file_key(file))) {
		int r = orma_tracefs_value(journal->fs, file, &buf, &old);

		if (r < 0)
			return r;
	}
	return orma_tracefs_journal_set_from(journal, file, old, value);
}

int orma_tracefs_journal_append(struct orma_tracefs_journal *journal, const char *file,
				struct orma_str line, struct orma_str undo)
{
	int r = remember(journal, file, undo, true);

	return r < 0 ? r : orma_tracefs_append(journal->fs, file, line);
}

/* --- restoring -------------------------------------------------------------------------------- */

static int undo_change(const struct orma_tracefs_journal *journal,
		       const struct orma_tracefs_undo *undo)
{
	int r = undo->must_append ? orma_tracefs_append(journal->fs, undo->file, undo->value)
				  : orma_tracefs_write(journal->fs, undo->file, undo->value);

	/* A list entry whose change was refused is not there; a file may have gone with its module. Files of an instance that is
	 * being removed still exist, and give ENODEV. */
	if (r == -ENOENT || r == -ENODEV)
		return 0;
	if (r < 0)
		orma_base_log(
			ORMA_LOG_WARNING, "linux.ftrace: cannot restore %s/%s to \"%.*s\": %s",
			journal->fs->path, undo->file, (int)ORMA_MIN(undo->value.size, (size_t)64),
			undo->value.data, orma_base_error_words(r));
	return r;
}

/* True for a file that makes a tracer record, or record more, when it is restored. */
static bool waits_for_tracer(const char *file)
{
	return strcmp(file, "tracing_on") == 0 || strcmp(file, "set_ftrace_filter") == 0 ||
	       strcmp(file, "set_graph_function") == 0 || strcmp(file, "max_graph_depth") == 0;
}

/* Restores the newest change first. Returns the undos to try again later, the oldest first. */
static struct orma_tracefs_undo *restore(struct orma_tracefs_journal *journal)
{
	struct orma_tracefs_undo *before, *kept = NULL;
	bool has_tracer = false;

	for (struct orma_tracefs_undo *undo = ORMA_TAKE(journal->last); undo; undo = before) {
		before = undo->before;
		bool must_wait = has_tracer && waits_for_tracer(undo->file);
		if (must_wait && strcmp(undo->file, "tracing_on") == 0)
			(void)orma_tracefs_write(journal->fs, undo->file, ORMA_STR("0"));
		int r = must_wait ? -EBUSY : undo_change(journal, undo);
		bool is_tracer = r == -EBUSY && strcmp(undo->file, "current_tracer") == 0;
		has_tracer |= is_tracer;
		if (r == 0 || r == -EINVAL || !(undo->must_append || is_tracer || must_wait))
			continue;
		undo->before = kept;
		kept = undo;
	}
	orma_base_map_done(&journal->by_file);
	journal->by_file = (struct orma_map){0};
	if (!kept)
		orma_base_arena_clear(&journal->arena);
	return kept;
}

/* Begins a state file anew with what restore() has returned. After an error the old one has its lines still. */
static int write_state_file(struct orma_tracefs_journal *journal, struct orma_tracefs_undo *kept)
{
	struct orma_tracefs_undo *undo, *next;
	struct orma_buf *text = &journal->text;

	text->size = 0;
	int r = orma_base_buf_printf(text, "orma-ftrace 1 %s %d\n", journal->boot_id,
				     (int)getpid());
	for (undo = kept; undo && r >= 0; undo = next) {
		next = undo->before;
		undo->before = journal->last;
		journal->last = undo;
		r = append_line(text, undo->file, undo->value, undo->must_append);
	}
	if (r >= 0 && text->size > ORMA_TRACEFS_STATE_BYTES_MAX)
		r = -EFBIG;
	return r < 0 ? r
		     : orma_tracefs_state_replace(journal->folder_fd, journal->state_name,
						  (struct orma_str){(char *)text->data, text->size},
						  &journal->state_fd);
}

/* --- left-overs of a killed process ------------------------------------------------------------ */

static bool is_known_file(struct orma_str file)
{
	static const char *const files[] = {
		"tracing_on",         "trace",
		"trace_clock",        "buffer_size_kb",
		"buffer_percent",     "current_tracer",
		"set_event_pid",      "tracing_cpumask",
		"kprobe_events",      "uprobe_events",
		"synthetic_events",   "max_graph_depth",
		"snapshot",           "set_ftrace_filter",
		"set_graph_function",
	};
	struct orma_str part;
	size_t parts = 0;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(files); i++)
		if (orma_base_str_is(file, files[i]))
			return true;
	if (!orma_probes_text_has_prefix(file, "events/") &&
	    !orma_probes_text_has_prefix(file, "options/") &&
	    !orma_probes_text_has_prefix(file, "per_cpu/"))
		return false;
	for (struct orma_str rest = file; orma_probes_text_until(&rest, '/', &part); file = rest) {
		if (!orma_tracefs_is_name(part))
			return false;
		parts++;
	}
	return parts <= 3 && orma_tracefs_is_name(file);
}

/* The lists whose entries are made and removed one by one. */
static bool has_entries(struct orma_str file)
{
	return orma_probes_text_has_suffix(file, "kprobe_events") ||
	       orma_probes_text_has_suffix(file, "uprobe_events") ||
	       orma_probes_text_has_suffix(file, "synthetic_events") ||
	       orma_probes_text_has_suffix(file, "/trigger");
}

/* Undoes append_escaped(), in place. */
static bool unescape(struct orma_buf *buf, struct orma_str *value)
{
	size_t at = (size_t)((const uint8_t *)value->data - buf->data), size = 0;

	for (size_t i = 0; i < value->size; i++) {
		char c = value->data[i];

		if (c == '\0' || (c == '\\' && i + 1 == value->size))
			return false;
		if (c == '\\') {
			c = value->data[++i];
			if (c != 'n' && c != '\\')
				return false;
			if (c == 'n')
				c = '\n';
		}
		buf->data[at + size++] = (uint8_t)c;
	}
	value->size = size;
	return true;
}

static int parse_undo(struct orma_tracefs_journal *journal, struct orma_buf *buf,
		      struct orma_str line)
{
	struct orma_str kind, file;

	if (!orma_probes_text_until(&line, ' ', &kind) ||
	    !orma_probes_text_until(&line, ' ', &file) ||
	    (!orma_base_str_is(kind, "w") &&
	     (!orma_base_str_is(kind, "a") || !has_entries(file))) ||
	    file.size >= ORMA_TRACEFS_FILE_BYTES || !is_known_file(file) || !unescape(buf, &line)) {
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.ftrace: the state file has a line that orma does not write; "
			      "it is skipped");
		return 0;
	}
	return push_undo(journal, file, line, kind.data[0] == 'a');
}

/* Returns true, and the lines after the header, for a state file of this boot. */
static bool take_header(struct orma_str *text, const char *boot_id)
{
	struct orma_str header, word, id = {0};

	return orma_probes_text_until(text, '\n', &header) &&
	       orma_probes_text_word(&header, &word) && orma_base_str_is(word, "orma-ftrace") &&
	       orma_probes_text_word(&header, &word) && orma_base_str_is(word, "1") &&
	       orma_probes_text_word(&header, &id) && orma_base_str_is(id, boot_id);
}

static int restore_leftovers(struct orma_tracefs_journal *journal,
			     struct orma_tracefs_undo **ret_kept)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	int r = orma_base_fd_read_all(journal->state_fd, ORMA_TRACEFS_STATE_BYTES_MAX, &buf);

	if (r == -EFBIG) {
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.ftrace: the state file is too large to be orma's; it is "
			      "ignored");
		return 0;
	}
	struct orma_str text = {(const char *)buf.data, buf.size}, line;
	if (r < 0 || !take_header(&text, journal->boot_id))
		return r;
	while (r == 0 && orma_probes_text_until(&text, '\n', &line))
		r = parse_undo(journal, &buf, line);
	if (r == 0 && journal->last) {
		orma_base_log(ORMA_LOG_INFO,
			      "linux.ftrace: restoring %s, which an earlier recording has left "
			      "changed",
			      journal->fs->path);
		*ret_kept = restore(journal);
	}
	return r;
}

/* --- opening and closing ----------------------------------------------------------------------- */

static int read_boot_id(const char *proc_path, char ret[ORMA_TRACEFS_BOOT_ID_BYTES])
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str text = {0};
	char path[ORMA_TRACEFS_PATH_BYTES];

	snprintf(path, sizeof(path), "%s/sys/kernel/random/boot_id", proc_path);
	/* With a wrong id, left-overs would look like those of another boot. */
	if (orma_probes_file_read(AT_FDCWD, path, &buf, &text) == -ENOMEM)
		return -ENOMEM;
	struct orma_str id = {0};
	(void)orma_probes_text_word(&text, &id);
	if (orma_probes_text_has_suffix(id, "\n"))
		id.size--;
	snprintf(ret, ORMA_TRACEFS_BOOT_ID_BYTES, "%.*s", (int)id.size, id.size > 0 ? id.data : "");
	if (ret[0] == '\0')
		snprintf(ret, ORMA_TRACEFS_BOOT_ID_BYTES, "unknown");
	return 0;
}

int orma_tracefs_journal_open(struct orma_tracefs_journal *journal, const struct orma_tracefs *fs,
			      int folder_fd, const char *state_name, const char *proc_path,
			      struct orma_error *reterr)
{
	struct orma_tracefs_undo *kept = NULL;

	*journal = (struct orma_tracefs_journal){.fs = fs, .folder_fd = -1, .state_fd = -1};
	if (folder_fd < 0)
		return 0;
	int r = orma_tracefs_state_lock(folder_fd, state_name, fs->path, reterr);
	if (r < 0)
		return r;
	journal->state_fd = r;
	snprintf(journal->state_name, sizeof(journal->state_name), "%s", state_name);
	journal->folder_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 3);
	if (journal->folder_fd < 0)
		r = -errno;
	else
		r = read_boot_id(proc_path, journal->boot_id);
	if (r == 0)
		r = restore_leftovers(journal, &kept);
	if (r == 0)
		r = write_state_file(journal, kept);
	if (r == 0)
		return 0;
	/* The next open tries again with what the file still has. */
	journal->last = NULL;
	journal->state_fd = orma_base_fd_close(journal->state_fd);
	orma_tracefs_journal_close(journal);
	return orma_base_error_set(reterr, r, "cannot use the state file \"%s\": %s", state_name,
				   orma_base_error_words(r));
}

void orma_tracefs_journal_close(struct orma_tracefs_journal *journal)
{
	if (!journal->fs)
		return;
	struct orma_tracefs_undo *kept = restore(journal);
	if (journal->state_fd >= 0 &&
	    (kept ? write_state_file(journal, kept) : ftruncate(journal->state_fd, 0)) < 0)
		orma_base_log(ORMA_LOG_WARNING, "linux.ftrace: cannot write the state file");
	journal->state_fd = orma_base_fd_close(journal->state_fd);
	journal->folder_fd = orma_base_fd_close(journal->folder_fd);
	orma_base_map_done(&journal->by_file);
	orma_base_arena_done(&journal->arena);
	orma_base_buf_done(&journal->text);
	*journal = (struct orma_tracefs_journal){.folder_fd = -1, .state_fd = -1};
}
