/* SPDX-License-Identifier: Apache-2.0
 * trust_test.c - the users to whose services a client connects.
 */
#include "ipc/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "harness.h"

#define RUN_PATH "/run/perfetto/traced-producer.sock"
#define TMP_PATH "/tmp/perfetto-producer"

static bool covers(const struct orma_ipc_trust *trust, uid_t listener, const char *path,
		   uid_t own_uid)
{
	const struct orma_ipc_credentials credentials = {
		.family = AF_UNIX, .uid = listener, .is_known = true};

	return orma_ipc_trust_covers(trust, &credentials, path, own_uid);
}

static bool covers_network(const struct orma_ipc_trust *trust, uid_t own_uid)
{
	const struct orma_ipc_credentials credentials = {.family = AF_INET};

	return orma_ipc_trust_covers(trust, &credentials, NULL, own_uid);
}

static struct orma_ipc_trust make(enum orma_ipc_naming naming, const char *wanted)
{
	struct orma_ipc_trust trust;

	CHECK_INT(orma_ipc_trust_init(&trust, naming, wanted), 0);
	return trust;
}

ORMA_TEST(at_a_default_address_only_oneself_root_and_the_system_are_trusted)
{
	struct orma_ipc_trust trust = make(ORMA_IPC_NAMED_BY_NOBODY, NULL);

	CHECK(covers(&trust, 1000, TMP_PATH, 1000));
	CHECK(covers(&trust, 0, TMP_PATH, 1000));
	CHECK(covers(&trust, 0, TMP_PATH, 0));
	CHECK(!covers(&trust, 1001, TMP_PATH, 1000));
	CHECK(!covers(&trust, 1000, TMP_PATH, 0));
	CHECK(!covers(&trust, 1000, RUN_PATH, 0));
	CHECK(!covers(&trust, 65534, RUN_PATH, 1000));
	CHECK(covers(&trust, 999, RUN_PATH, 0));
	CHECK(covers(&trust, 33, "/var/run/perfetto/p", 1000));
	CHECK(!covers(&trust, 33, TMP_PATH, 1000));
	CHECK(!covers(&trust, 33, "/runs/p", 1000));
	CHECK(!covers(&trust, 33, "/run/../tmp/p", 1000));
	CHECK(!covers(&trust, 33, NULL, 1000)); /* an abstract name */
	CHECK(!covers_network(&trust, 1000));
}

ORMA_TEST(an_address_that_was_named_is_trusted_unless_root_has_it_from_the_environment)
{
	struct orma_ipc_trust environment = make(ORMA_IPC_NAMED_BY_ENVIRONMENT, NULL);
	struct orma_ipc_trust program = make(ORMA_IPC_NAMED_BY_PROGRAM, NULL);

	CHECK(covers(&environment, 1001, TMP_PATH, 1000));
	CHECK(!covers(&environment, 1001, TMP_PATH, 0));
	CHECK(!covers(&environment, 33, TMP_PATH, 0));
	CHECK(covers(&environment, 33, RUN_PATH, 0));
	CHECK(covers_network(&environment, 1000));
	CHECK(covers_network(&environment, 0));
	CHECK(covers(&program, 1001, TMP_PATH, 0));
	CHECK(covers_network(&program, 0));
}

ORMA_TEST(a_list_of_users_is_trusted_too_and_names_count_no_more)
{
	struct orma_ipc_trust trust = make(ORMA_IPC_NAMED_BY_PROGRAM, "1001,4294967295");

	CHECK(covers(&trust, 1001, TMP_PATH, 0));
	CHECK(covers(&trust, UINT32_MAX, TMP_PATH, 0));
	CHECK(covers(&trust, 0, TMP_PATH, 1000));
	CHECK(!covers(&trust, 1002, TMP_PATH, 1000));
	CHECK(!covers_network(&trust, 1000));
	trust = make(ORMA_IPC_NAMED_BY_PROGRAM, "");
	CHECK(covers(&trust, 1000, TMP_PATH, 1000));
	CHECK(!covers(&trust, 1001, TMP_PATH, 1000));
	trust = make(ORMA_IPC_NAMED_BY_NOBODY, "any");
	CHECK(covers(&trust, 1001, TMP_PATH, 0));
	CHECK(covers_network(&trust, 0));
}

ORMA_TEST(the_environment_adds_users_unless_the_program_lists_them)
{
	struct orma_ipc_trust trust;

	CHECK_INT(setenv("ORMA_TRUST_SERVICE", "1001", 1), 0);
	trust = make(ORMA_IPC_NAMED_BY_NOBODY, NULL);
	CHECK(covers(&trust, 1001, TMP_PATH, 0));
	CHECK(!covers(&trust, 1002, TMP_PATH, 0));
	trust = make(ORMA_IPC_NAMED_BY_PROGRAM, NULL);
	CHECK(covers(&trust, 1002, TMP_PATH, 0));
	trust = make(ORMA_IPC_NAMED_BY_NOBODY, "1002");
	CHECK(!covers(&trust, 1001, TMP_PATH, 0));
	CHECK_INT(setenv("ORMA_TRUST_SERVICE", "any", 1), 0);
	trust = make(ORMA_IPC_NAMED_BY_NOBODY, NULL);
	CHECK(covers(&trust, 1002, TMP_PATH, 0));
	/* An invalid list counts as none. */
	CHECK_INT(setenv("ORMA_TRUST_SERVICE", "1001,nobody", 1), 0);
	trust = make(ORMA_IPC_NAMED_BY_NOBODY, NULL);
	CHECK(!covers(&trust, 1001, TMP_PATH, 0));
	CHECK_INT(unsetenv("ORMA_TRUST_SERVICE"), 0);
}

ORMA_TEST(a_list_that_is_none_is_refused)
{
	static const char *const wrong[] = {
		"all",        "1000,",     "1000,,1001", ",1000", "-1",
		"4294967296", "1000 1001", "0x10",       "any,1", "99999999999999999999999999"};
	char many[3 * (ORMA_IPC_TRUSTED_UIDS_MAX + 1)];
	struct orma_ipc_trust trust = {.uid_count = 7};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(wrong); i++)
		CHECK_INT(orma_ipc_trust_init(&trust, ORMA_IPC_NAMED_BY_NOBODY, wrong[i]), -EINVAL);
	CHECK_INT(trust.uid_count, 7);
	for (size_t i = 0; i < sizeof(many); i += 3)
		memcpy(many + i, "10,", 3);
	many[sizeof(many) - 1] = '\0';
	CHECK_INT(orma_ipc_trust_init(&trust, ORMA_IPC_NAMED_BY_NOBODY, many), -EINVAL);
	many[sizeof(many) - 4] = '\0'; /* without the last one */
	CHECK_INT(orma_ipc_trust_init(&trust, ORMA_IPC_NAMED_BY_NOBODY, many), 0);
	CHECK_INT(trust.uid_count, ORMA_IPC_TRUSTED_UIDS_MAX);
}
