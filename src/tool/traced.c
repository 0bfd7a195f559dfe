/* SPDX-License-Identifier: Apache-2.0
 * traced.c - `orma traced`: the daemon, with the options and environment of Perfetto's.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <orma/init.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "ipc/address.h"
#include "tool/daemon.h"
#include "tool/tool.h"

static void print_help(void)
{
	puts("Usage: orma traced [OPTIONS]\n"
	     "\n"
	     "The tracing daemon: producers and consumers connect to its sockets, sessions run in "
	     "it.\n"
	     "\n"
	     "      --background   go on in the background\n"
	     "      --set-socket-permissions GROUP:MODE:GROUP:MODE\n"
	     "                     group and octal mode of the producer sockets, then of the "
	     "consumer sockets\n"
	     "      --allow-remote-consumers\n"
	     "                     serve consumers on TCP and vsock addresses, whoever they are\n"
	     "      --max-connections-per-user N\n"
	     "                     of producers, and as many of consumers; default 200\n"
	     "      --version      print the version\n"
	     "  -h, --help         show this\n"
	     "\n"
	     "Environment: PERFETTO_PRODUCER_SOCK_NAME (a comma-separated list), "
	     "PERFETTO_CONSUMER_SOCK_NAME,\n"
	     "TRACED_NOTIFY_FD (gets \"1\" when the sockets are open).");
}

struct permissions {
	char *group;
	mode_t mode;
};

/* "group:mode:group:mode"; cuts the argument up. */
static int parse_permissions(char *text, struct permissions ret[2])
{
	char *rest = text;
	for (int i = 0; i < 2; i++) {
		uint64_t mode;
		ret[i].group = strsep(&rest, ":");
		const char *mode_text = strsep(&rest, ":");
		if (!ret[i].group || !*ret[i].group || !mode_text ||
		    orma_base_parse_u64(mode_text, 8, &mode) || mode > 0777)
			return -EINVAL;
		ret[i].mode = (mode_t)mode;
	}
	return rest ? -EINVAL : 0;
}

/* From the file, or a number: getgrnam() would load name services at run time, which a static binary
 * cannot do without the shared libraries that it was made to do without. */
static int find_group(const char *name, gid_t *ret)
{
	struct group *group;
	uint64_t id;

	if (!orma_base_parse_u64(name, 10, &id) && id < UINT32_MAX) {
		*ret = (gid_t)id;
		return 0;
	}
	FILE *file = fopen("/etc/group", "re");
	if (!file)
		return -errno;
	do
		group = fgetgrent(file);
	while (group && strcmp(group->gr_name, name) != 0);
	if (group)
		*ret = group->gr_gid;
	fclose(file);
	return group ? 0 : -ENOENT;
}

static int set_permissions(const char *addresses, const struct permissions *permissions)
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	gid_t gid = 0;

	if (find_group(permissions->group, &gid) < 0)
		return orma_tool_fail("there is no group \"%s\"", permissions->group);
	for (const char *list = addresses; orma_ipc_address_list_next(&list, item) > 0;) {
		struct orma_ipc_address address;
		const char *path = orma_ipc_address_parse(item, &address)
					   ? NULL
					   : orma_ipc_address_path(&address);
		if (path && (chown(path, (uid_t)-1, gid) || chmod(path, permissions->mode)))
			return orma_tool_fail("%s: %s", path, strerror(errno));
	}
	return ORMA_EXIT_OK;
}

/* A listening socket that the parent process left open, its number in the environment. */
static int adopt_inherited(struct orma_daemon *daemon, const char *variable,
			   int (*adopt)(struct orma_daemon *daemon, int fd,
					struct orma_error *reterr))
{
	const char *value = getenv(variable);
	struct orma_error error = {0};
	uint64_t fd;
	if (!value)
		return ORMA_EXIT_OK;
	if (orma_base_parse_u64(value, 10, &fd) || fd > INT32_MAX)
		return orma_tool_fail("%s: \"%s\" is no descriptor", variable, value);
	return adopt(daemon, (int)fd, &error) ? orma_tool_fail("%s", error.message) : ORMA_EXIT_OK;
}

struct signal_watch {
	struct orma_watch watch;
	struct orma_daemon *daemon;
};

