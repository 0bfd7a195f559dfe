/* SPDX-License-Identifier: Apache-2.0
 * ftrace_power.c - suspend and resume, wakeup sources, runtime power management, device frequencies.
 */
#include <errno.h>

#include "schema/gen/ftrace_devfreq.pb.h"
#include "schema/gen/ftrace_power.pb.h"
#include "schema/gen/ftrace_rpm.pb.h"
#include "schema/gen/ftrace_synthetic.pb.h"
#include "trace/kernel_event.h"

/* How far a suspend has come; see suspend_ended(). */
enum { SUSPEND_IDLE, SUSPEND_ENTERED, SUSPEND_FREEZES };

static const struct orma_track_kind suspend_kind = {.type = "suspend_resume",
						    .name = "Suspend/Resume Latency"};

static int64_t lane(const struct orma_kernel_call *call, int64_t cookie, enum orma_lane_use use)
{
	return orma_system_lane(call->system, call->machine_idx, &suspend_kind, NULL, cookie, use);
}

static int64_t suspend_args(const struct orma_kernel_call *call, const char *type, int64_t device,
			    int64_t driver, int64_t phase)
{
	struct orma_arg_list *args = &call->system->args;
	const struct {
		const char *key;
		int64_t cell;
	} texts[] = {{"device_name", device}, {"driver_name", driver}, {"callback_phase", phase}};
	args->tables = call->system->tables;
	orma_arg_list_clear(args);
	orma_arg_list_add(args, ORMA_STR("utid"), ORMA_STR("utid"), ORMA_ARG_UINT,
			  orma_kernel_thread(call, call->tid));
	orma_arg_list_add_string(args, "event_type", orma_base_str(type));
	orma_arg_list_add(args, ORMA_STR("cpu"), ORMA_STR("cpu"), ORMA_ARG_UINT, call->cpu);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		orma_arg_list_add(args, orma_base_str(texts[i].key), orma_base_str(texts[i].key),
				  ORMA_ARG_STRING, texts[i].cell);
	return orma_system_take_args(call->system);
}

/* A suspend that fails while it freezes processes says no end of its own: they are thawed instead. */
static int suspend_ended(const struct orma_kernel_call *call, struct orma_str action)
{
	struct orma_kernel_state *kernel = &call->system->kernel;
	if (orma_base_str_is(action, "suspend_enter")) {
		kernel->suspend_state = SUSPEND_IDLE;
	} else if (orma_base_str_is(action, "thaw_processes") &&
		   kernel->suspend_state == SUSPEND_FREEZES) {
		kernel->suspend_state = SUSPEND_IDLE;
		return orma_kernel_end(call, lane(call, kernel->suspend_cookie, ORMA_LANE_END),
				       ORMA_CELL_NULL, ORMA_CELL_NULL);
	}
	return 0;
}

int orma_ftrace_suspend_resume(const struct orma_kernel_call *call)
{
	struct orma_kernel_state *kernel = &call->system->kernel;
	struct orma_str action = orma_kernel_text(call, ORMA_PB_SUSPEND_RESUME_FTRACE_EVENT_ACTION);
	int32_t value = (int32_t)orma_kernel_number(call, ORMA_PB_SUSPEND_RESUME_FTRACE_EVENT_VAL);
	/* That value is a CPU, which differs at the end. */
	if (orma_base_str_is(action, "timekeeping_freeze"))
		value = 0;
	call->system->text.size = 0;
	int64_t name = orma_kernel_printed(call, orma_base_buf_printf(&call->system->text,
								      "%.*s(%d)", (int)action.size,
								      action.data, value));
	if (!orma_kernel_number(call, ORMA_PB_SUSPEND_RESUME_FTRACE_EVENT_START)) {
		int r = orma_kernel_end(call, lane(call, name, ORMA_LANE_END), ORMA_CELL_NULL,
					ORMA_CELL_NULL);
		return r < 0 ? r : suspend_ended(call, action);
	}
	if (orma_base_str_is(action, "suspend_enter")) {
		kernel->suspend_state = SUSPEND_ENTERED;
		kernel->suspend_cookie = name;
	} else if (orma_base_str_is(action, "freeze_processes") &&
		   kernel->suspend_state == SUSPEND_ENTERED) {
		kernel->suspend_state = SUSPEND_FREEZES;
	}
	return orma_kernel_begin(call, lane(call, name, ORMA_LANE_BEGIN), ORMA_CELL_NULL, name,
				 suspend_args(call, "Main Kernel Suspend Event", ORMA_CELL_NULL,
					      ORMA_CELL_NULL, ORMA_CELL_NULL));
}

