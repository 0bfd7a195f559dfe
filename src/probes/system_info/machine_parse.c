/* SPDX-License-Identifier: Apache-2.0
 * machine_parse.c - parsers of /proc/cpuinfo and /proc/interrupts.
 *
 * Both are iterators over text. cpuinfo consists of blocks of "key\t: value" lines, which end with
 * an empty line. Keys depend on the architecture, so a block describes a CPU when it has the line
 * "processor : N". interrupts is a table. Its lines have a number and a colon, one count per CPU of
 * the heading, words about the controller and the trigger, and the names of the handlers. The names
 * begin behind the trigger, which is "Level" or "Edge" with the GIC of Arm, and "2-edge" or
 * "16-fasteoi" on x86. When the trigger is unknown, the last word is the name. Rejected:
 * /sys/kernel/irq, which has a folder per interrupt and is missing in some containers.
 */
#include "probes/system_info/machine_parse.h"

#include "base/macros.h"
#include "probes/probe_text.h"

/* ---- cpuinfo ---- */

/* Bit i of `features` stands for name i; the order is the protocol's. */
static const char *const features[] = {"mte", "mte3"};

/* Keys of model texts; earlier ones are better. */
static const char *const model_keys[] = {"model name", "cpu model", "cpu", "uarch"};

static const struct {
	const char *key;
	bool is_hex;
} arm_keys[ORMA_ARM_COUNT] = {
	[ORMA_ARM_IMPLEMENTER] = {"CPU implementer", true},
	[ORMA_ARM_ARCHITECTURE] = {"CPU architecture", false},
	[ORMA_ARM_VARIANT] = {"CPU variant", true},
	[ORMA_ARM_PART] = {"CPU part", true},
	[ORMA_ARM_REVISION] = {"CPU revision", false},
};

static uint64_t parse_features(struct orma_str words)
{
	struct orma_str word;
	uint64_t mask = 0;
	while (orma_probes_text_word(&words, &word))
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(features); i++)
			if (orma_base_str_is(word, features[i]))
				mask |= UINT64_C(1) << i;
	return mask;
}

static void parse_arm(struct orma_str key, struct orma_str value, struct orma_probes_cpu *cpu)
{
	for (int i = 0; i < ORMA_ARM_COUNT; i++) {
		if (!orma_base_str_is(key, arm_keys[i].key))
			continue;
		uint32_t number;
		if (arm_keys[i].is_hex ? orma_probes_text_hex32(value, &number)
				       : orma_probes_text_u32(value, &number)) {
			cpu->arm[i] = number;
			cpu->arm_present |= UINT32_C(1) << i;
		}
	}
}

/* Returns the rank of this line as a model text: 0 = it is not one; larger is better. */
static size_t model_rank(struct orma_str key)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(model_keys); i++)
		if (orma_base_str_is(key, model_keys[i]))
			return ORMA_ARRAY_SIZE(model_keys) - i;
	return 0;
}

bool orma_probes_cpuinfo_next(struct orma_probes_cpuinfo *cpuinfo, struct orma_probes_cpu *ret)
{
	struct orma_str line, key, model = {0};
	size_t best = 0;
	bool has_number = false;
	*ret = (struct orma_probes_cpu){0};
	while (orma_probes_text_line(&cpuinfo->rest, &line)) {
		if (line.size == 0 && has_number)
			break;
		if (!orma_probes_text_until(&line, ':', &key))
			continue;
		key = orma_probes_text_trim(key);
		struct orma_str value = orma_probes_text_trim(line);
		size_t rank = model_rank(key);
		if (rank > best) {
			best = rank;
			model = value;
		} else if (orma_base_str_is(key, "Processor")) {
			cpuinfo->processor = value;
		} else if (orma_base_str_is(key, "processor")) {
			has_number = orma_probes_text_u32(value, &ret->number);
		} else if (orma_base_str_is(key, "Features") || orma_base_str_is(key, "flags")) {
			ret->features = parse_features(value);
		} else {
			parse_arm(key, value, ret);
		}
	}
	ret->processor = cpuinfo->processor.size > 0 ? cpuinfo->processor
			 : model.size > 0            ? model
						     : ORMA_STR("unknown");
	return has_number;
}

/* ---- interrupts ---- */

void orma_probes_interrupts_init(struct orma_probes_interrupts *interrupts, struct orma_str text)
{
	struct orma_str heading, word;
	*interrupts = (struct orma_probes_interrupts){.rest = text};
	if (!orma_probes_text_line(&interrupts->rest, &heading))
		return;
	while (orma_probes_text_word(&heading, &word))
		if (orma_probes_text_has_prefix(word, "CPU"))
			interrupts->cpu_count++;
}

static bool is_trigger(struct orma_str word)
{
	return orma_base_str_is(word, "Level") || orma_base_str_is(word, "Edge") ||
	       orma_probes_text_has_suffix(word, "-edge") ||
	       orma_probes_text_has_suffix(word, "-level") ||
	       orma_probes_text_has_suffix(word, "-fasteoi");
}

/* Returns the text after the last trigger, else the last word; empty when nothing precedes it. */
static struct orma_str handler_name(struct orma_str words)
{
	struct orma_str rest = words, word, last = {0}, behind = {0};
	size_t count = 0;
	bool has_trigger = false;
	while (orma_probes_text_word(&rest, &word)) {
		if (is_trigger(word)) {
			has_trigger = true;
			behind = orma_probes_text_trim(rest);
		}
		last = word;
		count++;
	}
	if (has_trigger)
		return behind;
	return count > 1 ? last : (struct orma_str){0};
}

bool orma_probes_interrupts_next(struct orma_probes_interrupts *interrupts,
				 struct orma_probes_interrupt *ret)
{
	struct orma_str line, word;
	while (interrupts->cpu_count > 0 && orma_probes_text_line(&interrupts->rest, &line)) {
		if (!orma_probes_text_until(&line, ':', &word) ||
		    !orma_probes_text_u32(orma_probes_text_trim(word), &ret->number))
			continue;
		uint32_t column = 0;
		while (column < interrupts->cpu_count && orma_probes_text_word(&line, &word))
			column++;
		ret->name = handler_name(line);
		if (ret->name.size > 0)
			return true;
	}
	return false;
}
