/* SPDX-License-Identifier: Apache-2.0
 * profile_command_test.c - what `orma profile` prints and writes about a program that runs in one function.
 *
 * Where the kernel grants no perf events, the tests are skipped.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "harness.h"

#define ORMA     ORMA_BUILD_DIR "/orma"
#define FUNCTION "orma_profile_test_spin"

/* It counts from when sampling has begun. */
#ifdef __SANITIZE_THREAD__
#define DURATION "3s"
#else
#define DURATION "1s"
#endif

__attribute__((noinline)) void orma_profile_test_spin(void);

/* It uses no memory, where ThreadSanitizer would call functions of its own. */
void orma_profile_test_spin(void)
{
	for (;;)
		__asm__ volatile("");
}

static void sleep_often(void)
{
	for (;;)
		usleep(10000);
}

/* 64 faults at a time. */
static void fault_often(void)
{
	for (;;) {
		char *memory = mmap(NULL, 256 << 10, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(memory, 256 << 10, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < 256 << 10; i += 4096)
			((volatile char *)memory)[i] = 1;
		munmap(memory, 256 << 10);
		usleep(20000);
	}
}

/* A child of this process, which ends with its parent. */
static pid_t start(void (*run)(void))
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		orma_test_skip("perf events; see perf_event_paranoid");
	close(fd);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
	}
	return pid;
}

static void end(pid_t pid)
{
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
}

/* The first 64 KiB that a command prints. It must end well. */
static const char *output_of(const char *command)
{
	static char text[64 << 10];
	FILE *output = popen(command, "re");

	CHECK(output != NULL);
	size_t size = fread(text, 1, sizeof(text) - 1, output);
	text[size] = '\0';
	CHECK_INT(pclose(output), 0);
	return text;
}

/* Profiles for a moment, and returns what is printed. The time between two samples is shorter than those for which a busy
 * machine lets a program run at once, because the kernel begins to count anew each time. */
static const char *profile(pid_t pid, const char *options, const char *file)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "cd %s && " ORMA " profile -p %d -F 1000 -t " DURATION
		 " -n 1 %s -o %s 2>messages || "
		 "{ cat messages >&2; false; }",
		 orma_test_tmpdir(), (int)pid, options, file);
	return output_of(command);
}

static const char *in_folder(const char *command)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "cd %s && %s", orma_test_tmpdir(), command);
	return output_of(whole);
}

/* The number of samples, the head, and one row: the function that takes the time. Returns what follows. */
static const char *check_table(const char *text)
{
	char count[16], unit[16], function[64];
	double self, total;
	int size = 0;

	/* A number from 1,000 on has a comma. */
	CHECK_INT(sscanf(text, "%15[0-9,] %15s\n%n", count, unit, &size), 2);
	CHECK_STR(unit, "samples");
	CHECK(strtoul(count, NULL, 10) >= 10 || strchr(count, ','));
	text += size;
	static const char head[] = "SELF    TOTAL  FUNCTION\n";
	text = strstr(text, head);
	CHECK(text != NULL);
	text += sizeof(head) - 1;
	CHECK_INT(sscanf(text, "%lf%% %lf%% %63s\n%n", &self, &total, function, &size), 3);
	CHECK_STR(function, FUNCTION);
	CHECK(self > 50 && self <= total && total <= 100);
	return text + size;
}

ORMA_TEST(the_table_begins_with_the_function_that_takes_the_time)
{
	pid_t pid = start(orma_profile_test_spin);

	CHECK_STR(check_table(profile(pid, "", "x.pftrace")),
		  "x.pftrace: the trace; orma view, report and export read it\n");
	CHECK_STR(in_folder(ORMA " sql --csv x.pftrace \"select count(*) >= 10 from perf_sample\" "
				 "| sed 1d"),
		  "1\n");
	end(pid);
}

