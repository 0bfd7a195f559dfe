/* SPDX-License-Identifier: Apache-2.0
 * heap_service.c - a tracing service of the profiler's own.
 *
 * Profiled processes are producers of this service, and each instance of android.heapprofd is a consumer's session in it. So samples
 * travel in a producer's shared memory, with one writer for each thread; the packets of a killed process are recovered; and hostile
 * processes pass the same checks as every producer. The packets stay in the profiler.
 *
 * The service does not announce packets, so a timer reads them: every 5 ms while there are many, and otherwise less and less often, down
 * to every 100 ms, because each wake-up takes 45 us of CPU time. The loop handles at most 2 ms of commits in one turn between two
 * reads. If a process writes packets faster than the profiler reads them, its own shared memory is full before the service's buffer is,
 * and the process drops samples and counts them.
 *
 * Rejected: passing the packets through the tracing service, because every sample would be in the trace.
 */
#include "probes/heap/heap_service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "host/host.h"
#include "ipc/address.h"
#include "proto/writer.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/trace_config.pb.h"

#define SOURCE_NAME   "orma.heap"
#define PRODUCER_NAME "orma.heap"
#define READ_BYTES    (1u << 20)
#define READ_MS_MIN   5u
#define READ_MS_MAX   100u
/* After a read of fewer bytes than the first, the time to the next read grows. After one of more bytes than the second, it is
 * READ_MS_MIN. */
#define READ_EARLY_BYTES (64u << 10)
#define READ_LATE_BYTES  (512u << 10)

struct orma_heap_service {
	struct orma_loop *loop;
	const char *socket;
	struct orma_service *service; /* NULL = there is no session */
	struct orma_host *host;
	uint32_t session_count;
};

struct orma_heap_session {
	struct orma_heap_service *owner;
	struct orma_consumer_port *port;
	struct orma_heap_session_options options;
	struct orma_timer timer;
	uint32_t read_ms;
	struct orma_buf packet;        /* the slices of one so far */
	orma_heap_session_fn *waiting; /* runs when the flush or stop is done */
	bool is_stopping, is_disabled;
	struct orma_task done;
};

const char *orma_heap_socket(void)
{
	const char *wanted = getenv("ORMA_HEAP_SOCK");

	if (wanted && wanted[0])
		return wanted;
	return access("/run/perfetto/", X_OK) == 0 ? "/run/perfetto/orma-profiler"
						   : "/tmp/orma-profiler";
}

/* --- the service ------------------------------------------------------------------------------ */

int orma_heap_service_new(struct orma_loop *loop, const char *socket,
			  struct orma_heap_service **ret)
{
	struct orma_heap_service *service = orma_base_zalloc(sizeof(*service));

	if (!service)
		return -ENOMEM;
	service->loop = loop;
	service->socket = socket ? socket : orma_heap_socket();
	*ret = service;
	return 0;
}

static void stop_service(struct orma_heap_service *service)
{
	orma_host_free(service->host);
	orma_service_free(service->service);
	service->host = NULL;
	service->service = NULL;
}

/* Lets all users connect to the socket, whatever the umask is. Symbolic links are not followed, because in a folder of another user the
 * path may have become one by now. */
static int let_everybody_connect(const char *address)
{
	struct orma_ipc_address parsed;
	char path[32];
	struct stat facts;
	int r = orma_ipc_address_parse(address, &parsed);
	const char *place = r == 0 ? orma_ipc_address_path(&parsed) : NULL;

	if (!place)
		return r;
	ORMA_AUTO(orma_base_fd_closep)
	int fd = orma_base_fd_avoid_standard(open(place, O_PATH | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0 || fstat(fd, &facts) < 0)
		return -errno;
	if (!S_ISSOCK(facts.st_mode) || facts.st_uid != geteuid())
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, 0666) < 0 ? -errno : 0;
}

static int start_service(struct orma_heap_service *service)
{
	struct orma_service_options options = {.struct_size = sizeof(options)};
	unsigned flags = ORMA_IPC_LISTEN_KEEP_LIVE;

	/* Only the profiler of root accepts processes of other users. */
	if (geteuid() != 0)
		flags |= ORMA_IPC_LISTEN_PRIVATE;
	int r = orma_service_new(&options, &service->service);
	if (r == 0)
		r = orma_host_new(service->loop, service->service, &service->host);
	if (r == 0)
		r = orma_host_listen_producers(service->host, service->socket, flags);
	if (r == 0 && geteuid() == 0)
		r = let_everybody_connect(service->socket);
	if (r < 0) {
		orma_base_log(ORMA_LOG_ERROR,
			      "android.heapprofd: cannot listen at %s: %s; ORMA_HEAP_SOCK chooses "
			      "another place, for the profiler and for the programs",
			      service->socket, strerror(-r));
		stop_service(service);
	}
	return r;
}

