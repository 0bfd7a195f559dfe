/* SPDX-License-Identifier: Apache-2.0
 * unwind_walk_test.c - stacks of this process beside libdwfl's on the same bytes, and stacks that
 * are cut or meant to do harm.
 */
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef ORMA_HAVE_DW
#include <elfutils/libdwfl.h>
#endif

#include "base/alloc.h"
#include "base/macros.h"
#include "harness.h"
#include "own_code.h"
#include "unwind/leaf_walk.h"

#if defined(__x86_64__) && defined(ORMA_HAVE_DW)

#define STACK_BYTES 65536u
#define FRAMES_MAX  512u
#define SAMPLES_MAX 400u

/* The registers in DWARF's order, and a copy of the stack. */
struct sample {
	Dwarf_Word registers[17];
	struct orma_unwind_stack stack;
	uint8_t bytes[STACK_BYTES] __attribute__((aligned(8)));
};

static const char *stack_end;

static void find_stack_end(void)
{
	pthread_attr_t attr;
	void *start;
	size_t size;

	CHECK_INT(pthread_getattr_np(pthread_self(), &attr), 0);
	CHECK_INT(pthread_attr_getstack(&attr, &start, &size), 0);
	pthread_attr_destroy(&attr);
	stack_end = (const char *)start + size;
}

/* Async-signal-safe. AddressSanitizer guards what lies between the variables of frames. */
__attribute__((no_sanitize("address"))) static void take_sample(const ucontext_t *context,
								struct sample *ret)
{
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(order); i++)
		ret->registers[i] = (Dwarf_Word)context->uc_mcontext.gregs[order[i]];
	const char *sp = (const char *)(uintptr_t)ret->registers[7];
	size_t size = sp <= stack_end && (size_t)(stack_end - sp) < STACK_BYTES
			      ? (size_t)(stack_end - sp)
			      : STACK_BYTES;
	for (size_t i = 0; i < size / 8; i++)
		((volatile uint64_t *)(void *)ret->bytes)[i] =
			((const volatile uint64_t *)(const void *)sp)[i];
	ret->stack = (struct orma_unwind_stack){(uintptr_t)sp, ret->bytes, size};
}

/* --- libdwfl ---------------------------------------------------------------------------------- */

struct oracle {
	Dwfl *dwfl;
	const struct sample *sample;
	uint64_t frames[FRAMES_MAX];
	size_t count;
};

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = ctx;
	return getpid();
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *ctx)
{
	const struct oracle *oracle = ctx;
	uint64_t offset = address - oracle->sample->stack.address;

	(void)dwfl;
	if (offset > oracle->sample->stack.size - 8)
		return false;
	memcpy(ret, oracle->sample->bytes + offset, 8);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *ctx)
{
	const struct oracle *oracle = ctx;

	return dwfl_thread_state_registers(thread, 0, 17, oracle->sample->registers);
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

static void oracle_init(struct oracle *oracle)
{
	static char *no_path = NULL;
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .debuginfo_path = &no_path};
	static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
						      .memory_read = read_memory,
						      .set_initial_registers = set_registers};

	/* A server that is asked for debug information would make the test slow. */
	unsetenv("DEBUGINFOD_URLS");
	memset(oracle, 0, sizeof(*oracle));
	oracle->dwfl = dwfl_begin(&callbacks);
	CHECK_INT(dwfl_linux_proc_report(oracle->dwfl, getpid()), 0);
	CHECK_INT(dwfl_report_end(oracle->dwfl, NULL, NULL), 0);
	CHECK(dwfl_attach_state(oracle->dwfl, NULL, getpid(), &threads, oracle));
}

/* --- comparing -------------------------------------------------------------------------------- */

static struct orma_unwind_result walk_sample(const struct own_code *code,
					     const struct sample *sample, uint64_t *ret)
{
	struct orma_unwind_registers registers = {.pc = sample->registers[16],
						  .sp = sample->registers[7],
						  .fp = sample->registers[6]};

	return orma_unwind_walk(&code->space, &registers, &sample->stack, ret, FRAMES_MAX);
}

