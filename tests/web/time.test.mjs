// Times as text, the ticks of the ruler, and the scale.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock, Scale, bytesText, durationText, grouped, niceStep, ticksOf, valueText } from "../../web/time.js";

test("a bucket of the level of a scale is one to two pixels wide", () => {
	for (let span = 100; span < 1e15; span *= 3.7) {
		const scale = new Scale(0, span, 1000);
		const pixels = 2 ** scale.level * scale.perNs;
		assert.ok(scale.level === 0 ? pixels >= 1 : pixels >= 1 && pixels < 2, `${span}: ${pixels}`);
	}
});

test("a scale turns times into pixels and back", () => {
	const scale = new Scale(1000, 3000, 500);
	assert.equal(scale.x(2000), 250);
	assert.equal(scale.time(250), 2000);
});

test("ticks are round, inside, and not more than asked for", () => {
	for (let span = 10; span < 1e15; span *= 2.3) {
		const { step, times } = ticksOf(span / 7, span / 7 + span, 10);
		assert.ok(times.length <= 11 && times.length >= 2, `${span}: ${times.length}`);
		for (const time of times) {
			assert.equal(time % step, 0);
			assert.ok(time >= span / 7 && time <= span / 7 + span);
		}
	}
});

test("steps above a second are those of clocks", () => {
	assert.equal(niceStep(200e9, 10), 30e9);
	assert.equal(niceStep(7000e9, 10), 1800e9);
	assert.equal(niceStep(90, 10), 10);
	assert.equal(niceStep(5, 10), 1);
});

test("durations have the unit that suits them", () => {
	assert.equal(durationText(0), "0 ns");
	assert.equal(durationText(999), "999 ns");
	assert.equal(durationText(1500), "1.5 µs");
	assert.equal(durationText(12345678), "12.35 ms");
	assert.equal(durationText(1e9), "1 s");
	assert.equal(durationText(125e9), "2 min 5 s");
	assert.equal(durationText(-1500), "−1.5 µs");
	assert.equal(durationText(NaN), "–");
});

test("numbers are grouped, also in front of a unit", () => {
	assert.equal(grouped(1234567), "1\u2009234\u2009567");
	assert.equal(grouped(-1234), "-1\u2009234");
	assert.equal(grouped("1234.5678"), "1\u2009234.5678");
});

test("the clock shows as many digits as the step needs", () => {
	const clock = new Clock();
	assert.equal(clock.text(1234567890, 1e6), "1.235 s");
	assert.equal(clock.text(1234567890, 1), "1.234\u2009567\u2009890 s");
	assert.equal(clock.text(1999999999, 1e9), "2 s");
	assert.equal(clock.text(1999999999, 1e8), "2.0 s");
	assert.equal(clock.tick(5e6, 1e6), "5 ms");
});

test("the clock of the wall is left out if the trace has none", () => {
	const clock = new Clock();
	clock.next();
	assert.equal(clock.mode, "ns");
	clock.next();
	assert.equal(clock.mode, "start");
	clock.wallStart = 1700000000123456789n;
	clock.mode = "wall";
	assert.equal(clock.text(1, 1), "22:13:20.123\u2009456\u2009790");
	assert.equal(clock.text(0, 1e9), "22:13:20");
});

test("values have prefixes that suit their units", () => {
	assert.equal(bytesText(1536), "1.5 KiB");
	assert.equal(valueText(3 << 20, "bytes"), "3.0 MiB");
	assert.equal(valueText(0.125, "%"), "0.125 %");
	assert.equal(valueText(1500, "ns"), "1.5 µs");
});
