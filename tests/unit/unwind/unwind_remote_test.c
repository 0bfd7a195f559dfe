/* SPDX-License-Identifier: Apache-2.0
 * unwind_remote_test.c - stacks of real programs that are stopped anywhere, beside libdwfl's on the
 * same bytes.
 */
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef ORMA_HAVE_DW
#include <elfutils/libdwfl.h>
#endif

#include "base/macros.h"
#include "harness.h"
#include "unwind/unwind_process.h"

#if defined(__x86_64__) && defined(ORMA_HAVE_DW)

#define STACK_BYTES 65536u
#define FRAMES_MAX  512u
#define STOPS       120
#define PAUSE_US    3000

/* --- a program -------------------------------------------------------------------------------- */

static pid_t start(char *const *argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* Stops of a traced program are reported before its end. */
static void end(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0, 0);
	/* Programs that it has started. */
	while (waitpid(-1, NULL, __WALL | __WNOTHREAD) > 0)
		;
}

struct stop {
	struct user_regs_struct registers;
	uint8_t bytes[STACK_BYTES] __attribute__((aligned(16)));
	size_t size;
};

/* Stops the program, and copies what a sample has. False: it has ended. */
static bool take_stop(pid_t pid, struct stop *ret)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 || waitpid(pid, &status, __WALL) != pid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, 0, &ret->registers) < 0)
		return false;
	/* The stack may end before 64 KiB. */
	for (ret->size = 0; ret->size < STACK_BYTES; ret->size += 1024) {
		struct iovec here = {ret->bytes + ret->size, 1024};
		struct iovec there = {(void *)(uintptr_t)(ret->registers.rsp + ret->size), 1024};
		ssize_t count = process_vm_readv(pid, &here, 1, &there, 1, 0);

		if (count != 1024) {
			ret->size += count > 0 ? (size_t)count : 0;
			break;
		}
	}
	return ret->size > 0;
}

/* --- libdwfl ---------------------------------------------------------------------------------- */

struct oracle {
	Dwfl *dwfl;
	pid_t pid;
	const struct stop *stop;
	uint64_t frames[FRAMES_MAX];
	size_t count;
};

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = ctx;
	return ((struct oracle *)ctx)->pid;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *ctx)
{
	const struct oracle *oracle = ctx;
	uint64_t offset = address - oracle->stop->registers.rsp;

	(void)dwfl;
	if (oracle->stop->size < 8 || offset > oracle->stop->size - 8)
		return false;
	memcpy(ret, oracle->stop->bytes + offset, 8);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *ctx)
{
	const struct user_regs_struct *from = &((struct oracle *)ctx)->stop->registers;
	const Dwarf_Word registers[17] = {from->rax, from->rdx, from->rcx, from->rbx, from->rsi,
					  from->rdi, from->rbp, from->rsp, from->r8,  from->r9,
					  from->r10, from->r11, from->r12, from->r13, from->r14,
					  from->r15, from->rip};

	return dwfl_thread_state_registers(thread, 0, 17, registers);
}

static int take_frame(Dwfl_Frame *frame, void *ctx)
{
	struct oracle *oracle = ctx;
	Dwarf_Addr pc;
	bool is_active;

	if (oracle->count == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_active))
		return DWARF_CB_ABORT;
	oracle->frames[oracle->count++] = pc - !is_active;
	return DWARF_CB_OK;
}

static bool oracle_init(struct oracle *oracle, pid_t pid)
{
	static char *no_path = NULL;
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .debuginfo_path = &no_path};
	static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
						      .memory_read = read_memory,
						      .set_initial_registers = set_registers};

	unsetenv("DEBUGINFOD_URLS");
	*oracle = (struct oracle){.dwfl = dwfl_begin(&callbacks), .pid = pid};
	return dwfl_linux_proc_report(oracle->dwfl, pid) == 0 &&
	       dwfl_report_end(oracle->dwfl, NULL, NULL) == 0 &&
	       dwfl_attach_state(oracle->dwfl, NULL, pid, &threads, oracle);
}

/* --- comparing -------------------------------------------------------------------------------- */

struct tally {
	size_t stops, equal, frames;
};

/* Rules of the program that is compared; emptied for the next one. */
static struct orma_unwind_cache cache;