void orma_heap_service_free(struct orma_heap_service *service)
{
	if (!service)
		return;
	stop_service(service);
	orma_base_free(service);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void take_slice(struct orma_heap_session *session, const struct orma_trace_slice *slice)
{
	struct orma_buf *packet = &session->packet;
	struct orma_str whole = {slice->data, slice->size};

	if (packet->size > 0 || !slice->ends_packet) {
		if (orma_base_buf_append(packet, slice->data, slice->size) < 0)
			return;
		if (!slice->ends_packet)
			return;
		whole = orma_base_buf_str(packet);
	}
	session->options.packet(session->options.ctx, whole);
	packet->size = 0;
}

/* Returns the number of bytes that were read. */
static size_t read_all(struct orma_heap_session *session)
{
	struct orma_trace_batch batch;
	size_t bytes = 0;

	do {
		if (orma_consumer_port_read(session->port, READ_BYTES, &batch) < 0)
			return bytes;
		for (size_t i = 0; i < batch.count; i++) {
			take_slice(session, &batch.slices[i]);
			bytes += batch.slices[i].size;
		}
	} while (batch.has_more);
	return bytes;
}

static void on_timer(struct orma_timer *timer);

static void arm(struct orma_heap_session *session)
{
	(void)orma_base_loop_arm_in(session->owner->loop, &session->timer,
				    session->read_ms * ORMA_NS_PER_MS, on_timer);
}

static void on_timer(struct orma_timer *timer)
{
	struct orma_heap_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_heap_session, timer);

	size_t bytes = read_all(session);

	if (bytes > READ_LATE_BYTES)
		session->read_ms = READ_MS_MIN;
	else if (bytes < READ_EARLY_BYTES)
		session->read_ms = ORMA_MIN(session->read_ms * 2, READ_MS_MAX);
	orma_host_schedule(session->owner->host);
	arm(session);
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Runs outside of the service's callbacks. */
static void on_done(struct orma_task *task)
{
	struct orma_heap_session *session = ORMA_CONTAINER_OF(task, struct orma_heap_session, done);
	orma_heap_session_fn *fn = session->waiting;

	if (session->is_stopping && !session->is_disabled) {
		orma_consumer_port_disable(session->port);
		orma_host_schedule(session->owner->host);
		return;
	}
	(void)read_all(session);
	session->waiting = NULL;
	if (session->is_stopping)
		orma_base_timer_disarm(&session->timer);
	if (fn)
		fn(session->options.ctx);
}

static void on_flushed(void *ctx, bool is_complete)
{
	struct orma_heap_session *session = ctx;

	(void)is_complete;
	orma_base_loop_defer(session->owner->loop, &session->done, on_done);
}

static void on_disabled(void *ctx, const char *error)
{
	struct orma_heap_session *session = ctx;

	if (error)
		orma_base_log(ORMA_LOG_WARNING, "android.heapprofd: the session ended: %s", error);
	session->is_disabled = true;
	if (session->is_stopping)
		orma_base_loop_defer(session->owner->loop, &session->done, on_done);
}

static int make_config(const struct orma_heap_session_options *options, struct orma_buf *ret)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = &heap.writer;
	struct orma_proto_nested outer, inner;

	orma_proto_heap_writer_init(&heap, ret);
	orma_proto_nested_begin(writer, &outer, ORMA_PB_TRACE_CONFIG_BUFFERS);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_CONFIG_BUFFER_CONFIG_SIZE_KB,
				options->buffer_kb);
	orma_proto_nested_end(writer, &outer);
	orma_proto_nested_begin(writer, &outer, ORMA_PB_TRACE_CONFIG_DATA_SOURCES);
	orma_proto_nested_begin(writer, &inner, ORMA_PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
	orma_proto_write_string(writer, ORMA_PB_DATA_SOURCE_CONFIG_NAME, SOURCE_NAME);
	if (options->waits_for_room)
		orma_proto_write_int(
			writer, ORMA_PB_DATA_SOURCE_CONFIG_BUFFER_EXHAUSTED_POLICY,
			ORMA_PB_DATA_SOURCE_CONFIG_BUFFER_EXHAUSTED_POLICY_BUFFER_EXHAUSTED_STALL_THEN_DROP);
	orma_proto_write_str(writer, ORMA_PB_DATA_SOURCE_CONFIG_HEAPPROFD_CONFIG,
			     options->heapprofd_config);
	orma_proto_nested_end(writer, &outer);
	orma_proto_nested_begin(writer, &outer, ORMA_PB_TRACE_CONFIG_PRODUCERS);
	orma_proto_write_string(writer, ORMA_PB_TRACE_CONFIG_PRODUCER_CONFIG_PRODUCER_NAME,
				PRODUCER_NAME);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_CONFIG_PRODUCER_CONFIG_SHM_SIZE_KB,
				options->shm_kb);
	orma_proto_nested_end(writer, &outer);
	orma_proto_nested_begin(writer, &outer, ORMA_PB_TRACE_CONFIG_BUILTIN_DATA_SOURCES);
	orma_proto_write_bool(
		writer, ORMA_PB_TRACE_CONFIG_BUILTIN_DATA_SOURCE_DISABLE_CLOCK_SNAPSHOTTING, true);
	orma_proto_write_bool(writer, ORMA_PB_TRACE_CONFIG_BUILTIN_DATA_SOURCE_DISABLE_SYSTEM_INFO,
			      true);
	orma_proto_nested_end(writer, &outer);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_CONFIG_DATA_SOURCE_STOP_TIMEOUT_MS,
				options->stop_timeout_ms);
	return orma_proto_heap_writer_finish(&heap);
}

