/* SPDX-License-Identifier: Apache-2.0
 * app.c - writes one packet with an extension of TrackEvent to the trace file that is named. It is
 * compiled as C11 and as C++17.
 */
#include <fcntl.h>
#include <orma/orma.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <frame.pz.h>

static void write_frame(struct orma_packet *packet)
{
	static const int32_t deltas[] = {0, -1, 1, INT32_MIN, INT32_MAX};
	static const uint32_t marks[] = {7, 8};
	struct orma_nested frame, size;

	my_app_track_event_begin_frame(packet, &frame);
	my_app_frame_set_name(packet, "first");
	my_app_frame_set_quality(packet, MY_APP_QUALITY_HIGH);
	my_app_frame_set_deltas(packet, deltas, sizeof(deltas) / sizeof(deltas[0]));
	my_app_frame_add_times(packet, 0.5f);
	my_app_frame_add_times(packet, 1.5f);
	my_app_frame_begin_size(packet, &size);
	my_app_frame_size_set_width(packet, 640);
	my_app_frame_size_set_height(packet, 480);
	my_app_frame_end_size(packet, &size);
	my_app_frame_set_hash(packet, "\001\002", 2);
	my_app_frame_set_is_late(packet, true);
	my_app_frame_set_marks(packet, marks, 2);
	my_app_track_event_end_frame(packet, &frame);
}

static void emit(struct orma_data_source *source)
{
	for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++) {
		struct orma_packet *packet = orma_packet_begin(source, idx);
		struct orma_nested event;

		if (!packet)
			continue;
		orma_packet_varint(packet, 8, 1000);          /* timestamp */
		orma_packet_nested_begin(packet, &event, 11); /* track_event */
		write_frame(packet);
		orma_packet_nested_end(packet, &event);
		orma_packet_end(packet);
	}
}

int main(int argc, char **argv)
{
	static const char config[] = "buffers { size_kb: 64 }\n"
				     "data_sources { config { name: \"my.app\" } }\n";
	static struct orma_init_options init;
	static struct orma_data_source_options source_options;
	static struct orma_session_options session_options;
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_error error;
	uint64_t written;
	void *bytes;
	size_t size;
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	init.struct_size = sizeof(init);
	init.backends = ORMA_BACKEND_IN_PROCESS;
	source_options.struct_size = sizeof(source_options);
	source_options.name = "my.app";
	session_options.struct_size = sizeof(session_options);
	session_options.in_process = true;
	if (fd < 0 || orma_init(&init) < 0 ||
	    orma_data_source_register(&source_options, &source) < 0 || orma_sync(10000) < 0 ||
	    orma_config_parse("config", config, sizeof(config) - 1, &bytes, &size, &error) < 0 ||
	    orma_session_new(&session_options, &session, &error) < 0 ||
	    orma_session_enable(session, bytes, size, -1) < 0 ||
	    orma_session_wait_started(session, 10000) < 0)
		return 1;
	emit(source);
	if (orma_session_stop(session) < 0 ||
	    orma_session_wait_stopped(session, 10000, &error) < 0 ||
	    orma_session_read_into_fd(session, fd, &written) < 0)
		return 1;
	orma_session_free(session);
	orma_config_free(bytes);
	orma_shutdown();
	close(fd);
	return 0;
}
