/* SPDX-License-Identifier: Apache-2.0
 * ctf_fixture.h - writes traces in the Common Trace Format, field by field, and imports them.
 */
#ifndef ORMA_TESTS_UNIT_FORMATS_CTF_FIXTURE_H
#define ORMA_TESTS_UNIT_FORMATS_CTF_FIXTURE_H

#include "../trace/import_fixture.h"
#include "formats/ctf_folder.h"

/* The bytes of a stream. {0} is empty; memory is reused and never freed. */
struct ctf_bytes {
	uint8_t data[1 << 16];
	size_t at;     /* in bits */
	size_t packet; /* where the packet begins */
	bool is_big_endian;
};

void ctf_put(struct ctf_bytes *bytes, unsigned bits, unsigned align, uint64_t value);
void ctf_put_double(struct ctf_bytes *bytes, double value);
void ctf_put_float(struct ctf_bytes *bytes, float value);
void ctf_put_text(struct ctf_bytes *bytes, const char *text); /* and its NUL */
void ctf_put_array(struct ctf_bytes *bytes, const char *text, size_t size);

/* A packet with the header and the context of CTF_STREAM. `end` sets the sizes and the time of its end. */
void ctf_packet_begin(struct ctf_bytes *bytes, uint64_t ns, uint32_t cpu, uint64_t number,
		      uint64_t discarded);
void ctf_packet_end(struct ctf_bytes *bytes, uint64_t ns);
/* The compact header that LTTng has for streams with few events. */
void ctf_event(struct ctf_bytes *bytes, unsigned id, uint64_t ns);

/* Declares a trace, its types and a stream as LTTng does; the first %s is the byte order, the second the domain. */
extern const char ctf_preamble[];

/* Writes a file below a folder, whose parents must exist. */
void ctf_write(const char *folder, const char *name, const void *data, size_t size);
/* Writes metadata: the preamble and what follows it. */
void ctf_write_metadata(const char *folder, const char *byte_order, const char *domain,
			const char *events);
void ctf_write_stream(const char *folder, const char *name, const struct ctf_bytes *bytes);
/* Converts the traces below a folder, and returns what orma_ctf_convert() does. */
int ctf_convert(const char *folder, struct orma_buf *packets, struct orma_ctf_report *report,
		struct orma_error *error);
/* Converts and imports them. */
void ctf_import(const char *folder, struct import_fixture *fixture, struct orma_ctf_report *report);

#endif
