/* SPDX-License-Identifier: Apache-2.0
 * daemon.h - a whole tracing service on one thread: loop, service, sockets, file worker. `orma
 * traced` runs it on the main thread, `orma record` on a thread of its own when no daemon is there.
 */
#ifndef ORMA_TOOL_DAEMON_H
#define ORMA_TOOL_DAEMON_H

#include <orma/error.h>
#include <orma/service.h>

#include <stdatomic.h>

#include "base/loop.h"
#include "host/host.h"
#include "tool/daemon/output_folder.h"

#define ORMA_DAEMON_RELAY_ADDRESSES_MAX 64

/* The producer sockets that also serve relays of other machines (RelayPort). */
struct orma_daemon_relays {
	bool on_all;
	const char *addresses[ORMA_DAEMON_RELAY_ADDRESSES_MAX]; /* borrowed */
	bool is_found[ORMA_DAEMON_RELAY_ADDRESSES_MAX];
	size_t address_count;
};

struct orma_daemon {
	struct orma_loop *loop;
	struct orma_fd_closer *closer;
	struct orma_file_worker *files;
	struct orma_compress_worker *compressor;
	struct orma_service *service;
	struct orma_host *host;
	/* Bits of orma_daemon_request(): set by any thread, taken by the loop's thread after a
	 * wake. */
	atomic_uint requests;
	const char *late_consumer_addresses; /* see orma_daemon_options */
	bool allows_remote_consumers;
	struct orma_daemon_relays relays;
	bool is_finishing;
	struct orma_timer finish_timer;
	uint64_t finish_began_ns, finish_moved_ns, finish_progress;
};

struct orma_daemon_options {
	const char *producer_addresses; /* comma-separated; NULL = default; "" = none */
	const char *consumer_addresses;
	/* Where ORMA_DAEMON_OPEN listens for this user's consumers as well; borrowed for the
	 * daemon's life; NULL = nowhere. */
	const char *late_consumer_addresses;
	unsigned listen_flags; /* flags for orma_ipc_listen() */
	/* Consumers can record everything that producers offer, and on a network nothing proves
	 * which user they are. So unless this is set, only sockets of this machine serve them. */
	bool allows_remote_consumers;
	/* The user that the daemon becomes, when it changes user before it runs. */
	bool has_uid;
	uid_t uid;
	uint32_t peers_per_uid_max; /* 0 = default, see ipc/ipc_host.h */
	/* Where files of output_path are created for other users; borrowed for the daemon's life;
	 * NULL = nowhere. */
	const struct orma_output_folder *output_folder;
	const struct orma_daemon_relays *relays; /* NULL = none */
	/* Nobody else can listen there, so it is not looked whether somebody does. */
	bool has_private_consumers;
};

/* Listens, but serves only in orma_daemon_run(). `reterr` names the address that failed. */
int orma_daemon_init(struct orma_daemon *daemon, const struct orma_daemon_options *options,
		     struct orma_error *reterr);
/* Also serves on a socket that already listens. On success the daemon owns it. */
int orma_daemon_adopt_producers(struct orma_daemon *daemon, int fd, struct orma_error *reterr);
int orma_daemon_adopt_consumers(struct orma_daemon *daemon, int fd, struct orma_error *reterr);
/* Called when all sockets are open: -ENOENT with `reterr` when an address in `relays` is not one of
 * them. */
int orma_daemon_check_relays(const struct orma_daemon *daemon, struct orma_error *reterr);
/* Serves until ORMA_DAEMON_STOP, or to the end of an orderly end. 0 or -errno. */
int orma_daemon_run(struct orma_daemon *daemon);
enum {
	ORMA_DAEMON_STOP = 1, /* orma_daemon_run() returns */
	ORMA_DAEMON_FINISH = 2,
	/* Listens at late_consumer_addresses, unless another daemon does. */
	ORMA_DAEMON_OPEN = 4,
	/* Serves no consumers any more, if at most one is connected: the one that waits for this.
	 * No other one connects between the check and the end. */
	ORMA_DAEMON_CLOSE_UNUSED = 8,
};

/* May be called by any thread and any signal handler; the loop's thread follows soon. */
void orma_daemon_request(struct orma_daemon *daemon, unsigned requests);
/*
 * Begins an orderly end, on the loop's thread. Sessions are flushed (for a second at most) and
 * stopped, files are completed, and consumers read what is in memory, while the daemon goes on
 * serving; then orma_daemon_run() returns. A pipe that takes no data for a second is given up. When
 * no file and no reader makes progress for five seconds, or after half a minute in all, incomplete
 * files are left as they are.
 */
void orma_daemon_finish(struct orma_daemon *daemon);
/* After orma_daemon_run(): returns true when there are files that the orderly end did not
 * complete. */
bool orma_daemon_has_open_files(const struct orma_daemon *daemon);
/* After orma_daemon_run() in a process that exits now: only removes the socket files. Use it when
 * files hang, because joining their threads would hang too. */
void orma_daemon_abandon(struct orma_daemon *daemon);
/* Ends all sessions, completes their files, and frees everything. */
void orma_daemon_done(struct orma_daemon *daemon);

#endif