/* A walk that recognises the frames of the last one gives the same. */
static void check_memo(const struct own_code *code, const struct sample *sample,
		       const struct orma_unwind_result *expected, const uint64_t *frames)
{
	static struct orma_unwind_memo memo;
	static struct own_code remembering;
	uint64_t again[FRAMES_MAX];

	remembering = *code;
	remembering.space.memo = &memo;
	for (int i = 0; i < 2; i++) {
		struct orma_unwind_result result = walk_sample(&remembering, sample, again);

		CHECK_INT(result.end, expected->end);
		CHECK_MEM(again, result.frame_count * sizeof(*again), frames,
			  expected->frame_count * sizeof(*frames));
	}
}

/* True when both have the same frames. */
static bool compare(const struct own_code *code, struct oracle *oracle, const struct sample *sample,
		    struct orma_unwind_result *ret)
{
	uint64_t ours[FRAMES_MAX];

	oracle->sample = sample;
	oracle->count = 0;
	dwfl_getthread_frames(oracle->dwfl, getpid(), take_frame, oracle);
	*ret = walk_sample(code, sample, ours);
	check_memo(code, sample, ret, ours);
	bool is_equal = ret->frame_count == oracle->count &&
			memcmp(ours, oracle->frames, oracle->count * sizeof(*ours)) == 0;
	for (size_t i = 0; !is_equal && i < ORMA_MAX(ret->frame_count, oracle->count); i++)
		printf("  frame %zu: %llx, libdwfl %llx\n", i,
		       i < ret->frame_count ? (unsigned long long)ours[i] : 0ULL,
		       i < oracle->count ? (unsigned long long)oracle->frames[i] : 0ULL);
	return is_equal;
}

/* --- stacks with a known shape ---------------------------------------------------------------- */

static struct sample known;

__attribute__((noinline)) static int take_known(void)
{
	ucontext_t context;

	CHECK_INT(getcontext(&context), 0);
	take_sample(&context, &known);
	return 1;
}

#ifdef __clang__
#define OPTIMISED __attribute__((noinline))
#else
#define OPTIMISED __attribute__((noinline, optimize("O2")))
#endif

/* Its frame has no fixed size, so it needs a frame pointer even when optimised. */
OPTIMISED static int with_alloca(size_t size)
{
	volatile char *room = __builtin_alloca(size);

	room[size - 1] = 1;
	return take_known() + room[size - 1];
}

/* Its stack is aligned anew, so its CFA is an expression. */
OPTIMISED static int with_alignment(int depth)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[0] = (char)depth;
	return with_alloca((size_t)room[0] * 16 + 16) + room[0];
}

OPTIMISED static int tail(int depth)
{
	return with_alignment(depth + 1);
}

static int compare_in_qsort(const void *left, const void *right)
{
	static bool was_here;

	if (!was_here)
		tail(3);
	was_here = true;
	return *(const char *)left - *(const char *)right;
}

/* NOLINTNEXTLINE(misc-no-recursion): a deep stack is what the test needs */
__attribute__((noinline)) static int go_down(unsigned depth)
{
	char letters[] = "unwind";

	if (depth > 0)
		return go_down(depth - 1) + 1;
	qsort(letters, 6, 1, compare_in_qsort);
	return letters[0];
}

ORMA_TEST(a_deep_stack_through_libc_is_that_of_libdwfl)
{
	static struct own_code code;
	static struct oracle oracle;
	struct orma_unwind_result result;

	find_stack_end();
	own_code_init(&code);
	oracle_init(&oracle);
	go_down(40);
	CHECK(compare(&code, &oracle, &known, &result));
	CHECK_INT(result.end, ORMA_UNWIND_END_OUTERMOST);
	CHECK(result.frame_count > 45 && result.fp_count == 0);
	/* Rules that are remembered are the same. */
	CHECK(compare(&code, &oracle, &known, &result));
	code.space.cache = NULL;
	CHECK(compare(&code, &oracle, &known, &result));
	dwfl_end(oracle.dwfl);
	own_code_done(&code);
}

