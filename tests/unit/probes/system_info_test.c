/* SPDX-License-Identifier: Apache-2.0
 * system_info_test.c - the data source linux.system_info over files of several machines.
 */
#include "fake_api.h"
#include "probes/system_info/machine_parse.h"

#define CONFIG(text) "name: 'linux.system_info' system_info_config { " text " }"

static const char *cpu_text(void)
{
	fake_start(0, "name: 'linux.system_info'");
	fake_flush(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK(fake_packet(0)->timestamp > 0);
	CHECK(fake_packet(0)->cpu_info != NULL);
	return fake_text(fake_packet(0)->cpu_info);
}

ORMA_TEST(an_x86_machine_has_its_model_as_text)
{
	fake_open(orma_probe_system_info_new);
	fake_put(
		"proc/cpuinfo",
		"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 167\n"
		"model name\t: Intel(R) Xeon(R): Processor\nflags\t\t: fpu vme\npower "
		"management:\n\n"
		"processor\t: 1\nmodel name\t: Intel(R) Xeon(R): Processor\npower management:\n\n");
	fake_put("sys/devices/system/cpu/cpu1/cpu_capacity", "1024\n");
	CHECK_STR(cpu_text(), "cpus { processor: \"Intel(R) Xeon(R): Processor\" } "
			      "cpus { processor: \"Intel(R) Xeon(R): Processor\" capacity: 1024 }");
	fake_close();
}

ORMA_TEST(an_arm_machine_has_identifiers_features_and_frequencies)
{
	fake_open(orma_probe_system_info_new);
	fake_put("proc/cpuinfo",
		 "processor\t: 0\nBogoMIPS\t: 38.40\nFeatures\t: fp asimd mte mte3 sve\n"
		 "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\n"
		 "CPU part\t: 0xd0b\nCPU revision\t: 4\n\n"
		 "processor\t: 5\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n");
	fake_put("sys/devices/system/cpu/cpu0/cpufreq/scaling_available_frequencies",
		 "500000 300000 500000 \n");
	fake_put("sys/devices/system/cpu/cpu0/cpufreq/scaling_boost_frequencies",
		 "2000000 300000\n");
	CHECK_STR(
		cpu_text(),
		"cpus { processor: \"unknown\" frequencies: 300000 frequencies: 500000 "
		"frequencies: 2000000 arm_identifier { implementer: 65 architecture: 8 variant: 1 "
		"part: 3339 revision: 4 } features: 3 } "
		"cpus { processor: \"unknown\" }");
	fake_close();
}

ORMA_TEST(an_old_arm_machine_names_its_processors_in_front)
{
	fake_open(orma_probe_system_info_new);
	fake_put("proc/cpuinfo", "Processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\n"
				 "BogoMIPS\t: 38.40\n\nprocessor\t: 1\nBogoMIPS\t: 38.40\n\n"
				 "Features\t: swp half\nHardware\t: BCM2709\n");
	CHECK_STR(cpu_text(), "cpus { processor: \"ARMv7 Processor rev 4 (v7l)\" } "
			      "cpus { processor: \"ARMv7 Processor rev 4 (v7l)\" }");
	fake_close();
}

ORMA_TEST(a_machine_that_does_not_number_its_processors_has_those_of_its_folders)
{
	fake_open(orma_probe_system_info_new);
	fake_put("proc/cpuinfo", "vendor_id       : IBM/S390\n# processors    : 2\n");
	fake_put("sys/devices/system/cpu/cpu0/online", "1\n");
	fake_put("sys/devices/system/cpu/cpu1/online", "1\n");
	fake_put("sys/devices/system/cpu/possible", "0-1\n");
	CHECK_STR(cpu_text(), "cpus { processor: \"unknown\" } cpus { processor: \"unknown\" }");
	fake_close();
}

ORMA_TEST(cpuinfo_cut_anywhere_is_harmless)
{
	static const char text[] = "processor\t: 0\nFeatures\t: fp mte\nCPU part\t: 0xd0b\n\n"
				   "processor\t: 99999999999\n\nprocessor\t: 1\nmodel name\t: x\n";
	for (size_t size = 0; size < sizeof(text); size++) {
		char *copy = malloc(size + 1);
		memcpy(copy, text, size);
		struct orma_probes_cpuinfo cpuinfo = {.rest = {copy, size}};
		struct orma_probes_cpu cpu;
		size_t count = 0;
		while (orma_probes_cpuinfo_next(&cpuinfo, &cpu))
			count++;
		CHECK(count <= 2);
		free(copy);
	}
}

/* ---- interrupts ---- */

static const char *irq_text(const char *interrupts)
{
	fake_put("proc/interrupts", interrupts);
	fake_start(0, CONFIG("irq_names: true"));
	fake_flush(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK(fake_packet(1)->interrupt_info != NULL);
	CHECK(fake_packet(1)->timestamp > 0);
	return fake_text(fake_packet(1)->interrupt_info);
}

ORMA_TEST(interrupts_of_an_x86_machine_are_named_by_their_handlers)
{
	fake_open(orma_probe_system_info_new);
	CHECK_STR(irq_text("           CPU0       CPU1       \n"
			   "  0:         36          0  IO-APIC   2-edge      timer\n"
			   " 16:          1          0  IO-APIC  16-fasteoi   ehci_hcd:usb1,   "
			   "i801 smbus\n"
			   " 28:          0          0 PCI-MSIX-0000:00:01.0   0-edge      "
			   "virtio0-config\n"
			   " 30:          0          0 PCI-MSIX-0000:00:01.0   0-edge\n"
			   "NMI:          0          0   Non-maskable interrupts\n"
			   "ERR:          0\n"),
		  "irq_mapping { irq_id: 0 name: \"timer\" } "
		  "irq_mapping { irq_id: 16 name: \"ehci_hcd:usb1, i801 smbus\" } "
		  "irq_mapping { irq_id: 28 name: \"virtio0-config\" }");
	fake_close();
}

ORMA_TEST(interrupts_of_an_arm_machine_are_anchored_at_level_and_edge)
{
	fake_open(orma_probe_system_info_new);
	CHECK_STR(irq_text("           CPU0       CPU1       CPU2\n"
			   " 11:          5          6      7     GICv3  27 Level     arch_timer\n"
			   " 12:          5          6      7  cs40l26 IRQ1 Controller   3 Edge   "
			   "a b\n"
			   " 13:          5          6      7  dummy  gpio_keys\n"
			   " 14:          5          6      7  alone\n"
			   " 15:          5\n"
			   "IPI0:         5          6      7  Rescheduling interrupts\n"),
		  "irq_mapping { irq_id: 11 name: \"arch_timer\" } "
		  "irq_mapping { irq_id: 12 name: \"a b\" } "
		  "irq_mapping { irq_id: 13 name: \"gpio_keys\" }");
	fake_close();
}

ORMA_TEST(without_interrupts_there_is_no_packet_for_them)
{
	static const char *const texts[] = {"", "no heading\n 1: 2 3 x y\n", "CPU0\n",
					    "CPU0\nNMI: 0 x\n"};
	fake_open(orma_probe_system_info_new);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fake_put("proc/interrupts", texts[i]);
		fake_start(0, CONFIG("irq_names: true"));
		fake_flush(0);
		CHECK_INT(fake_packet_count, 1);
		fake_stop(0);
		fake_forget_packets();
	}
	fake_remove("proc/interrupts");
	fake_start(0, CONFIG("irq_names: true"));
	fake_flush(0);
	CHECK_INT(fake_packet_count, 1);
	fake_close();
}

/* ---- instances ---- */

ORMA_TEST(packets_are_written_once_by_the_loop_or_by_a_flush_before_it)
{
	fake_open(orma_probe_system_info_new);
	fake_start(0, CONFIG(""));
	fake_start(1, CONFIG(""));
	fake_run_until(2);
	fake_flush(0);
	fake_flush(1);
	CHECK_INT(fake_packet_count, 2);
	CHECK_INT(fake_packets[0].idx, 0);
	CHECK_INT(fake_packets[1].idx, 1);
	fake_start(2, CONFIG(""));
	fake_flush(2);
	CHECK_INT(fake_packet_count, 3);
	CHECK_INT(orma_base_loop_turn(fake_loop, 0), 0);
	fake_start(3, CONFIG(""));
	fake_stop(3);
	CHECK_INT(orma_base_loop_turn(fake_loop, 0), 0);
	CHECK_INT(fake_packet_count, 3);
	fake_close();
}

ORMA_TEST(a_configuration_that_does_not_decode_disables_the_instance)
{
	fake_capture_log();
	fake_open(orma_probe_system_info_new);
	fake_setup_bytes(0, "\xff", 1);
	CHECK(fake_source.instance_ctx[0] == NULL);
	CHECK(fake_log_has("E: linux.system_info: the configuration is not usable"));
	struct orma_instance instance = fake_instance(0);
	fake_source.options.on_start_postponable(fake_source.options.ctx, &instance);
	fake_flush(0);
	fake_stop(0);
	fake_close();
}

ORMA_TEST(a_probe_that_cannot_be_made_leaves_nothing_behind)
{
	struct orma_probe_env env = {.proc_path = "/nonexistent", .sys_path = "/nonexistent"};
	struct orma_probe *probe = NULL;
	CHECK_INT(orma_probe_system_info_new(&env, &probe), -ENOENT);
	env.proc_path = "/proc";
	fake_register_result = -EEXIST;
	CHECK_INT(orma_probe_system_info_new(&env, &probe), -EEXIST);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_probe_system_info_new(&env, &probe), -ENOMEM);
}