static bool is_equal(struct orma_unwind_process *process, struct oracle *oracle,
		     const struct stop *stop, struct tally *tally)
{
	struct orma_unwind_registers registers = {
		.pc = stop->registers.rip, .sp = stop->registers.rsp, .fp = stop->registers.rbp};
	struct orma_unwind_stack stack = {stop->registers.rsp, stop->bytes, stop->size};
	uint64_t ours[FRAMES_MAX];

	oracle->stop = stop;
	oracle->count = 0;
	dwfl_getthread_frames(oracle->dwfl, oracle->pid, take_frame, oracle);
	CHECK(orma_unwind_process_read_maps(process) >= 0);
	struct orma_unwind_result result =
		orma_unwind_process_walk(process, &cache, &registers, &stack, ours, FRAMES_MAX);
	CHECK(result.end != ORMA_UNWIND_END_PENDING);
	tally->frames += result.frame_count;
	return result.frame_count == oracle->count &&
	       memcmp(ours, oracle->frames, oracle->count * sizeof(*ours)) == 0;
}

static void compare_program(const char *name, char *const *argv, struct tally *sum)
{
	static struct stop stop;
	struct tally tally = {0};
	struct orma_unwind_files *files;
	struct orma_unwind_process *process;
	struct oracle oracle = {0};
	pid_t pid = start(argv);

	usleep(30 * 1000);
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0) {
		printf("%s: cannot be traced: %s\n", name, strerror(errno));
		end(pid);
		return;
	}
	memset(&cache, 0, sizeof(cache));
	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	CHECK_INT(orma_unwind_process_new(files, pid, &process), 0);
	for (int i = 0; i < STOPS && take_stop(pid, &stop); i++) {
		tally.stops++;
		if (oracle.dwfl && is_equal(process, &oracle, &stop, &tally)) {
			tally.equal++;
		} else {
			/* The program may have opened libraries meanwhile. */
			dwfl_end(oracle.dwfl);
			if (!oracle_init(&oracle, pid))
				break;
			tally.equal += is_equal(process, &oracle, &stop, &tally);
		}
		ptrace(PTRACE_CONT, pid, 0, 0);
		usleep(PAUSE_US);
	}
	end(pid);
	dwfl_end(oracle.dwfl);
	orma_unwind_process_free(process);
	orma_unwind_files_free(files);
	printf("%s: %zu stacks, %zu equal, %zu frames\n", name, tally.stops, tally.equal,
	       tally.frames);
	sum->stops += tally.stops;
	sum->equal += tally.equal;
	sum->frames += tally.frames;
}

/* The compiler proper, and a source that takes it some seconds. */
static bool find_compiler(char *ret, size_t size, char *ret_source, size_t source_size)
{
	FILE *pipe = popen("gcc -print-prog-name=cc1 2>/dev/null", "r");
	bool has_compiler = pipe && fgets(ret, (int)size, pipe);

	if (pipe)
		pclose(pipe);
	snprintf(ret_source, source_size, "%s/many.c", orma_test_tmpdir());
	FILE *file = fopen(ret_source, "we");
	CHECK(file);
	for (int i = 0; i < 4000; i++)
		fprintf(file, "int f%d(int a){int s=0;for(int i=0;i<a;i++)s+=i*a^s>>3;return s;}\n",
			i);
	fclose(file);
	ret[strcspn(ret, "\n")] = 0;
	return has_compiler && access(ret, X_OK) == 0;
}

ORMA_TEST(stacks_of_real_programs_are_those_of_libdwfl)
{
	char *python[] = {
		"python3", "-c",
		"import json,re\n"
		"def f(n): return 1 if n < 2 else f(n - 1) + f(n - 2)\n"
		"while True: f(12); json.loads(json.dumps(list(range(300)))); "
		"re.sub('(a|b)+', sorted, 'c' * 40); sorted(range(500), key=lambda x: -x)\n",
		NULL};
	char *sqlite[] = {
		"sqlite3", ":memory:",
		"with recursive c(x) as (select 1 union all select x + 1 from c where x < "
		"100000000) select count(distinct hex(x) || x % 1000) from c order by 1;",
		NULL};
	static char compiler[512], source[512];
	char *cc[] = {compiler, "-quiet", "-O2", "-o", "/dev/null", source, NULL};
	char *sort[] = {"sh", "-c", "while :; do for i in 3 1 2; do echo $i$i; done; done", NULL};
	struct tally sum = {0};

	compare_program("python3", python, &sum);
	compare_program("sqlite3", sqlite, &sum);
	if (find_compiler(compiler, sizeof(compiler), source, sizeof(source)))
		compare_program("cc1", cc, &sum);
	compare_program("sh", sort, &sum);
	if (sum.stops < 50)
		orma_test_skip("programs that can be traced");
	printf("%zu of %zu stacks are equal\n", sum.equal, sum.stops);
	CHECK(sum.equal * 1000 >= sum.stops * 995);
	CHECK(sum.frames > 5 * sum.stops);
}

#else
ORMA_TEST(stacks_of_real_programs_are_those_of_libdwfl)
{
	orma_test_skip("libdw, and x86-64");
}
#endif