static void handle_and_take(int number)
{
	(void)number;
	with_alignment(2);
}

ORMA_TEST(a_stack_goes_on_behind_a_signal)
{
	static struct own_code code;
	static struct oracle oracle;
	struct orma_unwind_result result;
	struct sigaction action = {.sa_handler = handle_and_take};

	find_stack_end();
	own_code_init(&code);
	oracle_init(&oracle);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_INT(raise(SIGUSR1), 0);
	CHECK(compare(&code, &oracle, &known, &result));
	CHECK_INT(result.end, ORMA_UNWIND_END_OUTERMOST);
	CHECK(result.frame_count > 8);
	dwfl_end(oracle.dwfl);
	own_code_done(&code);
}

/* --- stacks at any instruction ---------------------------------------------------------------- */

static struct sample *samples;
static volatile sig_atomic_t sample_count;

static void handle_timer(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	if (sample_count < (int)SAMPLES_MAX)
		take_sample(context, &samples[sample_count++]);
}

static int compare_letters(const void *left, const void *right)
{
	return *(const char *)left - *(const char *)right;
}

/* Keeps libraries busy: libc's own functions, sqlite3 and python3 when they are there. */
static void work(void)
{
	void *sqlite = dlopen("libsqlite3.so.0", RTLD_NOW);
	void *python = dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_GLOBAL);
	int (*open_db)(const char *, void **) = NULL;
	int (*exec)(void *, const char *, void *, void *, char **) = NULL;
	void (*init)(int) = NULL;
	int (*run)(const char *, void *) = NULL;
	int (*close_db)(void *) = NULL;
	void *db = NULL;

	if (sqlite) {
		*(void **)&open_db = dlsym(sqlite, "sqlite3_open");
		*(void **)&exec = dlsym(sqlite, "sqlite3_exec");
		*(void **)&close_db = dlsym(sqlite, "sqlite3_close");
		CHECK_INT(open_db(":memory:", &db), 0);
	}
	if (ORMA_TEST_HAS_ASAN)
		python = NULL; /* It does not free what it allocates. */
	if (python) {
		*(void **)&init = dlsym(python, "Py_InitializeEx");
		*(void **)&run = dlsym(python, "PyRun_SimpleStringFlags");
		init(0);
	}
	while (sample_count < (int)SAMPLES_MAX) {
		char text[256];
		regex_t regex;

		for (unsigned i = 0; i < 255; i++)
			text[i] = (char)('a' + i * 7919 % 26);
		text[255] = 0;
		qsort(text, 255, 1, compare_letters);
		CHECK_INT(regcomp(&regex, "(a|b)*c+[d-k]{2,5}", REG_EXTENDED), 0);
		regexec(&regex, text, 0, NULL, 0);
		regfree(&regex);
		if (db)
			exec(db,
			     "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t LIMIT "
			     "9999) SELECT count(*), max(x||'a') FROM t GROUP BY x%7 ORDER BY 2",
			     NULL, NULL, NULL);
		if (python)
			run("import json, re\n"
			    "json.loads(json.dumps([{str(i): [i / 3]} for i in range(999)]))\n"
			    "sorted(re.sub('[a-f]+', str, 'abcdefgh' * 99))\n",
			    NULL);
	}
	if (db)
		close_db(db);
}

