/* SPDX-License-Identifier: Apache-2.0
 * process_parse_test.c - /proc/PID/{status,smaps_rollup,stat} of several kernels, and of hostile
 * processes.
 */
#include "probes/process_stats/process_parse.h"

#include "harness.h"

#define T(text) ((struct orma_str){(text), sizeof(text) - 1})

static void check_str(struct orma_str actual, const char *expected)
{
	CHECK_MEM(actual.data, actual.size, expected, strlen(expected));
}

static bool has(const struct orma_probes_process_sample *sample,
		enum orma_probes_process_value value)
{
	return sample->present >> value & 1;
}

/* Linux 6.18 */
static const char status_new[] =
	"Name:\tcat\nUmask:\t0022\nState:\tR (running)\nTgid:\t18851\nNgid:\t0\nPid:\t18851\n"
	"PPid:\t18849\nTracerPid:\t0\nUid:\t1000\t1001\t1002\t1003\nGid:\t0\t0\t0\t0\nFDSize:"
	"\t256\n"
	"Groups:\t "
	"\nNStgid:\t18851\t12\nNSpid:\t18851\t12\t3\nNSpgid:\t18849\t12\nNSsid:\t12114\t1\n"
	"Kthread:\t0\nVmPeak:\t    3060 kB\nVmSize:\t    3061 kB\nVmLck:\t       5 kB\n"
	"VmPin:\t       0 kB\nVmHWM:\t    1672 kB\nVmRSS:\t    1671 kB\nRssAnon:\t     112 kB\n"
	"RssFile:\t    1559 kB\nRssShmem:\t       1 kB\nVmData:\t     360 kB\nVmSwap:\t       7 "
	"kB\n"
	"HugetlbPages:\t       0 kB\nThreads:\t1\nSigQ:\t0/96365\n";

/* Linux 3.10: no Kthread, no Rss*, no NSpid */
static const char status_old[] =
	"Name:\tinit\nState:\tS (sleeping)\nTgid:\t1\nPid:\t1\nPPid:\t0\nTracerPid:\t0\n"
	"Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t64\nGroups:\t\nVmPeak:\t   26156 kB\n"
	"VmSize:\t   24420 kB\nVmLck:\t       0 kB\nVmPin:\t       0 kB\nVmHWM:\t    2344 kB\n"
	"VmRSS:\t    1832 kB\nVmSwap:\t       0 kB\nThreads:\t1\n";

static const char status_kthread[] =
	"Name:\tkworker/0:1-events_unbound\nUmask:\t0000\nState:\tI (idle)\nTgid:\t12\nNgid:\t0\n"
	"Pid:\t12\nPPid:\t2\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t12\n"
	"Kthread:\t1\nThreads:\t1\n";

ORMA_TEST(status_of_a_new_kernel_gives_all_values)
{
	struct orma_probes_process_status status;
	struct orma_probes_process_sample sample = {0};
	orma_probes_process_status_parse(T(status_new), &status, &sample);
	check_str(status.name, "cat");
	check_str(status.nspid, "12\t3");
	CHECK_INT(status.tgid, 18851);
	CHECK_INT(status.pid, 18851);
	CHECK_INT(status.ppid, 18849);
	CHECK_INT(status.uid, 1000);
	CHECK_INT(status.kthread, 0);
	CHECK_INT(sample.values[ORMA_PROCESS_VM_SIZE], 3061);
	CHECK_INT(sample.values[ORMA_PROCESS_VM_RSS], 1671);
	CHECK_INT(sample.values[ORMA_PROCESS_RSS_ANON], 112);
	CHECK_INT(sample.values[ORMA_PROCESS_RSS_FILE], 1559);
	CHECK_INT(sample.values[ORMA_PROCESS_RSS_SHMEM], 1);
	CHECK_INT(sample.values[ORMA_PROCESS_VM_SWAP], 7);
	CHECK_INT(sample.values[ORMA_PROCESS_VM_LOCKED], 5);
	CHECK_INT(sample.values[ORMA_PROCESS_VM_HWM], 1672);
	CHECK_INT(__builtin_popcount(sample.present), 8);
}

