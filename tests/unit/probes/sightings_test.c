/* SPDX-License-Identifier: Apache-2.0
 * sightings_test.c - what is noted reaches the listeners of the same session, once.
 */
#include "probes/sightings.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"

/* A listener that prints what it hears. */
struct ear {
	struct orma_sightings_listener listener;
	struct orma_sightings *seen;
	char text[4096];
	size_t count;
	bool is_setting; /* answers for every task: it belongs to the process 7 */
	bool is_forgetting;
};

static void hear_tasks(void *ctx, const struct orma_task_sighting *tasks, size_t count)
{
	struct ear *ear = ctx;
	for (size_t i = 0; i < count; i++) {
		const struct orma_task_sighting *task = &tasks[i];
		size_t size = strlen(ear->text);
		snprintf(ear->text + size, sizeof(ear->text) - size, "%u:%u:%u%s:%s ", task->tid,
			 task->process, task->parent_tid, task->is_thread ? "t" : "", task->comm);
		if (ear->is_setting)
			orma_sightings_set_process(ear->seen, task->tid, 7);
	}
	if (ear->is_forgetting)
		orma_sightings_forget_tasks(ear->seen);
	ear->count += count;
}

static void hear_inodes(void *ctx, const struct orma_inode_sighting *inodes, size_t count)
{
	struct ear *ear = ctx;
	for (size_t i = 0; i < count && count < 100; i++) {
		size_t size = strlen(ear->text);
		snprintf(ear->text + size, sizeof(ear->text) - size, "%llu/%llu ",
			 (unsigned long long)inodes[i].device, (unsigned long long)inodes[i].inode);
	}
	ear->count += count;
}

static void hear_fds(void *ctx, const struct orma_fd_sighting *fds, size_t count)
{
	struct ear *ear = ctx;
	for (size_t i = 0; i < count && count < 100; i++) {
		size_t size = strlen(ear->text);
		snprintf(ear->text + size, sizeof(ear->text) - size, "%u#%u ", fds[i].tid,
			 fds[i].fd);
	}
	ear->count += count;
}

static struct orma_sightings_list *list;
static struct orma_sightings *seen;
static struct ear ear;

static void begin(void)
{
	CHECK_INT(orma_sightings_list_new(&list), 0);
	seen = orma_sightings_get(list, 1);
	CHECK(seen != NULL);
	ear.listener = (struct orma_sightings_listener){
		.on_tasks = hear_tasks, .on_inodes = hear_inodes, .on_fds = hear_fds, .ctx = &ear};
	ear.seen = seen;
	orma_sightings_listen(seen, &ear.listener);
}

static void end(void)
{
	orma_sightings_unlisten(seen, &ear.listener);
	orma_sightings_put(seen);
	orma_sightings_list_free(list);
}

static const char *deliver(void)
{
	ear.text[0] = '\0';
	ear.count = 0;
	orma_sightings_deliver(seen);
	return ear.text;
}

ORMA_TEST(a_task_is_delivered_once_when_a_listener_knows_it)
{
	begin();
	ear.is_setting = true;
	orma_sightings_note_task(seen, 20);
	orma_sightings_note_task(seen, 10);
	orma_sightings_note_task(seen, 20);
	orma_sightings_note_task(seen, 0);
	orma_sightings_note_task(seen, ORMA_SIGHTINGS_TID_MAX);
	orma_sightings_note_task(seen, UINT32_MAX);
	CHECK_STR(deliver(), "20:0:0: 10:0:0: ");
	CHECK_INT(orma_sightings_process_of(seen, 20), 7);
	orma_sightings_note_task(seen, 20);
	CHECK_STR(deliver(), "");
	orma_sightings_forget_tasks(seen);
	orma_sightings_note_task(seen, 20);
	CHECK_STR(deliver(), "20:0:0: ");
	end();
}

