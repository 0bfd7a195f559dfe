/* SPDX-License-Identifier: Apache-2.0
 * file_rotate.c - max_file_count: a file that has its maximum size is put aside, and the session
 * goes on in a new one.
 *
 *   batch --no room--> carried --new file, initial packets--> as many entries as it has room for
 *                         ^___________________________________________ the rest _____|
 *
 * Each file can be read by itself: it begins with what the first one began with (clocks, marker,
 * config, uuid, provenance, system), and producers are asked to begin their incremental state anew.
 * Put one behind the other the files are the whole trace. Packets that find no room are carried to
 * the next file encoded, because making its initial packets takes the service's only batch. A
 * packet that is larger than a file gets one of its own. Names and descriptors are the file
 * operations' business, in order with the writes; here is only which bytes belong into which file.
 * Rejected: rotating by time (what fills a disk is bytes), a name with a number or a time for each
 * new file (whoever reads wants the newest under a name that stays).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "proto/reader.h"
#include "service/state.h"

/* That a file was there is to be known now, and not after hours of recording. */
int orma_service_rotation_check_names(const struct orma_service_session *session,
				      struct orma_error *reterr)
{
	const struct orma_service_output *output = &session->output;
	char name[ORMA_SERVICE_PATH_BYTES_MAX + 16];
	struct stat info;

	for (uint32_t i = 1; i < output->max_files; i++) {
		snprintf(name, sizeof(name), "%s.%u", output->path, i);
		if (fstatat(AT_FDCWD, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
			return orma_base_error_set(reterr, -EEXIST,
						   "max_file_count: a file called output_path.%u "
						   "exists already",
						   i);
	}
	return 0;
}

int orma_service_rotation_init(struct orma_service_session *session, struct orma_error *reterr)
{
	struct orma_service_output *output = &session->output;
	uint64_t min_bytes = ORMA_SERVICE_ROTATED_BYTES_MIN + 2 * session->config_bytes.size;
	uint32_t count = session->config->max_file_count;

	if (count == 0)
		return 0;
	if (output->max_bytes < min_bytes)
		return orma_base_error_set(reterr, -EINVAL,
					   "max_file_size_bytes: %llu is less than the minimum of "
					   "%llu with max_file_count, as each file has the config",
					   (unsigned long long)output->max_bytes,
					   (unsigned long long)min_bytes);
	output->max_files = count;
	return 0;
}

int orma_service_rotation_carry(struct orma_service_session *session, size_t begin)
{
	return orma_service_batch_encode(&session->service->batch, begin, &session->output.carried);
}

/* --- a new file ------------------------------------------------------------------------------- */

static void forget_initial(struct orma_service_session *session)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;

	session->has_emitted_initial = false;
	session->hits_emitted = 0;
	session->relay_infos_told = session->relay_clocks_told = 0;
	session->emits_sync_marker = true;
	session->emits_stats = true;
	if (!builtin || !builtin->disable_clock_snapshotting)
		orma_service_clocks_take(session->service, &session->initial_clocks);
}

static int put_initial(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf entries = {0};
	struct iovec iov;
	int r;

	forget_initial(session);
	orma_service_batch_begin(service);
	r = orma_service_own_before(session);
	if (r < 0)
		return r;
	orma_service_batch_filter(session, 0, NULL);
	r = orma_service_batch_encode(&service->batch, 0, &entries);
	iov = (struct iovec){entries.data, entries.size};
	return r < 0 || entries.size == 0 ? r : orma_service_output_put(session, &iov, 1);
}

static int begin_file(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	int r = service->file_ops.rotate(service->file_ctx, output->file, output->path,
					 output->max_files);

	if (r < 0)
		return r;
	output->written_bytes = 0;
	if (session->state == ORMA_SERVICE_SESSION_STARTED)
		orma_service_incremental_clear(session);
	return put_initial(session);
}

/* Of the carried entries, those that the file has room for, at least one. */
static int put_fitting(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;
	const uint8_t *begin = output->carried.data + output->carried_at, *end = begin;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct iovec iov;

	orma_proto_reader_init(&reader, begin, output->carried.size - output->carried_at);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		uint64_t bytes = (uint64_t)(reader.at - begin);

		if (end > begin && output->written_bytes + bytes >= output->max_bytes)
			break;
		end = reader.at;
	}
	if (end == begin)
		return -EBADMSG; /* cannot be: the service wrote them */
	output->carried_at += (size_t)(end - begin);
	iov = (struct iovec){(void *)(uintptr_t)begin, (size_t)(end - begin)};
	return orma_service_output_put(session, &iov, 1);
}

int orma_service_rotation_continue(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;
	int r = 0;

	while (output->carried_at < output->carried.size && !output->is_waiting && r == 0) {
		/* Only a packet too large for any file finds an empty one. */
		if (output->written_bytes > 0)
			r = begin_file(session);
		if (r == 0)
			r = put_fitting(session);
	}
	if (output->carried_at == output->carried.size) {
		orma_base_buf_done(&output->carried);
		output->carried_at = 0;
	}
	return r;
}
