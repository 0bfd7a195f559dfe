/* SPDX-License-Identifier: Apache-2.0
 * daemon.h - a whole tracing service on one thread: loop, service, sockets, file worker. `orma
 * traced` runs it on the main thread, `orma record` on a thread of its own when no daemon is there.
 */
#ifndef ORMA_TOOL_DAEMON_H
#define ORMA_TOOL_DAEMON_H

#include <orma/error.h>
#include <orma/service.h>

#include "base/loop.h"
#include "host/host.h"
#include "tool/daemon/output_folder.h"

#define ORMA_DAEMON_RELAY_ADDRESSES_MAX 64

/* Which producer sockets serve relays of other machines (RelayPort) too. */
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
	bool must_stop; /* atomic: written by orma_daemon_stop() from any thread, read by the loop's
			   thread after a wake */
	bool allows_remote_consumers;
	struct orma_daemon_relays relays;
	bool is_finishing;
	struct orma_timer finish_timer;
	uint64_t finish_began_ns, finish_moved_ns, finish_progress;
};

struct orma_daemon_options {
	const char *producer_addresses; /* comma-separated; NULL = default; "" = none */
	const char *consumer_addresses;
	unsigned listen_flags; /* of orma_ipc_listen() */
	/* Consumers record whatever producers offer, and over a network nobody vouches for who they
	 * are; so without this only sockets of this machine serve them. */
	bool allows_remote_consumers;
	/* Who the daemon will be, when it is to change user before it runs. */
	bool has_uid;
	uid_t uid;
	uint32_t peers_per_uid_max; /* 0 = default, see ipc/ipc_host.h */
	/* Of output_path for other users; borrowed for the daemon's life; NULL = none. */
	const struct orma_output_folder *output_folder;
	const struct orma_daemon_relays *relays; /* NULL = none */
};

/* Listens, but serves only once it runs. `reterr` names the address that failed. */
int orma_daemon_init(struct orma_daemon *daemon, const struct orma_daemon_options *options,
		     struct orma_error *reterr);
/* Serve on a listening socket made elsewhere too; taken over on success. */
int orma_daemon_adopt_producers(struct orma_daemon *daemon, int fd, struct orma_error *reterr);
int orma_daemon_adopt_consumers(struct orma_daemon *daemon, int fd, struct orma_error *reterr);
/* Once all sockets are there: -ENOENT and a text when an address of relays was none of them. */
int orma_daemon_check_relays(const struct orma_daemon *daemon, struct orma_error *reterr);
/* Until orma_daemon_stop(): 0 or -errno. */
int orma_daemon_run(struct orma_daemon *daemon);
/* Any thread, any signal handler. */
void orma_daemon_stop(struct orma_daemon *daemon);
/*
 * The orderly end, on the loop's thread: sessions that write into files are flushed (a second at
 * most), stopped and their files completed, while everything else goes on; then orma_daemon_run()
 * returns. A pipe that takes nothing is given up after a second; when no file has got on for five
 * seconds, or after half a minute, what is not complete is left.
 */
void orma_daemon_finish(struct orma_daemon *daemon);
/* After the run: there are files that finishing did not complete. */
bool orma_daemon_has_open_files(const struct orma_daemon *daemon);
/* After the run of a process that exits now: only removes the sockets. For files that hang; to
 * join their threads would be to hang as well. */
void orma_daemon_abandon(struct orma_daemon *daemon);
/* Ends all sessions; their files are written to the end first. */
void orma_daemon_done(struct orma_daemon *daemon);

#endif