ORMA_TEST(status_of_an_old_kernel_gives_what_it_has)
{
	struct orma_probes_process_status status;
	struct orma_probes_process_sample sample = {0};
	orma_probes_process_status_parse(T(status_old), &status, &sample);
	CHECK_INT(status.kthread, -1);
	CHECK_INT(status.nspid.size, 0);
	CHECK(has(&sample, ORMA_PROCESS_VM_RSS));
	CHECK(!has(&sample, ORMA_PROCESS_RSS_ANON));
	CHECK_INT(__builtin_popcount(sample.present), 5);
}

ORMA_TEST(status_of_a_kernel_thread_has_no_memory)
{
	struct orma_probes_process_status status;
	struct orma_probes_process_sample sample = {0};
	orma_probes_process_status_parse(T(status_kthread), &status, &sample);
	check_str(status.name, "kworker/0:1-events_unbound");
	CHECK_INT(status.kthread, 1);
	CHECK_INT(status.nspid.size, 0);
	CHECK_INT(sample.present, 0);
}

ORMA_TEST(a_name_cannot_fake_other_lines_of_status)
{
	/* The kernel writes a newline in a name as backslash n. */
	struct orma_probes_process_status status;
	struct orma_probes_process_sample sample = {0};
	char buf[ORMA_PROBES_COMM_BYTES];
	orma_probes_process_status_parse(T("Name:\ta\\nVmSize: 1\\\\\nTgid:\t7\nPid:\t7\n"),
					 &status, &sample);
	CHECK_INT(sample.present, 0);
	CHECK_INT(status.tgid, 7);
	check_str(orma_probes_process_unescape(status.name, buf), "a\nVmSize: 1\\");
	check_str(orma_probes_process_unescape(T("plain"), buf), "plain");
	check_str(orma_probes_process_unescape(T("odd\\"), buf), "odd\\");
	check_str(orma_probes_process_unescape(T("odd\\t"), buf), "odd\\t");
	check_str(orma_probes_process_unescape((struct orma_str){0}, buf), "");
	char longer[200];
	memset(longer, 'y', sizeof(longer));
	CHECK_INT(orma_probes_process_unescape((struct orma_str){longer, sizeof(longer)}, buf).size,
		  ORMA_PROBES_COMM_BYTES);
	longer[0] = '\\';
	longer[1] = 'n';
	CHECK_INT(orma_probes_process_unescape((struct orma_str){longer, sizeof(longer)}, buf).size,
		  ORMA_PROBES_COMM_BYTES);
}

ORMA_TEST(a_name_keeps_its_blanks)
{
	struct orma_probes_process_status status;
	orma_probes_process_status_parse(T("Name:\t\t two \t\nTgid:\t7\n"), &status, NULL);
	check_str(status.name, "\t two \t");
	CHECK_INT(status.tgid, 7);
	orma_probes_process_status_parse(T("Name:\t \nTgid:\t7\n"), &status, NULL);
	check_str(status.name, " ");
	orma_probes_process_status_parse(T("Name:\t\nTgid:\t7\n"), &status, NULL);
	check_str(status.name, "");
}

ORMA_TEST(status_cut_anywhere_is_harmless)
{
	for (size_t size = 0; size < sizeof(status_new); size++) {
		/* A copy of exactly that size, so that a sanitizer detects reads beyond it. */
		char *copy = malloc(size + 1);
		struct orma_probes_process_status status;
		struct orma_probes_process_sample sample = {0};
		memcpy(copy, status_new, size);
		orma_probes_process_status_parse((struct orma_str){copy, size}, &status, &sample);
		orma_probes_process_smaps_parse((struct orma_str){copy, size}, &sample);
		free(copy);
	}
}