ORMA_TEST(stacks_of_libraries_at_any_instruction_are_those_of_libdwfl)
{
	static struct own_code code;
	static struct oracle oracle;
	struct sigaction action = {.sa_sigaction = handle_timer,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	struct itimerval interval = {{0, 997}, {0, 997}}, never = {{0, 0}, {0, 0}};
	size_t equal = 0, whole = 0, frames = 0;

	find_stack_end();
	samples = orma_base_alloc_array(SAMPLES_MAX, sizeof(*samples));
	CHECK(samples);
	CHECK_INT(sigaction(SIGPROF, &action, NULL), 0);
	CHECK_INT(setitimer(ITIMER_PROF, &interval, NULL), 0);
	work();
	CHECK_INT(setitimer(ITIMER_PROF, &never, NULL), 0);
	/* The libraries have been loaded meanwhile. */
	own_code_init(&code);
	oracle_init(&oracle);
	for (size_t i = 0; i < SAMPLES_MAX; i++) {
		struct orma_unwind_result result;

		equal += compare(&code, &oracle, &samples[i], &result);
		whole += result.end == ORMA_UNWIND_END_OUTERMOST;
		frames += result.frame_count;
	}
	printf("%zu of %u stacks equal, %zu whole, %zu frames\n", equal, SAMPLES_MAX, whole,
	       frames);
	CHECK(equal * 1000 >= (size_t)SAMPLES_MAX * 995);
	CHECK(whole * 100 >= (size_t)SAMPLES_MAX * 95);
	dwfl_end(oracle.dwfl);
	own_code_done(&code);
	orma_base_free(samples);
}

ORMA_TEST(a_stack_that_is_cut_keeps_its_frames_and_says_so)
{
	static struct own_code code;
	uint64_t whole[FRAMES_MAX], cut[FRAMES_MAX];

	find_stack_end();
	own_code_init(&code);
	go_down(40);
	size_t count = walk_sample(&code, &known, whole).frame_count, last = 0;
	size_t full_size = known.stack.size;
	for (size_t size = 0; size < full_size; size += 8) {
		known.stack.size = size;
		struct orma_unwind_result result = walk_sample(&code, &known, cut);

		CHECK(result.frame_count >= last && result.frame_count <= count);
		CHECK(memcmp(cut, whole, result.frame_count * sizeof(*cut)) == 0);
		CHECK(result.end == ORMA_UNWIND_END_NO_STACK || result.frame_count == count);
		last = result.frame_count;
	}
	CHECK_INT(last, count);
	own_code_done(&code);
}
#else
ORMA_TEST(stacks_of_libraries_at_any_instruction_are_those_of_libdwfl)
{
	orma_test_skip("libdw (Debian: libdw-dev) on x86-64");
}
#endif

/* --- stacks made by hand ---------------------------------------------------------------------- */

#define CODE 0x100000u

/* One module, whose one function has the given program, and one module without a table. */
struct made {
	struct orma_unwind_table *table;
	struct orma_unwind_module modules[2];
	struct orma_unwind_space space;
	uint64_t words[64];
	struct orma_unwind_stack stack;
	uint64_t frames[16];
};

static void make(struct made *made, uint16_t machine, const void *common, size_t common_size,
		 const void *program, size_t program_size)
{
	uint8_t bytes[256];
	uint32_t sizes[2] = {(uint32_t)common_size + 4, (uint32_t)program_size + 20};
	uint32_t ids[2] = {0, (uint32_t)common_size + 12};
	uint64_t range[2] = {CODE, 0x1000};
	struct orma_elf_file file = {.fd = -1,
				     .image = bytes,
				     .size = common_size + program_size + 32,
				     .machine = machine,
				     .eh_frame = {.address = 0x10000}};

	file.eh_frame.size = file.size;
	memcpy(bytes, &sizes[0], 4);
	memcpy(bytes + 4, &ids[0], 4);
	memcpy(bytes + 8, common, common_size);
	memcpy(bytes + common_size + 8, &sizes[1], 4);
	memcpy(bytes + common_size + 12, &ids[1], 4);
	memcpy(bytes + common_size + 16, range, 16);
	memcpy(bytes + common_size + 32, program, program_size);
	memset(made, 0, sizeof(*made));
	CHECK_INT(orma_unwind_table_new(&file, &made->table), 0);
	made->modules[0] = (struct orma_unwind_module){
		.start = CODE, .end = CODE + 0x1000, .table = made->table};
	made->modules[1] = (struct orma_unwind_module){.start = 2 * CODE, .end = 2 * CODE + 0x1000};
	made->space = (struct orma_unwind_space){
		.modules = made->modules, .module_count = 2, .is_arm64 = machine == EM_AARCH64};
	made->stack = (struct orma_unwind_stack){0x7000, made->words, sizeof(made->words)};
}

static struct orma_unwind_result walk(struct made *made, uint64_t pc, uint64_t fp, uint64_t lr)
{
	struct orma_unwind_registers registers = {pc, 0x7000, fp, lr};

	return orma_unwind_walk(&made->space, &registers, &made->stack, made->frames, 16);
}

static const uint8_t x86_common[] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};
static const uint8_t arm64_common[] = {1, 0, 4, 0x78, 30, 0x0c, 31, 0};

