/* SPDX-License-Identifier: Apache-2.0
 * java_names.c - see java_names.h.
 */
#include "trace/java_names.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"

struct orma_java_type orma_java_type_read(struct orma_str name)
{
	static const char prefix[] = "java.lang.Class<";
	size_t prefix_size = sizeof(prefix) - 1;
	struct orma_java_type type = {.name = name};
	if (name.size > prefix_size && memcmp(name.data, prefix, prefix_size) == 0 &&
	    name.data[name.size - 1] == '>') {
		type.is_class_object = true;
		type.name = (struct orma_str){name.data + prefix_size, name.size - prefix_size - 1};
	}
	while (type.name.size >= 2 && memcmp(type.name.data + type.name.size - 2, "[]", 2) == 0) {
		type.name.size -= 2;
		type.array_depth++;
	}
	return type;
}

static bool begins_with(struct orma_str text, const char *prefix)
{
	size_t size = strlen(prefix);
	return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

/* Returns where a text begins, or NULL. */
static const char *find(struct orma_str text, const char *part)
{
	return text.size > 0 ? memmem(text.data, text.size, part, strlen(part)) : NULL;
}

static struct orma_str behind(struct orma_str text, const char *at)
{
	return (struct orma_str){at, text.size - (size_t)(at - text.data)};
}

/* The package in "NAME-RANDOM/base.apk" or "~~RANDOM/NAME-RANDOM/base.apk", which are below /data/app/. */
static int package_of_app(struct orma_str path, struct orma_str *ret)
{
	const char *slash;
	if (begins_with(path, "~")) {
		slash = find(path, "/");
		if (!slash)
			return -EINVAL;
		path = behind(path, slash + 1);
	}
	const char *minus = find(path, "-");
	slash = path.size > 0 ? find(behind(path, path.data + 1), "/") : NULL;
	if (!slash || !minus || minus > slash)
		return -EINVAL;
	*ret = (struct orma_str){path.data, (size_t)(minus - path.data)};
	return 1;
}

/* Packages of the system whose files are not named like them. */
static const struct {
	const char *text;
	bool is_prefix;
	const char *package;
} system_packages[] = {
	{"/system_ext/priv-app/SystemUIGoogle/SystemUIGoogle.apk", true, "com.android.systemui"},
	{"/product/priv-app/Phonesky/Phonesky.apk", true, "com.android.vending"},
	{"/product/app/Maps/Maps.apk", true, "com.google.android.apps.maps"},
	{"/system_ext/priv-app/NexusLauncherRelease/NexusLauncherRelease.apk", true,
	 "com.google.android.apps.nexuslauncher"},
	{"/product/app/Photos/Photos.apk", true, "com.google.android.apps.photos"},
	{"/product/priv-app/WellbeingPrebuilt/WellbeingPrebuilt.apk", true,
	 "com.google.android.apps.wellbeing"},
	{"DevicePersonalizationPrebuilt", false, "com.google.android.as"},
	{"MatchMaker", false, "com.google.android.as"},
	{"DeviceIntelligenceNetworkPrebuilt", false, "com.google.android.as.oss"},
	{"SettingsIntelligenceGooglePrebuilt", false, "com.google.android.settings.intelligence"},
	{"/product/app/PrebuiltGmail/PrebuiltGmail.apk", true, "com.google.android.gm"},
	{"PrebuiltGmsCore", false, "com.google.android.gms"},
	{"com.google.android.gms", false, "com.google.android.gms"},
	{"/product/priv-app/Velvet/Velvet.apk", true, "com.google.android.googlequicksearchbox"},
	{"/product/app/LatinIMEGooglePrebuilt/LatinIMEGooglePrebuilt.apk", true,
	 "com.google.android.inputmethod.latin"},
	{"/product/app/PrebuiltBugle/PrebuiltBugle.apk", true, "com.google.android.apps.messaging"},
};

int orma_java_package_of(struct orma_str path, struct orma_str *ret)
{
	static const char app[] = "/data/app/",
			  unpacked[] = "dex extracted in memory from /data/app/";
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(system_packages); i++) {
		const char *text = system_packages[i].text;
		if (system_packages[i].is_prefix ? begins_with(path, text)
						 : find(path, text) != NULL) {
			*ret = orma_base_str(system_packages[i].package);
			return 1;
		}
	}
	if (begins_with(path, app))
		return package_of_app(behind(path, path.data + sizeof(app) - 1), ret);
	const char *memory = find(path, unpacked);
	return memory ? package_of_app(behind(path, memory + sizeof(unpacked) - 1), ret) : 0;
}
