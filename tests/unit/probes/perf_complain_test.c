/* SPDX-License-Identifier: Apache-2.0
 * perf_complain_test.c - each reason for which perf events are refused is told with the remedy that helps.
 */
#include "probes/perf/perf_complain.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log_message.h"
#include "harness.h"

enum { NOBODY = 65534 };

static struct orma_buf messages;
static char proc[256];
static struct orma_perf_paths paths = {.tracefs = proc, .sys = "/sys", .proc = proc};

static void keep_message(void *ctx, enum orma_log_level level, const char *message)
{
	(void)ctx;
	CHECK_INT(orma_base_buf_printf(&messages, "%s%s\n",
				       level == ORMA_LOG_ERROR ? "error: " : "warning: ", message),
		  0);
}

static void set_paranoid(int value)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_paranoid", proc);
	FILE *file = fopen(path, "we");
	CHECK(file && fprintf(file, "%d\n", value) > 0);
	CHECK_INT(fclose(file), 0);
}

/* A folder that has what is read of /proc. */
static void begin(int paranoid)
{
	char command[700];

	snprintf(proc, sizeof(proc), "%s/proc", orma_test_tmpdir());
	snprintf(command, sizeof(command), "chmod 755 %s && mkdir -p %s/sys/kernel %s/123",
		 orma_test_tmpdir(), proc, proc);
	CHECK_INT(system(command), 0);
	set_paranoid(paranoid);
	orma_log_set_sink(keep_message, NULL);
}

/* The messages have every part, and are of one level. */
static void check_said(const char *level, const char *part, const char *other)
{
	const char *said = orma_base_buf_cstr(&messages);

	if (!said || strncmp(said, level, strlen(level)) != 0 || !strstr(said, part) ||
	    !strstr(said, other))
		orma_test_fail(__FILE__, __LINE__, "it says: %s", said ? said : "nothing");
	messages.size = 0;
}

static void check_silent(void)
{
	CHECK_INT(messages.size, 0);
}

static void check_open(const struct orma_perf_config *config, int error, const char *part,
		       const char *remedy)
{
	orma_perf_complain_open(&paths, config, error);
	check_said("error: linux.perf: ", part, remedy);
}

static void become_nobody(void)
{
	if (geteuid() == 0)
		CHECK_INT(seteuid(NOBODY), 0);
}

static void become_root(void)
{
	CHECK_INT(seteuid(0), 0);
	/* The kernel protects a process that has changed its user, also from LeakSanitizer. */
	CHECK_INT(prctl(PR_SET_DUMPABLE, 1), 0);
}

static void end(void)
{
	orma_log_set_sink(NULL, NULL);
	orma_base_buf_done(&messages);
}

static const struct orma_perf_config clock_config = {.timebase = {.counter = 1}};

static struct orma_perf_config tracepoint_config(void)
{
	return (struct orma_perf_config){.timebase = {.counter = 1},
					 .follower_count = 1,
					 .followers = {{.kind = ORMA_PERF_EVENT_TRACEPOINT,
							.tracepoint = ORMA_STR("sched:nothing")}}};
}

ORMA_TEST(errors_that_need_no_rights_say_what_helps)
{
	const int32_t pid = 123;
	struct orma_perf_config config = clock_config;

	begin(2);
	check_open(&config, -ENODATA, "no process to profile", "this user runs no other program");
	config.scope.target_pids = &pid;
	config.scope.target_pid_count = 1;
	check_open(&config, -ENODATA, "those of the configuration have ended",
		   "do not belong to this user");
	check_open(&config, -EMFILE, "not enough descriptors", "ulimit -n");
	check_open(&config, -E2BIG, "more than 8192 threads", "name fewer processes");
	check_open(&config, -ENOBUFS, "may not lock enough memory", "ulimit -l");
	check_open(&config, -ENOSYS, "perf_event_open() does not exist here", "sandbox");
	check_open(&config, -ENOMEM, "the event cannot be opened", strerror(ENOMEM));
	end();
}

ORMA_TEST(numbers_that_the_kernel_refuses_are_named)
{
	const struct orma_str group = ORMA_STR("/");
	struct orma_perf_config config = clock_config;
	char path[300];

	begin(2);
	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_max_sample_rate", proc);
	FILE *file = fopen(path, "we");
	CHECK(file && fprintf(file, "1000\n") > 0);
	CHECK_INT(fclose(file), 0);
	config.hz = 1001;
	check_open(&config, -EINVAL, "the frequency 1001 is above", "which is 1000");
	config.hz = 1000;
	check_open(&config, -EINVAL, "does not accept these numbers", "frequency or period");
	config.cgroups = &group;
	config.cgroup_count = 1;
	check_open(&config, -EBADF, "no control group /", "systemd-cgls");
	check_open(&config, -EINVAL, "no control group /", "systemd-cgls");
	end();
}

ORMA_TEST(an_event_that_the_machine_has_not_is_named)
{
	static const int errors[] = {-ENOENT, -EOPNOTSUPP, -ENODEV};
	const struct orma_str group = ORMA_STR("no.slice");
	struct orma_perf_config config = clock_config;

	begin(2);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		check_open(&config, errors[i], "does not count this event", "SW_CPU_CLOCK");
	config.timebase = (struct orma_perf_event){.kind = ORMA_PERF_EVENT_RAW,
						   .pmu_name = ORMA_STR("uncore")};
	check_open(&config, -ENOENT, "no PMU uncore", "/sys/bus/event_source/devices");
	config.cgroups = &group;
	config.cgroup_count = 1;
	check_open(&config, -ENOENT, "no control group no.slice", "systemd-cgls");
	end();
}