int orma_ftrace_suspend_minimal(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {.type = "suspend_resume_minimal",
						    .name = "Suspend/Resume Minimal"};
	int64_t track = orma_system_track(call->system, call->machine_idx, &kind, NULL);
	if (orma_kernel_number(call, ORMA_PB_SUSPEND_RESUME_MINIMAL_FTRACE_EVENT_START))
		return orma_kernel_begin(call, track, ORMA_CELL_NULL,
					 orma_kernel_constant(call, "Suspended"), ORMA_CELL_NULL);
	return orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
}

/* "suspend", or with the phase of the callback "suspend:late". */
static int64_t callback_phase(const struct orma_kernel_call *call)
{
	static const struct {
		unsigned event;
		const char *name;
	} events[] = {{0x2, "suspend"},   {0x10, "resume"}, {0x1, "freeze"},   {0x8, "quiesce"},
		      {0x4, "hibernate"}, {0x20, "thaw"},   {0x40, "restore"}, {0x80, "recover"}};
	static const char *const phases[] = {"early", "late", "noirq"};
	struct orma_str ops =
		orma_kernel_text(call, ORMA_PB_DEVICE_PM_CALLBACK_START_FTRACE_EVENT_PM_OPS);
	uint64_t event =
		orma_kernel_number(call, ORMA_PB_DEVICE_PM_CALLBACK_START_FTRACE_EVENT_EVENT);
	const char *name = "(unknown PM event)", *phase = NULL;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (events[i].event == event)
			name = events[i].name;
	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++)
		if (ops.size >= strlen(phases[i]) &&
		    memcmp(ops.data, phases[i], strlen(phases[i])) == 0)
			phase = phases[i];
	/* The kernel leaves these two out. */
	if (ops.size == 0 && event == 0x2)
		phase = "prepare";
	else if (ops.size == 0 && event == 0x10)
		phase = "complete";
	call->system->text.size = 0;
	return orma_kernel_printed(call,
				   orma_base_buf_printf(&call->system->text, "%s%s%s", name,
							phase ? ":" : "", phase ? phase : ""));
}

/* The two events that begin and end a callback have the device and the driver in the same fields. */
static int64_t device_name(const struct orma_kernel_call *call, struct orma_str *ret_device,
			   struct orma_str *ret_driver)
{
	*ret_device = orma_kernel_text(call, ORMA_PB_DEVICE_PM_CALLBACK_START_FTRACE_EVENT_DEVICE);
	*ret_driver = orma_kernel_text(call, ORMA_PB_DEVICE_PM_CALLBACK_START_FTRACE_EVENT_DRIVER);
	call->system->text.size = 0;
	return orma_kernel_printed(call,
				   orma_base_buf_printf(&call->system->text, "%.*s %.*s",
							(int)ret_device->size, ret_device->data,
							(int)ret_driver->size, ret_driver->data));
}

int orma_ftrace_device_pm_start(const struct orma_kernel_call *call)
{
	struct orma_str device, driver;
	int64_t name = device_name(call, &device, &driver);
	int64_t set = suspend_args(call, "Device PM Suspend Event",
				   orma_system_text(call->system, device),
				   orma_system_text(call->system, driver), callback_phase(call));
	return orma_kernel_begin(call, lane(call, name, ORMA_LANE_BEGIN), ORMA_CELL_NULL, name,
				 set);
}

int orma_ftrace_device_pm_end(const struct orma_kernel_call *call)
{
	struct orma_str device, driver;
	int64_t name = device_name(call, &device, &driver);
	return orma_kernel_end(call, lane(call, name, ORMA_LANE_END), ORMA_CELL_NULL,
			       ORMA_CELL_NULL);
}

