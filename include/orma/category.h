/* SPDX-License-Identifier: Apache-2.0
 * orma/category.h - categories: groups of events that a session enables together.
 *
 *	ORMA_CATEGORY_DECLARE(gfx);                                 // in a header
 *	ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames and drawing");     // in one .c file
 *	ORMA_CATEGORY_DEFINE_TAGGED(gfx_verbose, "gfx.verbose", "Every draw call", "gfx,slow");
 *
 * An event may belong to several categories. A category whose name lists several is a *group*. A
 * group is enabled when any of its members is enabled; each member is decided separately. Members
 * need not be defined. A defined member has its own tags, any other has the tags of the group.
 * Events of a group carry the names of all its members.
 *
 *	ORMA_CATEGORY_DEFINE(upload, "gfx,net", "Textures on their way");
 *
 * The library lists the categories to the service, so that users can ask for them: up to 126 KiB,
 * some thousands of categories, with descriptions while these fit, and without groups. A session
 * can also enable categories that the list leaves out.
 *
 * A category is registered when its program or library is loaded, and removed when that is
 * unloaded. If it is loaded while a session runs, it joins that session at once.
 *
 * A session enables categories by its TrackEventConfig. Exact names are matched first, then
 * patterns (one '*' at the end), then the lone "*". Each of these three levels applies the lists in
 * this order: enabled_categories enable, disabled_categories disable, disabled_tags disable,
 * enabled_tags enable. A category that nothing matches is enabled. If the config names no tags at
 * all, "slow" and "debug" count as disabled tags.
 *
 * Threads: everything here may be used on any thread.
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

/* A category: static, with all members but its texts zero. */
struct orma_category {
	const char *name;        /* a name with commas makes a group */
	const char *description; /* may be NULL */
	struct orma_category *next;
	/* bit i = instance i of the data source enables it; written by the library, read relaxed */
	uint32_t enabled;
	uint32_t id; /* given at registration; 0 = not registered */
	/* comma-separated, may be NULL; "slow" and "debug" are disabled unless a config enables
	 * them */
	const char *tags;
	/* Used by the library only. */
	struct orma_category **link;
	struct orma_category_watch *watch;
};

/* Called by ORMA_CATEGORY_DEFINE's constructor. */
ORMA_API void orma_category_add(struct orma_category *category);
/* Called by its destructor, so that a module's categories are removed when it is unloaded. No
 * thread may be inside the module's code then. Waits for a callback that is running. */
ORMA_API void orma_category_remove(struct orma_category *category);

/* `is_change`: the instance is the first to enable the category, or was the last that enabled it.
 */
typedef void orma_category_fn(void *ctx, struct orma_category *category, uint32_t instance_idx,
			      bool is_enabled, bool is_change);
/**
 * orma_category_set_callback() - call a function when an instance enables or disables a category.
 * @fn:  replaces the previous function; NULL = none. Called on the library's thread (or inside
 *       orma_dispatch()). Soon after this call it is also called for each instance that enables the
 *       category already.
 * @ctx: borrowed until the callback is replaced or the category removed.
 *
 * When this returns, on a thread other than the library's, the replaced callback is not running and
 * will not be called again. Returns 0, -EINVAL (NULL, or not added), -ENOMEM.
 */
ORMA_API int orma_category_set_callback(struct orma_category *category, orma_category_fn *fn,
					void *ctx);

/* The category of events that name their category at run time, with ORMA_CATEGORY(). Every instance
 * enables it. */
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