ORMA_TEST(the_ending_of_the_name_chooses_the_format)
{
	pid_t pid = start(orma_profile_test_spin);

	CHECK_STR(check_table(profile(pid, "", "x.collapsed")), "");
	CHECK(strstr(in_folder("sort -k2 -n -t' ' x.collapsed | tail -1"), ";" FUNCTION " "));
	CHECK_STR(check_table(profile(pid, "", "x.pb.gz")), "");
	CHECK_STR(in_folder("gzip -dc x.pb.gz | grep -ac " FUNCTION), "1\n");
	const char *rest = check_table(profile(pid, "", "x.html"));
	CHECK(strstr(rest, "x.html: ") && strstr(rest, "any browser opens it"));
	CHECK(strstr(in_folder("head -c 15 x.html"), "<!DOCTYPE html>") ||
	      strstr(in_folder("head -c 15 x.html"), "<!doctype html>"));
	CHECK(atoi(in_folder("grep -c " FUNCTION " x.html")) > 0);
	/* The trace of the other forms is in a folder that is removed. */
	CHECK_STR(in_folder("ls"), "messages\nx.collapsed\nx.html\nx.pb.gz\n");
	end(pid);
}

ORMA_TEST(options_leave_out_the_kernel_and_the_callers)
{
	pid_t pid = start(orma_profile_test_spin);
	char command[256];

	CHECK_STR(profile(pid, "-q --stacks none --no-kernel", "x.pftrace"), "");
	CHECK_STR(in_folder(ORMA
			    " sql --csv x.pftrace \"select count(*) from stack_profile_frame\" "
			    "| sed 1d"),
		  "0\n");
	snprintf(command, sizeof(command),
		 ORMA " profile -p %d -t 100ms --stacks none --no-kernel 2>messages; echo $?; "
		      "grep -c 'stacks none has left out' messages",
		 (int)pid);
	CHECK_STR(in_folder(command), "1\n1\n");
	(void)profile(pid, "-q --stacks fp --no-kernel --period 1000000", "x.collapsed");
	CHECK(strstr(in_folder("cat x.collapsed"), ";" FUNCTION " "));
	end(pid);
}

ORMA_TEST(waits_are_in_time_and_not_in_samples)
{
	pid_t pid = start(sleep_often);
	const char *text = profile(pid, "--off-cpu", "x.pftrace");
	CHECK(strstr(text, " ms of waiting\n") || strstr(text, " s of waiting\n"));
	CHECK(!strstr(text, "sample"));
	end(pid);
}

/* Short processes, which have ended when their samples are read. Nothing of the profiler itself is in
 * the profile, although it builds unwind tables in a child meanwhile. */
ORMA_TEST(only_the_program_and_its_children_are_in_the_trace_and_have_names)
{
	end(start(orma_profile_test_spin));
	(void)in_folder(ORMA " profile -q -F 5000 -o x.pftrace -- sh -c "
			     "'for i in 1 2 3 4 5 6 7 8; do python3 -c \"sum(range(1000000))\" || "
			     "perl -e \"1 for 1 .. 1000000\"; done' 2>messages");
	/* The kernel says -1 for a thread that is at its very end. */
	CHECK_STR(in_folder(ORMA " sql --csv x.pftrace \"select count(*) > 8 from perf_sample\" "
				 "| sed 1d"),
		  "1\n");
	CHECK_STR(in_folder(ORMA " sql --csv x.pftrace \"select count(*) from perf_sample join "
				 "thread using(utid) join process using(upid) where tid != -1 and "
				 "(process.name is null or process.name = '' or thread.name is "
				 "null or process.name like '%orma%')\" | sed 1d"),
		  "0\n");
}

/* A program of its own, because sanitizers have a thread in this one that wakes up. */
static void wait_for_ever(void)
{
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* Waits until it waits, which then lasts until after the recording. */
static void await_wait(pid_t pid)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "until grep -q '(sleep) S' /proc/%d/stat; do sleep 0.01; done", (int)pid);
	(void)output_of(command);
}

ORMA_TEST(a_profile_without_samples_says_what_was_looked_for)
{
	pid_t pid = start(wait_for_ever);
	char command[512];

	await_wait(pid);
	snprintf(command, sizeof(command),
		 ORMA " profile --off-cpu -t 100ms -p %d 2>messages; echo $?; "
		      "grep -c 'no wait began in this time' messages; " ORMA
		      " profile -t 100ms -p %d 2>messages; echo $?; "
		      "grep -c 'nothing ran, or no thread for as long as' messages",
		 (int)pid, (int)pid);
	CHECK_STR(in_folder(command), "1\n1\n1\n1\n");
	end(pid);
}

/* The builder of unwind tables waits for work in most of that time. */
ORMA_TEST(only_the_program_is_in_a_profile_of_waits)
{
	end(start(orma_profile_test_spin));
	(void)in_folder(ORMA " profile -q --off-cpu -o x.folded -- sleep 0.2 2>messages");
	CHECK_STR(in_folder("sed 's/;.*//' x.folded | sort -u"), "sleep\n");
}