ORMA_TEST(a_stack_that_does_not_grow_ends)
{
	struct made made;

	/* CFA = rsp + 0. */
	make(&made, EM_X86_64, x86_common, sizeof(x86_common), "\x0e\x00", 2);
	CHECK_INT(walk(&made, CODE + 5, 0, 0).end, ORMA_UNWIND_END_NO_GROWTH);
	orma_unwind_table_free(made.table);
	/* CFA = rbp + 16, and rbp points below. */
	make(&made, EM_X86_64, x86_common, sizeof(x86_common), "\x0c\x06\x10", 3);
	CHECK_INT(walk(&made, CODE + 5, 0x6000, 0).end, ORMA_UNWIND_END_NO_GROWTH);
	CHECK_INT(walk(&made, CODE + 5, UINT64_MAX - 8, 0).end, ORMA_UNWIND_END_NO_GROWTH);
	CHECK_INT(walk(&made, CODE + 5, UINT64_MAX - 24, 0).end, ORMA_UNWIND_END_NO_STACK);
	orma_unwind_table_free(made.table);
}

ORMA_TEST(a_signal_frame_that_names_itself_ends_at_the_limit)
{
	/* An augmentation "zS"; CFA = *(rsp + 0), return address at rsp + 8. */
	static const uint8_t common[] = {1, 'z',  'S', 0,    1,    0x78, 16, 0,    0x0f,
					 3, 0x77, 0,   0x06, 0x10, 16,   2,  0x77, 8};
	struct made made;

	make(&made, EM_X86_64, common, sizeof(common), "\x00", 1);
	made.words[0] = 0x7000;
	made.words[1] = CODE + 0x10;
	struct orma_unwind_result result = walk(&made, CODE + 0x10, 0, 0);
	CHECK_INT(result.frame_count, 16);
	CHECK_INT(result.end, ORMA_UNWIND_END_FRAMES_MAX);
	/* It was not called, so the address is not that of a call. */
	CHECK_INT(made.frames[1], CODE + 0x10);
	orma_unwind_table_free(made.table);
}

ORMA_TEST(code_without_rules_is_walked_with_its_frame_pointer)
{
	struct made made;

	make(&made, EM_X86_64, x86_common, sizeof(x86_common), "\x07\x10", 2);
	made.words[2] = 0x7000 + 8 * 8; /* the caller's fp */
	made.words[3] = 2 * CODE + 7;
	made.words[8] = 0;
	made.words[9] = CODE + 9; /* an outermost function: its return address is nowhere */
	struct orma_unwind_result result = walk(&made, 2 * CODE + 50, 0x7010, 0);
	CHECK_INT(result.end, ORMA_UNWIND_END_OUTERMOST);
	CHECK_INT(result.frame_count, 3);
	CHECK_INT(result.fp_count, 2);
	CHECK_INT(made.frames[1], 2 * CODE + 6);
	CHECK_INT(made.frames[2], CODE + 8);
	/* A number that is no address of code is not believed. */
	made.words[3] = 4711;
	result = walk(&made, 2 * CODE + 50, 0x7010, 0);
	CHECK_INT(result.frame_count, 1);
	CHECK_INT(result.end, ORMA_UNWIND_END_NO_RULE);
	CHECK_INT(walk(&made, 2 * CODE + 50, 0x7011, 0).frame_count, 1);
	CHECK_INT(walk(&made, 2 * CODE + 50, 0x6ff8, 0).frame_count, 1);
	orma_unwind_table_free(made.table);
}

