/* SPDX-License-Identifier: Apache-2.0
 * top_save.c - names the file by the time, as screenshots are: a key asks for no name.
 */
#include "tool/top/top_save.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tool/ask/units.h"

bool orma_top_save(const struct orma_top_keep *keep, char ret_path[ORMA_TOP_PATH_BYTES],
		   char message[ORMA_TOP_TEXT_BYTES])
{
	char *path = ret_path, size[ORMA_UNIT_BYTES];
	time_t now = time(NULL);
	struct tm parts;
	path[0] = '\0';
	if (localtime_r(&now, &parts))
		(void)strftime(path, ORMA_TOP_PATH_BYTES, "orma-top-%Y%m%d-%H%M%S.pftrace", &parts);
	int64_t bytes = orma_top_keep_save(keep, path);
	if (bytes < 0)
		snprintf(message, ORMA_TOP_TEXT_BYTES,
			 "cannot save in this folder: %s; start orma top in another one",
			 strerror((int)-bytes));
	else
		snprintf(message, ORMA_TOP_TEXT_BYTES, "saved %s in %s",
			 orma_units_size((double)bytes, size), path);
	return bytes >= 0;
}
