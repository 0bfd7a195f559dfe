/* SPDX-License-Identifier: Apache-2.0
 * hung_fs.h - a file system of the test's own (FUSE, spoken over /dev/fuse) that answers until it
 * is told not to: what a network file system is whose server is gone.
 */
#ifndef ORMA_TESTS_INTEGRATION_HUNG_FS_H
#define ORMA_TESTS_INTEGRATION_HUNG_FS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Requests of the FUSE protocol, whose header not every C library comes with. */
enum orma_fuse_opcode {
	ORMA_FUSE_LOOKUP = 1,
	ORMA_FUSE_FORGET = 2,
	ORMA_FUSE_GETATTR = 3,
	ORMA_FUSE_SETATTR = 4,
	ORMA_FUSE_UNLINK = 10,
	ORMA_FUSE_OPEN = 14,
	ORMA_FUSE_WRITE = 16,
	ORMA_FUSE_RELEASE = 18,
	ORMA_FUSE_FSYNC = 20,
	ORMA_FUSE_FLUSH = 25,
	ORMA_FUSE_INIT = 26,
	ORMA_FUSE_CREATE = 35,
	ORMA_FUSE_INTERRUPT = 36,
	ORMA_FUSE_BATCH_FORGET = 42,
};

/* What the test and the server share. */
struct orma_hung_fs_state {
	pthread_mutex_t mutex;
	pthread_cond_t has_come;
	/* Under mutex: by opcode, which requests are left without an answer, and which have come. */
	uint64_t held, come;
	bool exists;
};

/* It has one file, of any name, once that was created. */
struct orma_hung_fs {
	char folder[200], path[210];
	pid_t pid; /* of the server */
	struct orma_hung_fs_state *state;
};

/* False, with words on standard error, where nobody may mount (or there is no FUSE): the test has
 * nothing to show then. */
bool orma_hung_fs_mount(struct orma_hung_fs *fs);
/* From now on requests of that opcode (ORMA_FUSE_...) are never answered. */
void orma_hung_fs_hold(struct orma_hung_fs *fs, unsigned opcode);
/* Waits until one has come, since then. */
void orma_hung_fs_await(struct orma_hung_fs *fs, unsigned opcode);
/* All who hang get an error; so does whoever comes. */
void orma_hung_fs_abort(struct orma_hung_fs *fs);

#endif