/* Two functions: the one with the rule "CFA = rsp + 16", and one without a rule in the same file. */
enum { WITHOUT_RULE = CODE + 0x1800 };

static bool walk_leaf(struct made *made, uint64_t sp, struct orma_unwind_result *ret)
{
	struct orma_unwind_registers registers = {WITHOUT_RULE, sp, 0, CODE + 12};

	return orma_unwind_leaf_walk(&made->space, &registers, &made->stack, made->frames, 16, ret);
}

ORMA_TEST(a_leaf_without_a_rule_returns_to_the_address_at_sp)
{
	struct orma_unwind_result result;
	struct made made;

	make(&made, EM_X86_64, x86_common, sizeof(x86_common), "\x0e\x10", 2);
	made.modules[0].end = CODE + 0x2000;
	made.words[1] = CODE + 9;    /* the caller; its CFA is 0x7020 */
	made.words[3] = CODE + 0x19; /* its caller; its CFA is 0x7030 */
	made.words[5] = 0;           /* nobody called that one */
	CHECK(walk_leaf(&made, 0x7008, &result));
	CHECK_INT(result.end, ORMA_UNWIND_END_OUTERMOST);
	CHECK_INT(result.frame_count, 3);
	CHECK_INT(made.frames[0], WITHOUT_RULE);
	CHECK_INT(made.frames[1], CODE + 8);
	CHECK_INT(made.frames[2], CODE + 0x18);
	/* A function that has pushed a register. */
	made.words[2] = CODE + 9;
	CHECK(!walk_leaf(&made, 0x7010, &result));
	/* The address of code that nobody has called. */
	made.words[3] = 4711;
	CHECK(!walk_leaf(&made, 0x7008, &result));
	/* The address of code that has no rule. */
	made.words[1] = WITHOUT_RULE + 9;
	CHECK(!walk_leaf(&made, 0x7008, &result));
	made.words[1] = CODE + 9;
	made.words[3] = CODE + 0x19;
	CHECK(walk_leaf(&made, 0x7008, &result));
	/* The copy of the stack ends before it. */
	made.stack.size = 15;
	CHECK(!walk_leaf(&made, 0x7008, &result));
	made.stack.size = sizeof(made.words);
	/* A file without any rule, such as what a JIT compiler makes. */
	made.modules[0].end = CODE + 0x1800;
	made.modules[1].start = CODE + 0x1800;
	CHECK(!walk_leaf(&made, 0x7008, &result));
	orma_unwind_table_free(made.table);
}

ORMA_TEST(a_leaf_without_a_rule_waits_for_the_table_of_its_caller)
{
	struct orma_unwind_result result;
	struct made made;

	make(&made, EM_X86_64, x86_common, sizeof(x86_common), "\x0e\x10", 2);
	made.modules[0].end = CODE + 0x2000;
	made.modules[1].is_pending = true;
	made.words[1] = 2 * CODE + 9;
	CHECK(walk_leaf(&made, 0x7008, &result));
	CHECK_INT(result.end, ORMA_UNWIND_END_PENDING);
	CHECK_INT(made.frames[result.frame_count - 1], 2 * CODE + 8);
	orma_unwind_table_free(made.table);
}

ORMA_TEST(a_leaf_of_arm64_without_a_rule_returns_by_its_link_register)
{
	struct orma_unwind_result result;
	struct made made;

	/* The caller's CFA is sp + 16, and its return address lies at CFA - 8. */
	make(&made, EM_AARCH64, arm64_common, sizeof(arm64_common), "\x0e\x10\x9e\x01", 4);
	made.modules[0].end = CODE + 0x2000;
	made.words[1] = 0;
	CHECK(walk_leaf(&made, 0x7000, &result));
	CHECK_INT(result.frame_count, 2);
	CHECK_INT(made.frames[1], CODE + 8);
	orma_unwind_table_free(made.table);
}

