/* SPDX-License-Identifier: Apache-2.0
 * requests.cpp - a server in C++17: each request is a track of its own, the server has a state, and
 * a counter says how much it has sent.
 *
 *	orma_requests [requests]
 *
 * The headers and macros are the same as in C. Where C has designated initialisers, C++ calls functions:
 * orma_track_named() and the like for tracks, ORMA_SIZED() for options.
 */
#include <cstdio>
#include <cstdlib>
#include <orma/orma.h>
#include <string>

ORMA_CATEGORY_DEFINE(server, "example.server", "Requests, from arrival to answer");
ORMA_CATEGORY_DEFINE_TAGGED(parser, "example.parser", "Each header of a request", "slow");

namespace
{

constexpr orma_track requests = orma_track_named("requests");
constexpr orma_track mode = orma_track_state("mode");

constexpr orma_track make_sent()
{
	orma_track track = orma_track_under(&requests, orma_track_counter("sent"));

	track.unit = ORMA_TRACK_UNIT_BYTES;
	track.is_incremental = true;
	return track;
}

constexpr orma_track sent = make_sent();

std::size_t answer(const std::string &path)
{
	ORMA_SCOPE(server, "answer", "path", path, "cached", path.size() < 8);
	ORMA_INSTANT(parser, "header", "name", "Host");
	return path.size() * 100;
}

} // namespace

int main(int argc, char **argv)
{
	const unsigned long count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10;
	std::size_t sent_bytes = 0;
	orma_init_options options = ORMA_SIZED(orma_init_options);

	options.producer_name = "server";
	if (orma_init(&options) < 0)
		return 1;
	orma_sync(1000); /* a program this short would end before it is connected */
	ORMA_STATE(server, "mode", "busy", ORMA_ON(&mode));
	for (unsigned long i = 0; i < count; i++) {
		const orma_track request =
			orma_track_under(&requests, orma_track_numbered("request", i + 1));
		const std::string path = "/item/" + std::to_string(i);

		ORMA_BEGIN(server, "request", ORMA_ON(&request), "path", path, ORMA_FLOW(i));
		sent_bytes += answer(path);
		ORMA_COUNTER(server, "", sent_bytes, ORMA_ON(&sent));
		ORMA_END(server, ORMA_ON(&request), "bytes", sent_bytes, ORMA_TERMINATING_FLOW(i));
	}
	ORMA_STATE(server, "mode", "idle", ORMA_ON(&mode));
	orma_shutdown();
	std::printf("%lu requests, %zu bytes\n", count, sent_bytes);
}
