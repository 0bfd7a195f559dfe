/* SPDX-License-Identifier: Apache-2.0
 * rename_watch.h - notices when threads or the process are renamed. For the loop thread only.
 */
#ifndef ORMA_TRACK_RENAME_WATCH_H
#define ORMA_TRACK_RENAME_WATCH_H

/* An instance starts. */
void orma_track_rename_watch_start(void);
/* An instance is about to stop. */
void orma_track_rename_watch_stop(void);
/* Describes anew what has been renamed since the last look. */
void orma_track_rename_watch_check(void);
/* In the child of a fork; async-signal-safe. */
void orma_track_rename_watch_forked(void);

#endif
