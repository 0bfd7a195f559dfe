/* SPDX-License-Identifier: Apache-2.0
 * error_message_test.c - error messages, the log sink, clocks.
 */
#include "base/error_message.h"

#include "base/clock_ns.h"
#include "base/log_message.h"
#include "harness.h"

ORMA_TEST(an_error_carries_its_code_and_message)
{
	struct orma_error error = {0};
	CHECK_INT(orma_base_error_set(&error, -EINVAL, "line %d", 3), -EINVAL);
	CHECK_INT(error.code, -EINVAL);
	CHECK_STR(error.message, "line 3");
	orma_base_error_prefix(&error, "config %s", "a.cfg");
	CHECK_STR(error.message, "config a.cfg: line 3");
	CHECK_INT(orma_base_error_set(&error, -EIO, "again: %s", error.message), -EIO);
	CHECK_STR(error.message, "again: config a.cfg: line 3");
}

ORMA_TEST(without_an_error_struct_only_the_code_comes_back)
{
	CHECK_INT(orma_base_error_set(NULL, -EIO, "%s", "unused"), -EIO);
	orma_base_error_prefix(NULL, "unused");
}

ORMA_TEST(messages_that_are_too_long_are_cut_and_terminated)
{
	struct orma_error error = {0};
	orma_base_error_set(&error, -EIO, "%0*d", 2000, 1);
	CHECK_INT(strlen(error.message), ORMA_ERROR_MESSAGE_BYTES - 1);
	orma_base_error_prefix(&error, "%0*d", 2000, 2);
	CHECK_INT(strlen(error.message), ORMA_ERROR_MESSAGE_BYTES - 1);
}

struct seen {
	enum orma_log_level level;
	char text[2000];
	int count;
};

static void record_message(void *ctx, enum orma_log_level level, const char *message)
{
	struct seen *seen = ctx;
	seen->level = level;
	snprintf(seen->text, sizeof(seen->text), "%s", message);
	seen->count++;
	errno = EBADF;
}

ORMA_TEST(log_messages_reach_the_sink_and_leave_errno_alone)
{
	struct seen seen = {0};
	orma_base_log(ORMA_LOG_ERROR, "nobody listens");
	orma_log_set_sink(record_message, &seen);
	errno = EDOM;
	orma_base_log(ORMA_LOG_WARNING, "lost %d", 3);
	CHECK_INT(errno, EDOM);
	CHECK_INT(seen.level, ORMA_LOG_WARNING);
	CHECK_STR(seen.text, "lost 3");
	orma_base_log(ORMA_LOG_INFO, "%0*d", 5000, 1);
	CHECK_INT(strlen(seen.text), 1023);
	orma_log_set_sink(NULL, NULL);
	orma_base_log(ORMA_LOG_ERROR, "nobody listens");
	CHECK_INT(seen.count, 2);
}

ORMA_TEST(clocks_read_in_nanoseconds_and_an_unknown_one_reads_zero)
{
	struct timespec now;
	uint64_t before_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t between_ns = (uint64_t)now.tv_sec * ORMA_NS_PER_SEC + (uint64_t)now.tv_nsec;
	uint64_t after_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	CHECK(before_ns <= between_ns && between_ns <= after_ns);
	errno = EDOM;
	CHECK_INT(orma_base_clock_ns(12345), 0);
	CHECK_INT(errno, EDOM);
}

ORMA_TEST(errors_are_told_in_words_of_either_sign)
{
	CHECK_STR(orma_base_error_words(EPIPE), "the other side is gone");
	CHECK_STR(orma_base_error_words(-ENOSPC), "no space left on the device");
	CHECK_STR(orma_base_error_words(-123456), "an error that has no name here");
}
