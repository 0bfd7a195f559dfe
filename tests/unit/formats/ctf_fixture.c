/* SPDX-License-Identifier: Apache-2.0
 * ctf_fixture.c - bits in both orders, and packets as LTTng writes them.
 */
#include "ctf_fixture.h"

#include <fcntl.h>
#include <unistd.h>

enum {
	HEADER_BYTES = 4 + 4 + 8,
	END_OFFSET = HEADER_BYTES + 8,
	CONTENT_OFFSET = END_OFFSET + 8,
	PACKET_OFFSET = CONTENT_OFFSET + 8,
	PADDING_BYTES = 8,
};

const char ctf_preamble[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"trace { major = 1; minor = 8; byte_order = %s;\n"
	"  packet.header := struct { uint32_t magic; uint32_t stream_id; uint64_t "
	"stream_instance_id; }; };\n"
	"env { domain = \"%s\"; hostname = \"host\"; sysname = \"Linux\"; kernel_release = "
	"\"6.1.0\"; };\n"
	"clock { name = monotonic; uuid = \"549023bb-7f7e-40af-a791-1fe0f4d0d329\"; freq = "
	"1000000000; offset = 1600000000000000000; };\n"
	"typealias integer { size = 27; align = 1; map = clock.monotonic.value; } := time27;\n"
	"typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := time64;\n"
	"stream { id = 0;\n"
	"  packet.context := struct { time64 timestamp_begin; time64 timestamp_end; uint64_t "
	"content_size; uint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; "
	"uint32_t cpu_id; };\n"
	"  event.header := struct { enum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
	"    variant <id> { struct { time27 timestamp; } compact; struct { uint32_t id; time64 "
	"timestamp; } extended; } v; } align(8);\n";

static void put_bit(struct ctf_bytes *bytes, bool bit)
{
	unsigned shift = bytes->is_big_endian ? 7 - bytes->at % 8 : bytes->at % 8;
	CHECK(bytes->at / 8 < sizeof(bytes->data));
	if (bytes->at % 8 == 0)
		bytes->data[bytes->at / 8] = 0;
	bytes->data[bytes->at / 8] |= (uint8_t)(bit << shift);
	bytes->at++;
}

static void align(struct ctf_bytes *bytes, unsigned bits)
{
	while ((bytes->at - bytes->packet) % bits != 0)
		put_bit(bytes, false);
}

void ctf_put(struct ctf_bytes *bytes, unsigned bits, unsigned alignment, uint64_t value)
{
	align(bytes, alignment);
	for (unsigned i = 0; i < bits; i++)
		put_bit(bytes, value >> (bytes->is_big_endian ? bits - 1 - i : i) & 1);
}

void ctf_put_double(struct ctf_bytes *bytes, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	ctf_put(bytes, 64, 8, bits);
}

void ctf_put_float(struct ctf_bytes *bytes, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	ctf_put(bytes, 32, 8, bits);
}

void ctf_put_array(struct ctf_bytes *bytes, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ctf_put(bytes, 8, 8, i < strlen(text) ? (uint8_t)text[i] : 0);
}

void ctf_put_text(struct ctf_bytes *bytes, const char *text)
{
	ctf_put_array(bytes, text, strlen(text) + 1);
}

void ctf_packet_begin(struct ctf_bytes *bytes, uint64_t ns, uint32_t cpu, uint64_t number,
		      uint64_t discarded)
{
	align(bytes, 8);
	bytes->packet = bytes->at;
	ctf_put(bytes, 32, 8, 0xc1fc1fc1);
	ctf_put(bytes, 32, 8, 0);   /* stream */
	ctf_put(bytes, 64, 8, cpu); /* instance */
	ctf_put(bytes, 64, 8, ns);
	for (int i = 0; i < 3; i++)
		ctf_put(bytes, 64, 8, 0); /* end, sizes */
	ctf_put(bytes, 64, 8, number);
	ctf_put(bytes, 64, 8, discarded);
	ctf_put(bytes, 32, 8, cpu);
}

static void set(struct ctf_bytes *bytes, size_t offset, uint64_t value)
{
	size_t at = bytes->at;
	bytes->at = bytes->packet + offset * 8;
	ctf_put(bytes, 64, 8, value);
	bytes->at = at;
}

void ctf_packet_end(struct ctf_bytes *bytes, uint64_t ns)
{
	size_t bits = bytes->at - bytes->packet;
	align(bytes, 8);
	ctf_put(bytes, PADDING_BYTES * 8, 8, 0);
	set(bytes, END_OFFSET, ns);
	set(bytes, CONTENT_OFFSET, bits);
	set(bytes, PACKET_OFFSET, bytes->at - bytes->packet);
}

void ctf_event(struct ctf_bytes *bytes, unsigned id, uint64_t ns)
{
	ctf_put(bytes, 5, 8, id);
	ctf_put(bytes, 27, 1, ns);
}

void ctf_write(const char *folder, const char *name, const void *data, size_t size)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	CHECK(file);
	CHECK_INT(fwrite(data, 1, size, file), size);
	CHECK_INT(fclose(file), 0);
}

void ctf_write_metadata(const char *folder, const char *byte_order, const char *domain,
			const char *events)
{
	static char text[1 << 16];
	int size = snprintf(text, sizeof(text), ctf_preamble, byte_order, domain);
	size += snprintf(text + size, sizeof(text) - (size_t)size, "%s", events);
	ctf_write(folder, "metadata", text, (size_t)size);
}

void ctf_write_stream(const char *folder, const char *name, const struct ctf_bytes *bytes)
{
	ctf_write(folder, name, bytes->data, (bytes->at + 7) / 8);
}

static int append(void *ctx, const void *data, size_t size)
{
	return orma_base_buf_append(ctx, data, size);
}

int ctf_convert(const char *folder, struct orma_buf *packets, struct orma_ctf_report *report,
		struct orma_error *error)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0);
	int r = orma_ctf_convert(fd, append, packets, report, error);
	close(fd);
	return r;
}

void ctf_import(const char *folder, struct import_fixture *fixture, struct orma_ctf_report *report)
{
	struct orma_buf packets = {0};
	struct orma_error error = {0};
	int r = ctf_convert(folder, &packets, report, &error);
	if (r < 0)
		orma_test_fail(__FILE__, __LINE__, "%d: %s", r, error.message);
	import_bytes(fixture, packets.data, packets.size);
	CHECK_INT(fixture->result, 0);
	orma_base_buf_done(&packets);
}
