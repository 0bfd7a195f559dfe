/* SPDX-License-Identifier: Apache-2.0
 * ctf.c - folders with traces in the Common Trace Format 1.8, among the formats.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/macros.h"
#include "formats/ctf_folder.h"
#include "formats/format.h"

static bool detect(int fd, struct orma_str beginning)
{
	struct orma_ctf_folder folder = {0};
	(void)beginning;
	/* Too many folders are an error of this format, too. */
	int r = orma_ctf_folder_find(&folder, fd, NULL);
	bool is_found = folder.traces.count > 0;
	orma_ctf_folder_done(&folder);
	return r == 0 || is_found;
}

static int write_packets(void *ctx, const void *data, size_t size)
{
	uint64_t address;
	return orma_trace_bytes_add(ctx, data, size, &address);
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct orma_ctf_report report;
	int r = orma_ctf_convert(conversion->fd, write_packets, conversion->output->bytes, &report,
				 reterr);
	conversion->folder_bytes = report.bytes;
	const struct {
		enum orma_stat stat;
		uint64_t value;
	} stats[] = {
		{ORMA_STAT_ctf_events_discarded, report.counts.discarded_events},
		{ORMA_STAT_ctf_packets_lost, report.counts.lost_packets},
		{ORMA_STAT_ctf_packets_damaged, report.counts.bad_packets},
		{ORMA_STAT_ctf_packets_cut, report.counts.cut_packets},
		{ORMA_STAT_ctf_files_skipped, report.foreign_files},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(stats); i++)
		if (stats[i].value > 0)
			orma_stats_add(&conversion->output->stats, 0, stats[i].stat, 0,
				       (int64_t)stats[i].value);
	if (r != -EBADMSG)
		return r;
	/* Without its metadata nothing of a trace can be read. The message is for one line, without the source. */
	if (reterr)
		reterr->message[strcspn(reterr->message, "\n")] = '\0';
	return -EPROTONOSUPPORT;
}

const struct orma_format orma_format_ctf = {"ctf", true, false, detect, convert};