/* A copy of sh(1) without names, also without those in debugging information, which is found by build id. */
ORMA_TEST(functions_without_names_have_a_remedy)
{
	end(start(orma_profile_test_spin));
	(void)in_folder("objcopy --strip-all --remove-section .note.gnu.build-id "
			"\"$(readlink -f /bin/sh)\" nameless && " ORMA
			" profile -F 5000 -n 1 -o x.pftrace -- ./nameless -c "
			"'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done' 2>messages");
	CHECK_STR(in_folder("grep -c 'is spent in functions without names, most of it in "
			    ".*/nameless; they have names if its debugging symbols are "
			    "installed' messages"),
		  "1\n");
}

/* A loop in memory, as a JIT compiler writes it. */
static void run_made_code(void)
{
#if defined(__x86_64__) || defined(__i386__)
	static const unsigned char code[] = {0xeb, 0xfe};
#elif defined(__aarch64__)
	static const unsigned char code[] = {0, 0, 0, 0x14};
#else
	static const unsigned char code[] = {0};
#endif
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void);

	memcpy(memory, code, sizeof(code));
	mprotect(memory, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(memory, memory + sizeof(code));
	memcpy(&run, &memory, sizeof(run));
	run();
}

#ifdef __x86_64__
/* Calls a trampoline, which calls a function with its third argument, as the interpreter of Python does it. The register of frame
 * pointers has another value, as in optimized programs. */
void orma_profile_test_caller(void *trampoline, void *unused, void *argument,
			      void (*function)(void *, void *, void *));
__asm__(".text\n"
	".globl orma_profile_test_caller\n"
	".type orma_profile_test_caller, @function\n"
	"orma_profile_test_caller:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset rbp, -16\n"
	"xor %ebp, %ebp\n"
	"call *%rdi\n"
	"pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size orma_profile_test_caller, . - orma_profile_test_caller\n");

static void call_again(void *trampoline, void *unused, void *is_last)
{
	if (is_last)
		orma_profile_test_spin();
	orma_profile_test_caller(trampoline, unused, trampoline, call_again);
	__asm__ volatile("");
}

static void call_through_trampolines(void)
{
	/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret */
	static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
					     0x48, 0x83, 0xc4, 0x08, 0xc3};
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(memory, code, sizeof(code));
	mprotect(memory, 4096, PROT_READ | PROT_EXEC);
	orma_profile_test_caller(memory, NULL, NULL, call_again);
	__asm__ volatile("");
}

ORMA_TEST(callers_of_trampolines_are_found)
{
	pid_t pid = start(call_through_trampolines);
	(void)profile(pid, "-q", "x.folded");
	(void)in_folder("grep ';call_through_trampolines;orma_profile_test_caller;[[]unknown[]];"
			"call_again;orma_profile_test_caller;[[]unknown[]];call_again;" FUNCTION
			"' x.folded");
	end(pid);
}
#endif

ORMA_TEST(code_without_a_file_has_a_remedy)
{
	pid_t pid = start(run_made_code);
	const char *text = profile(pid, "", "x.pftrace");
	CHECK(strstr(text, "is spent in code without a file; that of JIT compilers has names if "
			   "they write /tmp/perf-PID.map"));
	end(pid);
}

/* As perf and strace do it. */
ORMA_TEST(a_program_that_cannot_be_sampled_is_not_started)
{
	CHECK_STR(in_folder(ORMA " profile -e no_such:event -- touch started 2>messages; echo $?; "
				 "grep -c 'touch was not started' messages; ls"),
		  "1\n1\nmessages\n");
}

/* There is a program, then the machine, then a file that is no program; in each format. */
ORMA_TEST(an_earlier_profile_stays_when_nothing_is_sampled)
{
	static const char *const files[] = {"t.pftrace", "t.html", "t.pb.gz", "t.collapsed"};
	char command[400];

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(files); i++) {
		snprintf(command, sizeof(command),
			 "printf '\\177ELF' >broken; chmod +x broken; echo earlier >%s; "
			 "for what in '-e no_such:event -- true' '-e no_such:event -t 1h' "
			 "'-- ./broken'; do " ORMA " profile -q -o %s $what 2>/dev/null; "
			 "echo $?; cat %s; done; rm broken; ls; rm %s",
			 files[i], files[i], files[i], files[i]);
		const char *text = in_folder(command);
		const char *begin = "1\nearlier\n1\nearlier\n126\nearlier\n";
		CHECK(strncmp(text, begin, strlen(begin)) == 0);
		/* No other file is left. */
		CHECK(strncmp(text + strlen(begin), files[i], strlen(files[i])) == 0);
		CHECK_STR(text + strlen(begin) + strlen(files[i]), "\n");
	}
	/* A profile does not wait longer than a second for the child that builds tables. The kernel ends it then, and it becomes a child
	 * of this process. */
	while (waitpid(-1, NULL, 0) > 0)
		;
}