ORMA_TEST(huge_and_absurd_numbers_of_status_are_left_out)
{
	struct orma_probes_process_status status;
	struct orma_probes_process_sample sample = {0};
	orma_probes_process_status_parse(
		T("Tgid:\t99999999999999999999\nPid:\tx\nUid:\t\nVmSize:\t21474836480 kB\n"
		  "VmRSS:\t-5 kB\nVmHWM:\nno colon\n:\n"),
		&status, &sample);
	CHECK_INT(status.tgid, -1);
	CHECK_INT(status.pid, -1);
	CHECK_INT(status.uid, -1);
	/* 20 TiB, as under AddressSanitizer. */
	CHECK(sample.values[ORMA_PROCESS_VM_SIZE] == UINT64_C(21474836480));
	CHECK_INT(__builtin_popcount(sample.present), 1);
}

ORMA_TEST(smaps_rollup_is_told_from_status_by_its_own_keys)
{
	struct orma_probes_process_sample sample = {0};
	orma_probes_process_smaps_parse(
		T("5595aa4ae000-7fff2d207000 ---p 00000000 00:00 0                    [rollup]\n"
		  "Rss:                1736 kB\nPss:                 343 kB\n"
		  "Pss_Dirty:           110 kB\nPss_Anon:            112 kB\n"
		  "Pss_File:            231 kB\nPss_Shmem:             4 kB\n"
		  "Shared_Clean:       1584 kB\nSwap:                  9 kB\n"
		  "SwapPss:               8 kB\nLocked:                0 kB\n"),
		&sample);
	CHECK_INT(sample.values[ORMA_PROCESS_SMR_RSS], 1736);
	CHECK_INT(sample.values[ORMA_PROCESS_SMR_PSS], 343);
	CHECK_INT(sample.values[ORMA_PROCESS_SMR_PSS_ANON], 112);
	CHECK_INT(sample.values[ORMA_PROCESS_SMR_PSS_FILE], 231);
	CHECK_INT(sample.values[ORMA_PROCESS_SMR_PSS_SHMEM], 4);
	CHECK_INT(sample.values[ORMA_PROCESS_SMR_SWAP_PSS], 8);
	CHECK_INT(__builtin_popcount(sample.present), 6);
}

#define STAT_TAIL                                                                                  \
	" R 18849 18849 12114 0 -1 4194304 99 0 0 0 14 15 0 0 20 0 1 0 228478 3133440 366 "        \
	"18446744073709551615 1 2 3\n"

ORMA_TEST(stat_is_read_from_behind_the_name_whatever_it_is)
{
	const struct orma_str texts[] = {
		{"18853 (cat)" STAT_TAIL, sizeof("18853 (cat)" STAT_TAIL) - 1},
		{"18853 (a b c)" STAT_TAIL, sizeof("18853 (a b c)" STAT_TAIL) - 1},
		{"18853 (x) R 1 2 3)" STAT_TAIL, sizeof("18853 (x) R 1 2 3)" STAT_TAIL) - 1},
		{"18853 (\n)\n)" STAT_TAIL, sizeof("18853 (\n)\n)" STAT_TAIL) - 1},
		{"18853 ()" STAT_TAIL, sizeof("18853 ()" STAT_TAIL) - 1},
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct orma_probes_process_times times = {0};
		CHECK_INT(orma_probes_process_stat_parse(texts[i], &times), 0);
		CHECK_INT(times.user_ticks, 14);
		CHECK_INT(times.kernel_ticks, 15);
		CHECK_INT(times.thread_count, 1);
		CHECK_INT(times.start_ticks, 228478);
	}
}

ORMA_TEST(stat_without_its_numbers_is_refused)
{
	struct orma_probes_process_times times = {1, 2, 3, 4};
	CHECK_INT(orma_probes_process_stat_parse(T(""), &times), -EBADMSG);
	CHECK_INT(orma_probes_process_stat_parse(T("1 (cat"), &times), -EBADMSG);
	CHECK_INT(orma_probes_process_stat_parse(T("1 (cat)"), &times), -EBADMSG);
	CHECK_INT(orma_probes_process_stat_parse(T("1 (cat) R 1 2 3 4"), &times), -EBADMSG);
	CHECK_INT(orma_probes_process_stat_parse(
			  T("1 (c) R 1 2 3 0 -1 4 5 0 0 0 x 15 0 0 20 0 1 0 22\n"), &times),
		  -EBADMSG);
	CHECK_INT(times.user_ticks, 1);
}