/* The stack of f(), which a trampoline has called for g(). The module at 2 * CODE has no table. */
ORMA_TEST(a_walk_goes_on_behind_a_trampoline)
{
	const struct orma_unwind_registers in_f = {CODE + 12, 0x7000, 0, 0};
	struct orma_unwind_registers registers = in_f;
	struct made made;

	make(&made, EM_X86_64, x86_common, sizeof(x86_common), "\x0e\x10", 2);
	made.words[1] = 2 * CODE + 7; /* in the trampoline, whose sp is 0x7010 */
	made.words[3] = CODE + 0x19;  /* g(), whose sp is 0x7020 */
	made.words[5] = CODE + 0x29;  /* its caller */
	made.words[7] = 0;
	const struct orma_unwind_result first =
		orma_unwind_walk(&made.space, &registers, &made.stack, made.frames, 16);
	struct orma_unwind_result result = first;
	CHECK(result.frame_count == 2 && result.end == ORMA_UNWIND_END_NO_RULE);
	CHECK(orma_unwind_trampoline_walk(&made.space, &registers, &made.stack, made.frames, 16,
					  &result));
	CHECK(result.frame_count == 2 && result.end == ORMA_UNWIND_END_OUTERMOST);
	CHECK_INT(made.frames[0], CODE + 12);
	CHECK_INT(made.frames[1], 2 * CODE + 6);
	CHECK_INT(made.frames[2], CODE + 0x18);
	CHECK_INT(made.frames[3], CODE + 0x28);
	CHECK(registers.pc == CODE + 0x18 && registers.sp == 0x7020);
	/* No room for another frame. */
	registers = in_f;
	result = first;
	CHECK(!orma_unwind_trampoline_walk(&made.space, &registers, &made.stack, made.frames, 2,
					   &result));
	/* The caller would be code that nobody has called. */
	made.words[5] = 4711;
	CHECK(!orma_unwind_trampoline_walk(&made.space, &registers, &made.stack, made.frames, 16,
					   &result));
	/* The word is no address of code. */
	made.words[3] = 4711;
	CHECK(!orma_unwind_trampoline_walk(&made.space, &registers, &made.stack, made.frames, 16,
					   &result));
	/* The copy of the stack ends before it. */
	made.words[3] = CODE + 0x19;
	made.words[5] = 0;
	made.stack.size = 31;
	CHECK(!orma_unwind_trampoline_walk(&made.space, &registers, &made.stack, made.frames, 16,
					   &result));
	made.stack.size = 32;
	CHECK(!orma_unwind_trampoline_walk(&made.space, &registers, &made.stack, made.frames, 16,
					   &result));
	CHECK(result.frame_count == 2 && registers.pc == in_f.pc);
	orma_unwind_table_free(made.table);
}

ORMA_TEST(arm64_leaves_return_by_their_link_register_and_signatures_are_removed)
{
	/* The instruction at 0 stores x29 and x30 at sp - 16 and lowers sp. */
	static const uint8_t program[] = {0x41, 0x2d, 0x0e, 16, 0x9d, 2, 0x9e, 1};
	struct made made;

	make(&made, EM_AARCH64, arm64_common, sizeof(arm64_common), program, sizeof(program));
	made.words[0] = 0x7100;
	made.words[1] = UINT64_C(0x002a000000000000) | (CODE + 0x44);
	made.words[3] = 0; /* the outermost caller */
	struct orma_unwind_result result = walk(&made, CODE, 0x7200, CODE + 0x24);
	CHECK_INT(made.frames[1], CODE + 0x20);
	CHECK_INT(made.frames[2], CODE + 0x40);
	CHECK_INT(result.frame_count, 3);
	CHECK_INT(result.end, ORMA_UNWIND_END_OUTERMOST);
	/* No caller has its return address in the register. */
	made.words[1] = CODE + 4;
	result = walk(&made, CODE + 0x20, 0x7200, CODE + 0x24);
	CHECK_INT(result.frame_count, 2);
	CHECK_INT(result.end, ORMA_UNWIND_END_NO_RULE);
	orma_unwind_table_free(made.table);
}