ORMA_TEST(one_spare_listener_gets_the_tasks_that_no_other_listener_wants)
{
	struct ear spare = {.listener = {.on_tasks = hear_tasks, .is_spare = true}}, other = spare;

	begin();
	spare.listener.ctx = &spare;
	other.listener.ctx = &other;
	orma_sightings_listen(seen, &spare.listener);
	orma_sightings_listen(seen, &other.listener);
	orma_sightings_note_task(seen, 5);
	CHECK_STR(deliver(), "5:0:0: ");
	CHECK_INT(spare.count + other.count, 0);
	orma_sightings_unlisten(seen, &ear.listener);
	orma_sightings_note_task(seen, 5);
	CHECK_STR(deliver(), "");
	CHECK_INT(spare.count + other.count, 1);
	orma_sightings_unlisten(seen, &other.listener);
	orma_sightings_note_task(seen, 5);
	deliver();
	CHECK_INT(spare.count + other.count, 2);
	orma_sightings_unlisten(seen, &spare.listener);
	end();
}

ORMA_TEST(a_task_that_nobody_could_explain_is_delivered_when_it_is_seen_again)
{
	begin();
	orma_sightings_note_task(seen, 5);
	CHECK_STR(deliver(), "5:0:0: ");
	CHECK_INT(orma_sightings_process_of(seen, 5), 0);
	CHECK_STR(deliver(), "");
	orma_sightings_note_task(seen, 5);
	CHECK_STR(deliver(), "5:0:0: ");
	end();
}

ORMA_TEST(births_and_renames_are_one_sighting_with_the_last_name)
{
	begin();
	ear.is_setting = true;
	orma_sightings_set_process(seen, 7, 7);
	orma_sightings_note_new_task(seen, 7, 8, 0, ORMA_STR("sh"));
	orma_sightings_note_new_task(seen, 7, 9, ORMA_SIGHTINGS_CLONE_THREAD,
				     ORMA_STR("a name that is too long"));
	orma_sightings_note_rename(seen, 8, (struct orma_str){"ls\0garbage", 10});
	CHECK_STR(deliver(), "8:8:7:ls 9:7:7t:a name that is  ");
	/* An id that is used again is another task, and a rename is news. */
	orma_sightings_note_new_task(seen, 3, 8, 0, ORMA_STR("cat"));
	orma_sightings_note_rename(seen, 9, ORMA_STR("worker"));
	CHECK_STR(deliver(), "3:0:0: 8:8:3:cat 9:7:0:worker ");
	end();
}

ORMA_TEST(sessions_do_not_hear_of_each_other)
{
	begin();
	struct orma_sightings *other = orma_sightings_get(list, 2);
	CHECK(other != seen);
	CHECK(orma_sightings_get(list, 1) == seen);
	orma_sightings_put(seen);
	CHECK(!other->wants_tasks);
	orma_sightings_note_task(other, 5);
	orma_sightings_deliver(other);
	CHECK_STR(deliver(), "");
	orma_sightings_put(other);
	end();
}

ORMA_TEST(inodes_are_delivered_once)
{
	begin();
	orma_sightings_note_inode(seen, 4, 8, 100);
	orma_sightings_note_inode(seen, 4, 9, 100);
	orma_sightings_note_inode(seen, 4, 8, 100);
	orma_sightings_note_inode(seen, 4, 9, 100);
	orma_sightings_note_inode(seen, 4, 8, 0);
	orma_sightings_note_inode(seen, (uint32_t)syscall(SYS_gettid), 8, 101);
	/* Two devices may share an entry of the cache, but are never taken for each other. */
	const char *text = deliver();
	CHECK(strncmp(text, "8/100 9/100 ", 12) == 0);
	CHECK(strstr(text, "101") == NULL);
	orma_sightings_note_inode(seen, 4, 8, 100);
	CHECK_STR(deliver(), "8/100 ");
	end();
}

ORMA_TEST(a_flood_is_limited)
{
	begin();
	for (uint32_t i = 1; i <= ORMA_SIGHTINGS_PENDING_MAX + 100; i++) {
		orma_sightings_note_inode(seen, 4, 8, i);
		orma_sightings_note_task(seen, i);
	}
	orma_sightings_note_new_task(seen, 1, ORMA_SIGHTINGS_PENDING_MAX + 200, 0, ORMA_STR("x"));
	orma_sightings_note_rename(seen, ORMA_SIGHTINGS_PENDING_MAX + 200, ORMA_STR("x"));
	deliver();
	CHECK_INT(ear.count, 2 * ORMA_SIGHTINGS_PENDING_MAX);
	end();
}

ORMA_TEST(a_listener_may_forget_in_the_middle_of_a_delivery)
{
	begin();
	ear.is_setting = ear.is_forgetting = true;
	orma_sightings_note_task(seen, 5);
	deliver();
	orma_sightings_note_task(seen, 5);
	CHECK_STR(deliver(), "5:0:0: ");
	end();
}

