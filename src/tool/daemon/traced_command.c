/* SPDX-License-Identifier: Apache-2.0
 * traced_command.c - `orma traced`: the daemon's options, which are Perfetto's and some more.
 */
#include "tool/daemon/traced.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log_message.h"
#include "base/str.h"
#include "tool/daemon/daemon_options.h"
#include "tool/print.h"
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
	     "      --user NAME    once the sockets are open, be this user\n"
	     "      --group NAME   and this group instead of the user's own\n"
	     "      --seccomp MODE what a system call meets that the daemon does not need: errno "
	     "(it "
	     "fails; default),\n"
	     "                     kill (the daemon ends), off (nothing)\n"
	     "      --output-dir DIR\n"
	     "                     create files of output_path below DIR for users other than root "
	     "and the daemon's\n"
	     "                     own; without it such configs are refused\n"
	     "      --allow-remote-consumers\n"
	     "                     serve consumers on TCP and vsock addresses, whoever they are\n"
	     "      --enable-relay-endpoint\n"
	     "                     serve relays of other machines (traced_relay) on all producer "
	     "sockets\n"
	     "      --enable-relay-endpoint-on SOCK\n"
	     "                     on this one of them; may be repeated\n"
	     "      --max-connections-per-user N\n"
	     "                     of producers, and as many of consumers; default 200\n"
	     "      --version      print the version\n"
	     "  -h, --help         show this\n"
	     "\n"
	     "Environment: PERFETTO_PRODUCER_SOCK_NAME (a comma-separated list), "
	     "PERFETTO_CONSUMER_SOCK_NAME,\n"
	     "TRACED_NOTIFY_FD (gets \"1\" when the sockets are open); a service manager's "
	     "LISTEN_FDS, NOTIFY_SOCKET, WATCHDOG_USEC.");
}

/* Parses "group:mode:group:mode" by cutting up the argument. */
static int parse_permissions(char *text, struct orma_traced_permissions *const ret[2])
{
	char *rest = text;
	for (int i = 0; i < 2; i++) {
		uint64_t mode;
		ret[i]->group = strsep(&rest, ":");
		const char *mode_text = strsep(&rest, ":");
		if (!ret[i]->group || !*ret[i]->group || !mode_text ||
		    orma_base_parse_u64(mode_text, 8, &mode) || mode > 0777)
			return -EINVAL;
		ret[i]->mode = (mode_t)mode;
	}
	return rest ? -EINVAL : 0;
}

static int parse_max(const char *text, uint32_t *ret)
{
	uint64_t number;

	if (orma_base_parse_u64(text, 10, &number) || number == 0 || number > UINT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)number;
	return 0;
}

enum option_id {
	OPTION_PERMISSIONS = ORMA_OPTION_DAEMON_OTHERS,
	OPTION_USER,
	OPTION_GROUP,
	OPTION_SECCOMP,
	OPTION_OUTPUT_DIR,
	OPTION_REMOTE_CONSUMERS,
	OPTION_RELAY,
	OPTION_RELAY_ON,
	OPTION_MAX_CONNECTIONS,
};

static int add_relay_address(struct orma_daemon_relays *relays, const char *address)
{
	if (relays->address_count == ORMA_DAEMON_RELAY_ADDRESSES_MAX)
		return -EMSGSIZE;
	relays->addresses[relays->address_count++] = address;
	return 0;
}

struct command_line {
	struct orma_traced_options traced;
	const char *user, *group;
};

static int take_option(int option, void *ctx)
{
	struct command_line *line = ctx;
	struct orma_traced_options *traced = &line->traced;
	struct orma_traced_permissions *const permissions[2] = {&traced->producers,
								&traced->consumers};

	switch (option) {
	case OPTION_PERMISSIONS:
		return parse_permissions(optarg, permissions)
			       ? orma_tool_usage_error(
					 "--set-socket-permissions takes GROUP:MODE:GROUP:MODE")
			       : -1;
	case OPTION_USER:
		line->user = optarg;
		return -1;
	case OPTION_GROUP:
		line->group = optarg;
		return -1;
	case OPTION_SECCOMP:
		traced->must_have_seccomp = true;
		return orma_seccomp_parse(optarg, &traced->seccomp)
			       ? orma_tool_usage_error("\"%s\" is not errno, kill or off", optarg)
			       : -1;
	case OPTION_OUTPUT_DIR:
		traced->output_dir = optarg;
		return -1;
	case OPTION_REMOTE_CONSUMERS:
		traced->allows_remote_consumers = true;
		return -1;
	case OPTION_RELAY:
		traced->relays.on_all = true;
		return -1;
	case OPTION_RELAY_ON:
		return add_relay_address(&traced->relays, optarg)
			       ? orma_tool_usage_error(
					 "--enable-relay-endpoint-on can be given %d times at most",
					 ORMA_DAEMON_RELAY_ADDRESSES_MAX)
			       : -1;
	case OPTION_MAX_CONNECTIONS:
		return parse_max(optarg, &traced->peers_per_uid_max)
			       ? orma_tool_usage_error("\"%s\" is not a number of connections",
						       optarg)
			       : -1;
	default:
		return ORMA_EXIT_USAGE;
	}
}

static int serve(int *parent_fd, void *ctx)
{
	struct command_line *line = ctx;

	return orma_traced_serve(&line->traced, parent_fd);
}

int orma_tool_traced(int argc, char **argv)
{
	static const struct option options[] = {
		ORMA_DAEMON_OPTIONS,
		{"set-socket-permissions", required_argument, NULL, OPTION_PERMISSIONS},
		{"user", required_argument, NULL, OPTION_USER},
		{"group", required_argument, NULL, OPTION_GROUP},
		{"seccomp", required_argument, NULL, OPTION_SECCOMP},
		{"output-dir", required_argument, NULL, OPTION_OUTPUT_DIR},
		{"allow-remote-consumers", no_argument, NULL, OPTION_REMOTE_CONSUMERS},
		{"enable-relay-endpoint", no_argument, NULL, OPTION_RELAY},
		{"enable-relay-endpoint-on", required_argument, NULL, OPTION_RELAY_ON},
		{"max-connections-per-user", required_argument, NULL, OPTION_MAX_CONNECTIONS},
		{NULL, 0, NULL, 0},
	};
	struct command_line line = {.traced.seccomp = ORMA_SECCOMP_ERRNO};
	struct orma_daemon_command command = {
		.name = "orma traced",
		.print_help = print_help,
		.take_option = take_option,
		.serve = serve,
		.ctx = &line,
	};
	struct orma_error error = {0};
	int status = orma_daemon_take_options(&command, argc, argv, options);

	if (status >= 0)
		return status;
	if (orma_privileges_find(line.user, line.group, &line.traced.privileges, &error))
		return orma_tool_fail("%s", error.message);
	orma_tool_log_to_stderr(ORMA_LOG_INFO);
	/* Take the sockets before the fork, because the service manager passed them to the process
	 * that it started. */
	if (orma_systemd_take_sockets(&line.traced.sockets, &error))
		return orma_tool_fail("%s", error.message);
	return orma_daemon_serve(&command);
}
