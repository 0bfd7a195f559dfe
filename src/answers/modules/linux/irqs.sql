-- Interrupts and soft interrupts.
create perfetto view linux_hard_irqs(ts timestamp, dur duration, name string, id long, parent_id long) as
  select s.ts, s.dur, s.name, s.id, s.parent_id from slice s join track t on t.id = s.track_id where t.type = 'cpu_irq';
-- What the kernel did in softirqs.
create perfetto view linux_soft_irqs(ts timestamp, dur duration, name string, id long) as
  select s.ts, s.dur, s.name, s.id from slice s join track t on t.id = s.track_id where t.type = 'cpu_softirq';
-- Interrupts of both kinds.
create perfetto view linux_irqs(ts timestamp, dur duration, name string, id long, parent_id long, is_soft_irq bool) as
  select ts, dur, name, id, parent_id, 0 as is_soft_irq from linux_hard_irqs
  union all select ts, dur, name, id, null, 1 from linux_soft_irqs;
-- The names of interrupts by their numbers.
create perfetto view linux_interrupt_mapping(id id, irq_id long, name string, machine_id long) as
  select id, irq_id, name, machine_id from _linux_interrupt_mapping;
