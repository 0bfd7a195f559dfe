/* SPDX-License-Identifier: Apache-2.0
 * packages.c - see packages.h.
 */
#include "trace/packages.h"

#include "schema/gen/packages_list.pb.h"
#include "trace/message_fields.h"

void orma_packages_done(struct orma_packages *packages)
{
	orma_base_map_done(&packages->names);
	orma_base_map_done(&packages->pairs);
}

static struct orma_table *table_of(const struct orma_packages *packages)
{
	return &packages->system->tables->all[ORMA_TABLE_PACKAGE];
}

static int add(struct orma_packages *packages, const struct orma_message *info)
{
	int64_t cells[ORMA_PACKAGE_COLUMNS] = {
		[ORMA_PACKAGE_PACKAGE_NAME] = orma_system_text(
			packages->system,
			orma_message_bytes(info, ORMA_PB_PACKAGES_LIST_PACKAGE_INFO_NAME)),
		[ORMA_PACKAGE_UID] =
			(int64_t)orma_message_number(info, ORMA_PB_PACKAGES_LIST_PACKAGE_INFO_UID),
		[ORMA_PACKAGE_DEBUGGABLE] =
			orma_message_number(info, ORMA_PB_PACKAGES_LIST_PACKAGE_INFO_DEBUGGABLE) !=
			0,
		[ORMA_PACKAGE_PROFILEABLE_FROM_SHELL] =
			orma_message_number(
				info, ORMA_PB_PACKAGES_LIST_PACKAGE_INFO_PROFILEABLE_FROM_SHELL) !=
			0,
		[ORMA_PACKAGE_VERSION_CODE] = (int64_t)orma_message_number(
			info, ORMA_PB_PACKAGES_LIST_PACKAGE_INFO_VERSION_CODE),
	};
	return orma_store_table_append(table_of(packages), cells);
}

int orma_packages_take(struct orma_packages *packages, const struct orma_ordered_event *event)
{
	struct orma_str content = event->packet->content, bytes;
	struct orma_proto_reader reader;
	int r = 0;
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 && orma_message_next(&reader, ORMA_PB_PACKAGES_LIST_PACKAGES, &bytes)) {
		struct orma_message info;
		orma_message_read(&info, bytes);
		r = add(packages, &info);
	}
	return r;
}

static uint64_t pair_key(int64_t name, int64_t uid)
{
	int64_t words[] = {name, uid};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
}

/* Enters the new rows of the table. The first package of a user is the one that is meant. */
static int refresh(struct orma_packages *packages)
{
	const struct orma_table *table = table_of(packages);
	packages->names.seed = packages->system->index->seed;
	for (; packages->seen < orma_store_table_rows(table); packages->seen++) {
		int64_t uid =
			orma_store_column_get(&table->columns[ORMA_PACKAGE_UID], packages->seen);
		int64_t name = orma_store_column_get(&table->columns[ORMA_PACKAGE_PACKAGE_NAME],
						     packages->seen);
		if (name <= 0)
			continue;
		int r = orma_base_map_put(&packages->pairs, pair_key(name, uid), packages);
		if (r == 0 && !orma_base_map_get(&packages->names, (uint64_t)uid))
			r = orma_base_map_put(&packages->names, (uint64_t)uid,
					      (void *)(uintptr_t)name);
		if (r < 0)
			return r;
	}
	return 0;
}

int64_t orma_packages_of(struct orma_packages *packages, int64_t upid)
{
	const struct orma_column *apps = orma_tables_column(
		packages->system->tables, ORMA_TABLE_PROCESS, ORMA_PROCESS_ANDROID_APPID);
	int r = refresh(packages);
	int64_t app = upid >= 0 && (uint64_t)upid < orma_store_column_rows(apps)
			      ? orma_store_column_get(apps, (uint64_t)upid)
			      : ORMA_CELL_NULL;
	if (r < 0 || app == ORMA_CELL_NULL)
		return r < 0 ? r : ORMA_CELL_NULL;
	uintptr_t name = (uintptr_t)orma_base_map_get(&packages->names, (uint64_t)app);
	return name ? (int64_t)name : ORMA_CELL_NULL;
}

int orma_packages_add(struct orma_packages *packages, struct orma_str name, int64_t uid)
{
	int64_t cells[ORMA_PACKAGE_COLUMNS] = {
		[ORMA_PACKAGE_PACKAGE_NAME] = orma_system_text(packages->system, name),
		[ORMA_PACKAGE_UID] = uid,
	};
	int r = refresh(packages);
	if (r < 0 ||
	    orma_base_map_get(&packages->pairs, pair_key(cells[ORMA_PACKAGE_PACKAGE_NAME], uid)))
		return r;
	return orma_store_table_append(table_of(packages), cells);
}