ORMA_TEST(a_profile_replaces_an_earlier_one)
{
	pid_t pid = start(sleep_often);

	CHECK_STR(in_folder("echo earlier >t.pftrace; chmod 640 t.pftrace"), "");
	profile(pid, "-q", "t.pftrace");
	CHECK_STR(in_folder("stat -c %a t.pftrace; head -c 7 t.pftrace | grep -c earlier || true; "
			    "rm messages; ls"),
		  "640\n0\nt.pftrace\n");
	end(pid);
}

/* As the kernel does where perf_event_paranoid is 3. */
static void forbid_perf_events(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {ORMA_ARRAY_SIZE(filter), filter};

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

ORMA_TEST(a_profile_that_cannot_sample_ends_at_once)
{
	pid_t pid = start(sleep_often);
	char command[256];

	forbid_perf_events();
	CHECK_STR(in_folder(ORMA " profile -t 1h 2>messages; echo $?; ls; "
				 "grep -c perf_event_paranoid messages"),
		  "1\nmessages\n1\n");
	snprintf(command, sizeof(command),
		 ORMA " profile -p %d 2>messages; echo $?; grep -c perf_event_paranoid messages",
		 (int)pid);
	CHECK_STR(in_folder(command), "1\n1\n");
	end(pid);
}

ORMA_TEST(page_faults_are_sampled_one_by_one)
{
	pid_t pid = start(fault_often);
	char options[64];

	snprintf(options, sizeof(options), "-q --page-faults -p %d", (int)pid);
	CHECK_STR(profile(pid, options, "x.pftrace"), "");
	CHECK_STR(in_folder(ORMA " sql --csv x.pftrace \"select count(*) >= 64 from perf_sample "
				 "where callsite_id is not null\" | sed 1d"),
		  "1\n");
	end(pid);
}

/* The profiler writes into its file from time to time. Waits for so many samples that only they take this room. */
static void await_samples(const char *file)
{
	enum { SAMPLES_BYTES = 64 << 10 };
	char path[512];
	struct stat info;
	off_t before;

	snprintf(path, sizeof(path), "%s/%s", orma_test_tmpdir(), file);
	before = stat(path, &info) == 0 ? info.st_size : 0;
	while (stat(path, &info) < 0 || info.st_size < before + SAMPLES_BYTES)
		usleep(10000);
}

/* Waits until a process has run for so long, which takes longer on a busy machine. */
static void await_work(pid_t pid, uint64_t work_ns)
{
	clockid_t clock;

	CHECK_INT(clock_getcpuclockid(pid, &clock), 0);
	uint64_t end_ns = orma_base_clock_ns(clock) + work_ns;
	while (orma_base_clock_ns(clock) < end_ns)
		usleep(10000);
}

/* A process that is stopped reads no rings, and they have room for a moment. */
ORMA_TEST(lost_records_are_reported)
{
	pid_t spinning = start(orma_profile_test_spin), pid;
	char command[1024];
	int status;

	snprintf(command, sizeof(command),
		 "cd %s && exec " ORMA " profile -p %d -F 20000 -o x.pftrace >table",
		 orma_test_tmpdir(), (int)spinning);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	await_samples("x.pftrace");
	CHECK_INT(kill(pid, SIGSTOP), 0);
	await_work(spinning, ORMA_NS_PER_SEC / 2);
	CHECK_INT(kill(pid, SIGCONT), 0);
	/* The kernel says what was lost when there is room again and something happens. */
	await_samples("x.pftrace");
	await_work(spinning, ORMA_NS_PER_SEC / 10);
	CHECK_INT(kill(pid, SIGINT), 0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	const char *text = in_folder("cat table");
	CHECK(strstr(text, " lost, because events came faster than they were read; a lower -F"));
	CHECK(strstr(text, FUNCTION));
	end(spinning);
}