ORMA_TEST(a_rename_that_is_noted_before_the_birth_is_the_name)
{
	begin();
	orma_sightings_note_rename(seen, 6, ORMA_STR("later"));
	orma_sightings_note_new_task(seen, 5, 6, 0, ORMA_STR("first"));
	/* The id of a task that has ended is given to another one. */
	orma_sightings_note_new_task(seen, 5, 7, 0, ORMA_STR("old"));
	orma_sightings_note_new_task(seen, 5, 7, 0, ORMA_STR("new"));
	CHECK_STR(deliver(), "6:6:5:later 5:0:0: 7:7:5:new ");
	end();
}

ORMA_TEST(descriptors_follow_the_tasks_and_repetitions_are_dropped)
{
	begin();
	for (int i = 0; i < 2; i++) {
		orma_sightings_note_fd(seen, 5, 3);
		orma_sightings_note_fd(seen, 5, 4);
		orma_sightings_note_fd(seen, 0, 4);
		orma_sightings_note_task(seen, 5);
	}
	CHECK_STR(deliver(), "5:0:0: 5#3 5#4 ");
	/* After a delivery it may be another file. */
	orma_sightings_note_fd(seen, 5, 4);
	CHECK_STR(deliver(), "5#4 ");
	for (uint32_t fd = 0; fd <= ORMA_SIGHTINGS_FDS_MAX; fd++)
		orma_sightings_note_fd(seen, 6, fd);
	ear.count = 0;
	CHECK_STR(deliver(), "");
	CHECK_INT(ear.count, ORMA_SIGHTINGS_FDS_MAX);
	end();
}

ORMA_TEST(nothing_is_noted_when_nobody_listens)
{
	begin();
	orma_sightings_unlisten(seen, &ear.listener);
	orma_sightings_note_fd(seen, 5, 1);
	orma_sightings_note_task(seen, 5);
	orma_sightings_note_new_task(seen, 5, 6, 0, ORMA_STR("x"));
	orma_sightings_note_rename(seen, 5, ORMA_STR("x"));
	orma_sightings_note_inode(seen, 5, 1, 1);
	orma_sightings_listen(seen, &ear.listener);
	CHECK_STR(deliver(), "");
	orma_sightings_unlisten(seen, &ear.listener);
	orma_sightings_unlisten(seen, &ear.listener);
	end();
}

ORMA_TEST(without_sightings_every_function_does_nothing)
{
	CHECK(orma_sightings_get(NULL, 1) == NULL);
	CHECK_INT(orma_sightings_list_new(&list), 0);
	CHECK(orma_sightings_get(list, 0) == NULL);
	orma_sightings_list_free(list);
	orma_sightings_note_task(NULL, 5);
	orma_sightings_note_new_task(NULL, 5, 6, 0, ORMA_STR("x"));
	orma_sightings_note_rename(NULL, 5, ORMA_STR("x"));
	orma_sightings_note_inode(NULL, 5, 1, 1);
	orma_sightings_note_fd(NULL, 5, 1);
	orma_sightings_deliver(NULL);
	orma_sightings_listen(NULL, &ear.listener);
	orma_sightings_unlisten(NULL, &ear.listener);
	orma_sightings_set_process(NULL, 1, 1);
	orma_sightings_forget_tasks(NULL);
	CHECK_INT(orma_sightings_process_of(NULL, 1), 0);
	orma_sightings_put(NULL);
}

ORMA_TEST(without_memory_a_task_is_noted_later)
{
	begin();
	for (uint64_t nth = 1; nth <= 2; nth++) {
		orma_test_fail_allocation(nth);
		orma_sightings_note_task(seen, 5);
		orma_test_fail_allocation(0);
		CHECK_STR(deliver(), "");
	}
	orma_test_fail_allocation(1);
	CHECK(orma_sightings_get(list, 3) == NULL);
	orma_test_fail_allocation(1);
	orma_sightings_note_inode(seen, 4, 8, 100);
	orma_test_fail_allocation(0);
	orma_sightings_note_inode(seen, 4, 8, 100);
	orma_sightings_note_task(seen, 5);
	CHECK_STR(deliver(), "5:0:0: 8/100 ");
	end();
}
