/* SPDX-License-Identifier: Apache-2.0
 * rename_watch.h - notices when threads or the process are renamed. Only the loop thread calls
 * it.
 */
#ifndef ORMA_TRACK_RENAME_WATCH_H
#define ORMA_TRACK_RENAME_WATCH_H

/* An instance starts. */
void orma_track_rename_watch_start(void);
/* An instance is about to stop. */
void orma_track_rename_watch_stop(void);
/* Describes anew what has been renamed since the last look. */
void orma_track_rename_watch_check(void);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_rename_watch_forked(void);

#endif
