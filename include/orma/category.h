/* SPDX-License-Identifier: Apache-2.0
 * orma/category.h - categories: groups of events that a session switches on together.
 *
 *	ORMA_CATEGORY_DECLARE(gfx);                                 // in a header
 *	ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames and drawing");     // in one .c file
 *	ORMA_CATEGORY_DEFINE_TAGGED(gfx_verbose, "gfx.verbose", "Every draw call", "gfx,slow");
 *
 * An event may belong to several: a category whose name lists them is a *group*, enabled when any
 * of them is, each judged by itself. They need not be defined; those that are have their own tags,
 * the others the group's. Events of a group carry the names of all its members.
 *
 *	ORMA_CATEGORY_DEFINE(upload, "gfx,net", "Textures on their way");
 *
 * The service is told of up to 126 KiB of categories, some thousands of them, for people who ask
 * which there are: with descriptions while these fit, groups not at all. What a session enables
 * does not depend on that.
 *
 * A category announces itself when its program or library is loaded, and leaves with it; one that
 * is loaded while a session runs takes part at once.
 *
 * Which categories a session enables: its TrackEventConfig is asked for exact names first, then for
 * patterns (one '*' at the end), then for the lone "*"; each time enabled_categories enable,
 * disabled_categories disable, disabled_tags disable, enabled_tags enable, in this order. Where
 * nothing matches, the category is enabled. When the config names no tags at all, "slow" and
 * "debug" are disabled ones.
 *
 * Threads: all of it from any thread.
 */
#ifndef ORMA_CATEGORY_H
#define ORMA_CATEGORY_H

#include <orma/api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orma_category_watch;

/* A category; static, zero-initialised but for its texts. */
struct orma_category {
	const char *name;        /* with commas: a group of several */
	const char *description; /* may be NULL */
	struct orma_category *next;
	/* bit i = instance i of the data source wants it; written by the library, read relaxed */
	uint32_t enabled;
	uint32_t id; /* given at registration; 0 = not registered */
	/* comma-separated, may be NULL; "slow" and "debug" are off unless asked for */
	const char *tags;
	/* The library's. */
	struct orma_category **link;
	struct orma_category_watch *watch;
};

/* Called by ORMA_CATEGORY_DEFINE's constructor. */
ORMA_API void orma_category_add(struct orma_category *category);
/* Called by its destructor: a module that is unloaded takes its categories along. No thread may be
 * inside the module's code then; a callback that is under way is waited for. */
ORMA_API void orma_category_remove(struct orma_category *category);

/* `is_change`: the instance is the first that wants the category, or was the last. */
typedef void orma_category_fn(void *ctx, struct orma_category *category, uint32_t instance_idx,
			      bool is_enabled, bool is_change);
/**
 * orma_category_set_callback() - be told when instances begin and cease to want a category.
 * @fn:  NULL = no more; replaces the one before. Called on the library's thread (or inside
 *       orma_dispatch()), soon also for instances that want the category already.
 * @ctx: borrowed until the callback is replaced or the category removed.
 *
 * When this returns, on another thread than the library's, the callback before is not running and
 * will not be called. Returns 0, -EINVAL (NULL, or not added), -ENOMEM.
 */
ORMA_API int orma_category_set_callback(struct orma_category *category, orma_category_fn *fn,
					void *ctx);

/* Enabled by every instance: the category of events that name theirs at run time, with
 * ORMA_CATEGORY(). */
ORMA_API extern struct orma_category orma_category_dynamic;

#define ORMA_CATEGORY_DECLARE(id) extern struct orma_category orma_category_##id
#define ORMA_CATEGORY_DEFINE(id, name_text, description_text)                                      \
	ORMA_CATEGORY_DEFINE_TAGGED(id, name_text, description_text, ORMA_NULL_)
#define ORMA_CATEGORY_DEFINE_TAGGED(id, name_text, description_text, tags_text)                    \
	struct orma_category orma_category_##id = {                                                \
		(name_text), (description_text), ORMA_NULL_, 0,                                    \
		0,           (tags_text),        ORMA_NULL_, ORMA_NULL_};                          \
	__attribute__((constructor)) static void orma_category_add_##id(void)                      \
	{                                                                                          \
		orma_category_add(&orma_category_##id);                                            \
	}                                                                                          \
	__attribute__((destructor)) static void orma_category_remove_##id(void)                    \
	{                                                                                          \
		orma_category_remove(&orma_category_##id);                                         \
	}                                                                                          \
	struct orma_takes_the_semicolon_

#define ORMA_IS_ENABLED(id)                                                                        \
	__builtin_expect(__atomic_load_n(&orma_category_##id.enabled, __ATOMIC_RELAXED) != 0, 0)

#ifdef __cplusplus
}
#endif
#endif