/* The first one asks for an orderly end, the second for an end. */
static void on_signal(struct orma_watch *watch, unsigned ready)
{
	struct orma_daemon *daemon = ORMA_CONTAINER_OF(watch, struct signal_watch, watch)->daemon;
	struct signalfd_siginfo info;
	(void)ready;
	if (read(watch->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (daemon->is_finishing)
		orma_base_loop_stop(watch->loop);
	else
		orma_daemon_finish(daemon);
}

static int run_until_signal(struct orma_daemon *daemon)
{
	struct signal_watch watch = {.daemon = daemon};
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	ORMA_AUTO(orma_base_fd_closep) int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	int result = fd < 0 ? -errno
			    : orma_base_loop_watch(daemon->loop, &watch.watch, fd, ORMA_LOOP_READ,
						   on_signal);
	if (result == 0) {
		orma_tool_notify("TRACED_NOTIFY_FD", "1");
		result = orma_daemon_run(daemon);
	}
	orma_base_watch_remove(&watch.watch);
	return result ? orma_tool_fail("%s", strerror(-result)) : ORMA_EXIT_OK;
}

struct traced_options {
	struct permissions permissions[2];
	bool in_background, allows_remote_consumers;
	uint32_t peers_per_uid_max;
};

static int serve(const struct traced_options *traced)
{
	const char *inherited_producer = "ANDROID_SOCKET_traced_producer";
	const char *inherited_consumer = "ANDROID_SOCKET_traced_consumer";
	struct orma_daemon_options options = {
		.producer_addresses = getenv(inherited_producer) ? "" : NULL,
		.consumer_addresses = getenv(inherited_consumer) ? "" : NULL,
		.allows_remote_consumers = traced->allows_remote_consumers,
		.peers_per_uid_max = traced->peers_per_uid_max,
	};
	struct orma_daemon daemon;
	struct orma_error error = {0};
	if (orma_daemon_init(&daemon, &options, &error))
		return orma_tool_fail("%s", error.message);
	int status = adopt_inherited(&daemon, inherited_producer, orma_daemon_adopt_producers);
	if (status == ORMA_EXIT_OK)
		status = adopt_inherited(&daemon, inherited_consumer, orma_daemon_adopt_consumers);
	if (status == ORMA_EXIT_OK && traced->permissions[0].group)
		status = set_permissions(orma_ipc_producer_address(), &traced->permissions[0]);
	if (status == ORMA_EXIT_OK && traced->permissions[1].group)
		status = set_permissions(orma_ipc_consumer_address(), &traced->permissions[1]);
	if (status == ORMA_EXIT_OK)
		status = run_until_signal(&daemon);
	if (orma_daemon_has_open_files(&daemon)) {
		orma_daemon_abandon(&daemon);
		fflush(NULL);
		_exit(status);
	}
	orma_daemon_done(&daemon);
	return status;
}

/* -1 = go on and serve; else the exit status. */
static int parse_options(int argc, char **argv, struct traced_options *ret)
{
	enum {
		OPTION_BACKGROUND = 256,
		OPTION_PERMISSIONS,
		OPTION_REMOTE_CONSUMERS,
		OPTION_MAX_CONNECTIONS,
		OPTION_VERSION
	};
	static const struct option options[] = {
		{"background", no_argument, NULL, OPTION_BACKGROUND},
		{"set-socket-permissions", required_argument, NULL, OPTION_PERMISSIONS},
		{"allow-remote-consumers", no_argument, NULL, OPTION_REMOTE_CONSUMERS},
		{"max-connections-per-user", required_argument, NULL, OPTION_MAX_CONNECTIONS},
		{"version", no_argument, NULL, OPTION_VERSION},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	uint64_t number;

	for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		switch (option) {
		case OPTION_BACKGROUND:
			ret->in_background = true;
			break;
		case OPTION_PERMISSIONS:
			if (parse_permissions(optarg, ret->permissions))
				return orma_tool_usage_error(
					"socket permissions are GROUP:MODE:GROUP:MODE");
			break;
		case OPTION_REMOTE_CONSUMERS:
			ret->allows_remote_consumers = true;
			break;
		case OPTION_MAX_CONNECTIONS:
			if (orma_base_parse_u64(optarg, 10, &number) || number == 0 ||
			    number > UINT32_MAX)
				return orma_tool_usage_error("\"%s\" is no number of connections",
							     optarg);
			ret->peers_per_uid_max = (uint32_t)number;
			break;
		case OPTION_VERSION:
			printf("orma traced %s\n", orma_version());
			return ORMA_EXIT_OK;
		case 'h':
			print_help();
			return ORMA_EXIT_OK;
		default:
			return ORMA_EXIT_USAGE;
		}
	}
	if (optind != argc)
		return orma_tool_usage_error("\"%s\" is no option", argv[optind]);
	return -1;
}

int orma_tool_traced(int argc, char **argv)
{
	struct traced_options options = {0};
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	orma_tool_log_to_stderr(ORMA_LOG_INFO);
	if (options.in_background) {
		int parent = orma_tool_background(false, 0);
		if (parent < 0)
			return orma_tool_fail("cannot go into the background: %s",
					      strerror(-parent));
		orma_base_fd_close(parent);
	}
	return serve(&options);
}