ORMA_TEST(root_is_told_why_a_tracepoint_cannot_be_used)
{
	struct orma_perf_config config = tracepoint_config();
	char events[300];

	if (geteuid() != 0)
		orma_test_skip("root");
	begin(2);
	check_open(&config, -ENOENT, "the tracepoint sched:nothing cannot be used",
		   "tracefs is not mounted");
	snprintf(events, sizeof(events), "%s/events", proc);
	CHECK_INT(mkdir(events, 0755), 0);
	check_open(&config, -ENOENT, "sched:nothing", "this kernel has none of this name");
	/* Nothing of the config is opened beside waits. */
	config.off_cpu = true;
	check_open(&config, -ENOENT, "does not count this event", "");
	end();
}

ORMA_TEST(without_rights_the_setting_that_decides_is_named)
{
	const int32_t pid = 123;
	struct orma_perf_config config = tracepoint_config();

	begin(3);
	/* A process that belongs to another user, where this test may make one. */
	bool has_foreign = geteuid() == 0;
	become_nobody();
	check_open(&clock_config, -EACCES, "perf_event_paranoid is 3, so only root",
		   "sysctl kernel.perf_event_paranoid=2");
	if (has_foreign)
		become_root();
	set_paranoid(2);
	become_nobody();
	check_open(&config, -EACCES, "the tracepoint sched:nothing cannot be used",
		   "only root may use tracepoints");
	check_open(&config, -ENOENT, "sched:nothing", "only root may use tracepoints");
	const struct orma_str group = ORMA_STR("system.slice");
	struct orma_perf_config on_cpus = clock_config;
	on_cpus.cgroups = &group;
	on_cpus.cgroup_count = 1;
	check_open(&on_cpus, -EACCES, "control groups need whole CPUs to be watched",
		   "kernel.perf_event_paranoid=0");
	on_cpus.cgroup_count = 0;
	on_cpus.poll_ms = 100;
	check_open(&on_cpus, -EACCES, "polling needs whole CPUs to be watched",
		   "kernel.perf_event_paranoid=0");
	check_open(&clock_config, -EACCES, "refuses perf events (kernel.perf_event_paranoid is 2)",
		   "seccomp=unconfined");
	if (has_foreign) {
		config = clock_config;
		config.scope.target_pids = &pid;
		config.scope.target_pid_count = 1;
		check_open(&config, -EACCES, "process 123 belongs to another user",
			   "run as that user, or as root");
		become_root();
	}
	end();
}

ORMA_TEST(a_kernel_without_perf_events_is_told)
{
	begin(2);
	paths.proc = "/nowhere";
	check_open(&clock_config, -EACCES, "this kernel has no perf events", "");
	end();
}

ORMA_TEST(root_is_told_of_the_container_that_refuses)
{
	struct orma_perf_config config = tracepoint_config();

	if (geteuid() != 0)
		orma_test_skip("root");
	begin(3);
	check_open(&config, -EACCES, "refuses perf events (kernel.perf_event_paranoid is 3)",
		   "CAP_PERFMON");
	end();
}

ORMA_TEST(single_tasks_are_counted_in_words)
{
	struct orma_perf_events events = {.task_count = 1};
	struct orma_perf_config config = clock_config;

	begin(1);
	orma_perf_complain_tasks(&paths, &config, &events);
	check_said("warning: linux.perf: kernel.perf_event_paranoid is 1, so this user",
		   "1 thread of this user's processes is sampled",
		   "sysctl kernel.perf_event_paranoid=0");
	events.task_count = 2;
	config.follower_count = 1;
	config.scope.target_cmdline_count = 1;
	orma_perf_complain_tasks(&paths, &config, &events);
	check_said("warning: ", "2 threads of the named processes are sampled",
		   "followers are not counted for single tasks");
	end();
}

ORMA_TEST(a_shortcoming_of_open_events_is_logged_unless_the_config_does_not_need_it)
{
	struct orma_perf_events events = {.can = ORMA_PERF_CAN_KERNEL};
	struct orma_perf_config config = clock_config;

	begin(2);
	orma_perf_complain_limits(&paths, &config, &events);
	check_silent();
	events.can = 0;
	orma_perf_complain_limits(&paths, &config, &events);
	check_said("warning: ",
		   "time in the kernel is not seen, because "
		   "kernel.perf_event_paranoid is 2",
		   "sysctl kernel.perf_event_paranoid=1");
	config.off_cpu = true;
	orma_perf_complain_limits(&paths, &config, &events);
	check_said("warning: ", "how long each thread waits is seen, but not where",
		   "sysctl kernel.perf_event_paranoid=1");
	config.timebase.exclude_kernel = true;
	orma_perf_complain_limits(&paths, &config, &events);
	check_silent();
	config.hz = 2000;
	orma_perf_complain_waits(&paths, &config);
	check_said("warning: ", "more than 2000 times a second", "Set a frequency");
	end();
}

ORMA_TEST(losses_are_logged_when_they_matter)
{
	struct orma_perf_processes processes = {.unsampled_count = 9, .ended_count = 9};
	struct orma_perf_reader reader = {.sample_count = 100};

	begin(2);
	orma_perf_complain_short(&paths, &processes);
	processes.unsampled_count = 10;
	processes.ended_count = 21;
	orma_perf_complain_short(&paths, &processes);
	check_silent();
	processes.ended_count = 20;
	orma_perf_complain_short(&paths, &processes);
	check_said("warning: ", "10 of 20 processes ended before their first sample",
		   "sysctl kernel.perf_event_paranoid=0");
	orma_perf_complain_late(&reader);
	check_silent();
	reader.late_count = 3;
	orma_perf_complain_late(&reader);
	check_said("warning: ", "3 of 100 stacks are not whole", "ring_buffer_pages");
	end();
}
