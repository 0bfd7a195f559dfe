/* SPDX-License-Identifier: Apache-2.0
 * made_up_systemd.c - a library with the functions of libsystemd that read the journal.
 *
 * The journal is the text file $ORMA_TEST_JOURNAL. An entry is a line with microseconds of
 * CLOCK_MONOTONIC, lines "FIELD=value", and an empty line. A file that is moved to this name is a
 * rotation: what is left of the old file is read first. $ORMA_TEST_JOURNAL_ERROR makes open() fail.
 * With WITHOUT_PROCESS the library lacks a function, and with OLD it has the older name of one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

struct sd_journal {
	const char *path;
	FILE *file;
	int watch_fd;
	int was_rotated;
	long end; /* where the current entry ends; 0 = before the first one */
	uint64_t time_us;
	char *fields[16];
	int count, at;
};

int sd_journal_open(struct sd_journal **ret, int flags);
void sd_journal_close(struct sd_journal *journal);
int sd_journal_add_match(struct sd_journal *journal, const void *data, size_t size);
int sd_journal_has_runtime_files(struct sd_journal *journal);
int sd_journal_has_persistent_files(struct sd_journal *journal);
int sd_journal_get_fd(struct sd_journal *journal);
int sd_journal_process(struct sd_journal *journal);
int sd_journal_seek_head(struct sd_journal *journal);
int sd_journal_seek_tail(struct sd_journal *journal);
int sd_journal_next(struct sd_journal *journal);
int sd_journal_previous(struct sd_journal *journal);
int sd_journal_get_monotonic_usec(struct sd_journal *journal, uint64_t *ret_us, void *ret_boot_id);
void sd_journal_restart_data(struct sd_journal *journal);
int sd_journal_enumerate_data(struct sd_journal *journal, const void **ret, size_t *ret_size);
int sd_journal_enumerate_available_data(struct sd_journal *journal, const void **ret,
					size_t *ret_size);

static void forget_entry(struct sd_journal *journal)
{
	while (journal->count > 0)
		free(journal->fields[--journal->count]);
}

int sd_journal_open(struct sd_journal **ret, int flags)
{
	const char *error = getenv("ORMA_TEST_JOURNAL_ERROR");

	(void)flags;
	if (error)
		return -atoi(error);
	struct sd_journal *journal = calloc(1, sizeof(*journal));
	if (!journal)
		return -ENOMEM;
	journal->path = getenv("ORMA_TEST_JOURNAL");
	journal->file = fopen(journal->path, "re");
	journal->watch_fd = -1;
	*ret = journal;
	return 0;
}

void sd_journal_close(struct sd_journal *journal)
{
	forget_entry(journal);
	if (journal->file)
		fclose(journal->file);
	if (journal->watch_fd >= 0)
		close(journal->watch_fd);
	free(journal);
}

int sd_journal_add_match(struct sd_journal *journal, const void *data, size_t size)
{
	(void)journal;
	(void)data;
	(void)size;
	return 0;
}

int sd_journal_has_runtime_files(struct sd_journal *journal)
{
	return journal->file != NULL;
}

int sd_journal_has_persistent_files(struct sd_journal *journal)
{
	(void)journal;
	return 0;
}

int sd_journal_get_fd(struct sd_journal *journal)
{
	char folder[512];

	if (journal->watch_fd >= 0)
		return journal->watch_fd;
	snprintf(folder, sizeof(folder), "%s", journal->path);
	*strrchr(folder, '/') = '\0';
	journal->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return inotify_add_watch(journal->watch_fd, folder, IN_MODIFY | IN_MOVED_TO) < 0
		       ? -errno
		       : journal->watch_fd;
}

#ifndef WITHOUT_PROCESS
/* Returns SD_JOURNAL_NOP, SD_JOURNAL_APPEND or SD_JOURNAL_INVALIDATE. */
int sd_journal_process(struct sd_journal *journal)
{
	_Alignas(struct inotify_event) char events[4096];
	int result = 0;
	ssize_t got;

	while ((got = read(journal->watch_fd, events, sizeof(events))) > 0) {
		if (result == 0)
			result = 1;
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(events + at);
			if (event->mask & IN_MOVED_TO) {
				journal->was_rotated = 1;
				result = 2;
			}
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return result;
}
#endif

int sd_journal_seek_head(struct sd_journal *journal)
{
	journal->end = 0;
	return 0;
}

int sd_journal_seek_tail(struct sd_journal *journal)
{
	(void)journal;
	return 0;
}

/* Reads the entry behind the current one. */
static int read_entry(struct sd_journal *journal)
{
	char *line = NULL;
	size_t capacity = 0;
	int is_whole = 0;

	if (!journal->file || fseek(journal->file, journal->end, SEEK_SET) < 0)
		return 0;
	forget_entry(journal);
	for (int i = 0; !is_whole && getline(&line, &capacity, journal->file) > 0; i++) {
		line[strcspn(line, "\n")] = '\0';
		if (i == 0)
			journal->time_us = strtoull(line, NULL, 10);
		else if (line[0])
			journal->fields[journal->count++] = strdup(line);
		else
			is_whole = 1;
	}
	free(line);
	if (is_whole)
		journal->end = ftell(journal->file);
	return is_whole;
}

int sd_journal_next(struct sd_journal *journal)
{
	int found = read_entry(journal);

	if (found || !journal->was_rotated)
		return found;
	fclose(journal->file);
	journal->file = fopen(journal->path, "re");
	journal->end = 0;
	journal->was_rotated = 0;
	return read_entry(journal);
}

/* Only called at the tail. */
int sd_journal_previous(struct sd_journal *journal)
{
	int found = 0;

	while (read_entry(journal))
		found = 1;
	return found;
}

int sd_journal_get_monotonic_usec(struct sd_journal *journal, uint64_t *ret_us, void *ret_boot_id)
{
	(void)ret_boot_id;
	*ret_us = journal->time_us;
	return journal->time_us ? 0 : -ESTALE;
}

void sd_journal_restart_data(struct sd_journal *journal)
{
	journal->at = 0;
}

#ifdef OLD
int sd_journal_enumerate_data
#else
int sd_journal_enumerate_available_data
#endif
	(struct sd_journal *journal, const void **ret, size_t *ret_size)
{
	if (journal->at == journal->count)
		return 0;
	*ret = journal->fields[journal->at];
	*ret_size = strlen(journal->fields[journal->at++]);
	return 1;
}