static const struct orma_track_kind wakeup_kind = {.type = "wakesource_wakelock",
						   .name = "Wakelock(%0)",
						   .dimensions = {{"wakelock_event", true}}};

/* A source that is activated again while it is active has one slice. */
int orma_ftrace_wakeup_activate(const struct orma_kernel_call *call)
{
	struct orma_str text =
		orma_kernel_text(call, ORMA_PB_WAKEUP_SOURCE_ACTIVATE_FTRACE_EVENT_NAME);
	int64_t name = orma_system_text(call->system, text);
	int64_t *active =
		orma_kernel_sum(&call->system->kernel, 'W', call->machine_idx, (uint64_t)name);
	if (!active)
		return -ENOMEM;
	if ((*active)++ > 0)
		return 0;
	call->system->text.size = 0;
	int64_t slice = orma_kernel_printed(call, orma_base_buf_printf(&call->system->text,
								       "Wakelock(%.*s)",
								       (int)text.size, text.data));
	int64_t track = orma_system_track(call->system, call->machine_idx, &wakeup_kind, &name);
	return orma_kernel_begin(call, track, ORMA_CELL_NULL, slice, ORMA_CELL_NULL);
}

int orma_ftrace_wakeup_deactivate(const struct orma_kernel_call *call)
{
	int64_t name = orma_system_text(
		call->system,
		orma_kernel_text(call, ORMA_PB_WAKEUP_SOURCE_DEACTIVATE_FTRACE_EVENT_NAME));
	int64_t *active =
		orma_kernel_sum(&call->system->kernel, 'W', call->machine_idx, (uint64_t)name);
	if (!active)
		return -ENOMEM;
	if (*active == 0 || --*active > 0)
		return 0;
	int64_t track = orma_system_track(call->system, call->machine_idx, &wakeup_kind, &name);
	return orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
}

/* A device is suspended nearly all the time, so that state has no slice. */
int orma_ftrace_rpm_status(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {
		.type = "linux_rpm", .dimensions = {{"linux_device", true}}, .is_counter = true};
	static const char *const names[] = {"Active", "Resuming", NULL, "Suspending"};
	enum { SUSPENDED = 2 };
	int64_t name = orma_system_text(
		call->system, orma_kernel_text(call, ORMA_PB_RPM_STATUS_FTRACE_EVENT_NAME));
	int64_t track = orma_system_track(call->system, call->machine_idx, &kind, &name);
	int32_t status = (int32_t)orma_kernel_number(call, ORMA_PB_RPM_STATUS_FTRACE_EVENT_STATUS);
	int r = orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
	if (r < 0 || status == SUSPENDED)
		return r;
	return orma_kernel_begin(call, track, ORMA_CELL_NULL,
				 orma_kernel_constant(call, status >= 0 && status <= 3
								    ? names[status]
								    : "Invalid State"),
				 ORMA_CELL_NULL);
}

/* The name of a device begins with its address, which the track's leaves out. */
int orma_ftrace_device_frequency(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {.type = "linux_device_frequency",
						    .dimensions = {{"linux_device", true}},
						    .is_counter = true};
	static const char prefix[] = "devfreq_";
	struct orma_str device =
		orma_kernel_text(call, ORMA_PB_DEVFREQ_FREQUENCY_FTRACE_EVENT_DEV_NAME);
	int64_t value = orma_system_text(call->system, device);
	int64_t track = orma_system_track(call->system, call->machine_idx, &kind, &value);
	const char *found = memmem(device.data, device.size, prefix, sizeof(prefix) - 1);
	size_t skipped = found ? (size_t)(found - device.data) : 0;
	call->system->text.size = 0;
	int64_t name = orma_kernel_printed(
		call, orma_base_buf_printf(&call->system->text, "%s%.*s", found ? "" : prefix,
					   (int)(device.size - skipped), device.data + skipped));
	int r = track < 0 ? (int)track
			  : orma_tracks_set(call->system->tracks, track, ORMA_TRACK_NAME, name);
	return r < 0 ? r
		     : orma_counters_add(call->system->tables, call->ts, track,
					 (double)orma_kernel_number(
						 call, ORMA_PB_DEVFREQ_FREQUENCY_FTRACE_EVENT_FREQ),
					 ORMA_CELL_NULL);
}
