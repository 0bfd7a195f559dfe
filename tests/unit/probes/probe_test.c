/* SPDX-License-Identifier: Apache-2.0
 * probe_test.c - what any probe has in common: flushes and stops in the middle of a run.
 */
#include "fake_api.h"

static unsigned turns_left, run_count, flush_count, stop_count;
static uint64_t stop_number;
static enum orma_completion stop_result;

static int open_probe(struct orma_probe *probe, const struct orma_probe_env *env)
{
	(void)probe, (void)env;
	return 0;
}

static void close_probe(struct orma_probe *probe)
{
	(void)probe;
}

static int setup(struct orma_probe_instance *instance, const void *config, size_t size)
{
	(void)instance, (void)config, (void)size;
	return 0;
}

static bool start(struct orma_probe_instance *instance)
{
	(void)instance;
	return true;
}

static void run(struct orma_probe_instance *instance)
{
	run_count++;
	instance->is_unfinished = turns_left > 0;
	turns_left -= turns_left > 0;
}

static void note_flush(struct orma_probe_instance *instance)
{
	(void)instance;
	CHECK_INT(turns_left, 0);
	flush_count++;
}

static enum orma_completion begin_stop(struct orma_probe_instance *instance, uint64_t completion)
{
	CHECK(instance->is_stopping && !instance->is_unfinished && !instance->timer.is_armed);
	stop_number = completion;
	stop_count++;
	return stop_result;
}

static const struct orma_probe_ops ops = {
	.name = "test",
	.probe_bytes = sizeof(struct orma_probe),
	.instance_bytes = sizeof(struct orma_probe_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
	.flush = note_flush,
	.begin_stop = begin_stop,
};

static int new_probe(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}

static enum orma_completion stop(void)
{
	struct orma_instance instance = fake_instance(0);

	instance.completion = 7;
	return fake_source.options.on_stop(fake_source.options.ctx, &instance);
}

/* Begins a run of several turns. */
static void begin_run(void)
{
	turns_left = 3;
	fake_open(new_probe);
	fake_start(0, "");
	while (run_count == 0)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
}

static void end_run(void)
{
	while (turns_left > 0 || fake_source.flushed == 0)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
}

ORMA_TEST(a_stop_begins_at_the_end_of_the_run)
{
	begin_run();
	CHECK_INT(stop(), ORMA_POSTPONE);
	CHECK_INT(stop_count, 0);
	end_run();
	CHECK(run_count == 4 && flush_count == 0 && stop_count == 1);
	CHECK_INT(stop_number, 7);
	CHECK_INT(fake_completed, 7);
	fake_close();
}

ORMA_TEST(a_flush_during_a_run_is_completed_before_the_stop)
{
	begin_run();
	struct orma_instance instance = fake_instance(0);
	instance.completion = 5;
	CHECK_INT(fake_source.options.on_flush(fake_source.options.ctx, &instance), ORMA_POSTPONE);
	CHECK_INT(stop(), ORMA_POSTPONE);
	CHECK(flush_count == 0 && fake_completed == 0);
	end_run();
	CHECK(flush_count == 1 && stop_count == 1);
	CHECK_INT(fake_completed, 7);
	fake_close();
}

ORMA_TEST(a_stop_that_takes_longer_than_the_run_is_completed_by_the_probe)
{
	stop_result = ORMA_POSTPONE;
	begin_run();
	CHECK_INT(stop(), ORMA_POSTPONE);
	end_run();
	CHECK_INT(stop_count, 1);
	CHECK_INT(fake_completed, 0);
	stop_result = ORMA_COMPLETE;
	fake_close();
}

ORMA_TEST(a_stop_outside_of_a_run_begins_at_once)
{
	begin_run();
	while (turns_left > 0)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	CHECK_INT(stop(), ORMA_COMPLETE);
	CHECK_INT(stop_number, 7);
	CHECK_INT(fake_completed, 0);
	fake_close();
}
