/* SPDX-License-Identifier: Apache-2.0
 * registered_track.c - tracks that outlive a function: registering, copying and freeing them.
 *
 * A registered track keeps its path (track_uuid.h), so that its parents are not walked again. The
 * last registered track of kind ORMA_TRACK_GLOBAL is the root of the trace, which every sequence
 * describes.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "track/track_descriptor.h"
#include "track/track_uuid.h"

static_assert(sizeof(struct orma_track) == (sizeof(void *) == 8 ? 192 : sizeof(struct orma_track)),
	      "compiled into programs");

int orma_track_register(struct orma_track *track)
{
	struct orma_track_path path;

	if (!track || !orma_track_path_find(track, &path))
		return -EINVAL;
	track->registered[1] = path.hash;
	track->registered[0] = path.base;
	if (track->kind == ORMA_TRACK_GLOBAL)
		atomic_store_explicit(&orma_track_root, track, memory_order_release);
	return 0;
}

/* The members that are texts. A track on the heap has copies of its own. */
#define TEXTS(track)                                                                               \
	{                                                                                          \
		&(track)->name, &(track)->merge_key, &(track)->description, &(track)->unit_name,   \
			&(track)->y_axis_share_key, &(track)->categories                           \
	}

void orma_track_free(struct orma_track *track)
{
	const struct orma_track *was_root = track;

	if (!track)
		return;
	const char **texts[] = TEXTS(track);

	atomic_compare_exchange_strong_explicit(&orma_track_root, &was_root, NULL,
						memory_order_acq_rel, memory_order_relaxed);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++)
		orma_base_free((char *)*texts[i]);
	orma_base_free((void *)track->fields);
	orma_base_free(track);
}

int orma_track_new(const struct orma_track *model, struct orma_track **ret)
{
	struct orma_track *track;
	bool is_whole = true;
	int r;

	if (!model || !ret || (!model->fields && model->fields_size > 0))
		return -EINVAL;
	track = orma_base_memdup(model, sizeof(*model));
	if (!track)
		return -ENOMEM;
	const char **texts[] = TEXTS(track);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++) {
		bool has_text = *texts[i] != NULL;

		*texts[i] = has_text ? orma_base_strdup(*texts[i]) : NULL;
		is_whole = is_whole && has_text == (*texts[i] != NULL);
	}
	track->fields =
		model->fields_size > 0 ? orma_base_memdup(model->fields, model->fields_size) : NULL;
	is_whole = is_whole && (model->fields_size == 0 || track->fields);
	r = is_whole ? orma_track_register(track) : -ENOMEM;
	if (r < 0) {
		orma_track_free(track);
		return r;
	}
	*ret = track;
	return 0;
}