static int begin(struct orma_heap_session *session)
{
	static const struct orma_consumer_callbacks callbacks = {
		.struct_size = sizeof(callbacks),
		.tracing_disabled = on_disabled,
	};
	struct orma_consumer_info info = {
		.struct_size = sizeof(info),
		.uid = geteuid(),
		.pid = getpid(),
	};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf config = {0};
	struct orma_error error = {0};
	int r = orma_consumer_port_open(session->owner->service, &info, &callbacks, session,
					&session->port);

	if (r == 0)
		r = make_config(&session->options, &config);
	if (r == 0)
		r = orma_consumer_port_enable(session->port, config.data, config.size, -1, &error);
	if (r < 0)
		orma_base_log(ORMA_LOG_ERROR, "android.heapprofd: cannot begin: %s",
			      error.message[0] ? error.message : strerror(-r));
	orma_host_schedule(session->owner->host);
	return r;
}

int orma_heap_session_open(struct orma_heap_service *service,
			   const struct orma_heap_session_options *options,
			   struct orma_heap_session **ret)
{
	int r = service->session_count == 0 ? start_service(service) : 0;
	struct orma_heap_session *session = r == 0 ? orma_base_zalloc(sizeof(*session)) : NULL;

	if (r < 0)
		return r;
	service->session_count++;
	if (!session) {
		service->session_count--;
		if (service->session_count == 0)
			stop_service(service);
		return -ENOMEM;
	}
	session->owner = service;
	session->options = *options;
	session->read_ms = READ_MS_MIN;
	r = begin(session);
	if (r < 0) {
		orma_heap_session_close(session);
		return r;
	}
	arm(session);
	*ret = session;
	return 0;
}

void orma_heap_session_close(struct orma_heap_session *session)
{
	if (!session)
		return;
	struct orma_heap_service *service = session->owner;

	orma_base_timer_disarm(&session->timer);
	orma_base_task_cancel(&session->done);
	orma_consumer_port_close(session->port);
	orma_base_buf_done(&session->packet);
	orma_base_free(session);
	if (--service->session_count == 0)
		stop_service(service);
	else
		orma_host_schedule(service->host);
}

static int begin_flush(struct orma_heap_session *session, uint32_t timeout_ms,
		       orma_heap_session_fn *fn)
{
	if (session->waiting)
		return -EBUSY;
	session->waiting = fn;
	int r = orma_consumer_port_flush(session->port, timeout_ms, 0, on_flushed, session);
	if (r < 0)
		session->waiting = NULL;
	orma_host_schedule(session->owner->host);
	return r;
}

int orma_heap_session_flush(struct orma_heap_session *session, uint32_t timeout_ms,
			    orma_heap_session_fn *fn)
{
	return session->is_stopping ? -EBUSY : begin_flush(session, timeout_ms, fn);
}

int orma_heap_session_stop(struct orma_heap_session *session, orma_heap_session_fn *fn)
{
	if (session->waiting || session->is_stopping)
		return -EBUSY;
	session->is_stopping = true;
	return begin_flush(session, session->options.stop_timeout_ms, fn);
}
