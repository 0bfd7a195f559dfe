// Tests of the times in which data were lost.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Gaps, drawGaps } from "../../web/gaps.js";
import { Scale } from "../../web/time.js";

const gap = (start, end, utid, cpu = null) => ({ start, end, utid, cpu, what: `${start}` });
const gaps = new Gaps([gap(500, 600, 1), gap(100, 200, 1), gap(300, 300, null, 0), gap(700, 800, null)]);
const row = (kind, more) => ({ node: { kind, utid: null, cpu: null, ...more } });
const starts = (list) => list.map(({ start }) => start);

test("a row has the gaps of its thread or CPU, and the row of losses has all", () => {
	assert.deepEqual(starts(gaps.of(row("thread", { utid: 1 }))), [100, 500]);
	assert.deepEqual(starts(gaps.of(row("slices", { utid: 1 }))), [100, 500]);
	assert.deepEqual(starts(gaps.of(row("sched", { cpu: 0 }))), [300]);
	assert.deepEqual(starts(gaps.of(row("thread", { utid: 2 }))), []);
	assert.deepEqual(starts(gaps.of(row("counter"))), []);
	assert.deepEqual(starts(gaps.of(row("losses"))), [100, 300, 500, 700]);
});

test("a gap is found where its band is drawn, however short it is", () => {
	const scale = new Scale(0, 1000, 1000);
	const losses = row("losses");
	assert.equal(gaps.at(losses, 150, scale)?.start, 100);
	assert.equal(gaps.at(losses, 250, scale), undefined);
	for (const x of [299, 300, 301]) assert.equal(gaps.at(losses, x, scale)?.start, 300);
	assert.equal(gaps.at(row("thread", { utid: 1 }), 300, scale), undefined);
});

test("bands cover the row, do not overlap, and end at the edges of the screen", () => {
	const [filled, shapes] = [[], []];
	const context = {
		fillRect: (...rect) => context.fillStyle === "#000000" && filled.push(rect),
		beginPath: () => shapes.push([]),
		lineTo: (...corner) => shapes.at(-1).push(corner),
	};
	const hatch = { beginPath: () => {}, moveTo: () => {}, lineTo: () => {}, stroke: () => {} };
	for (const name of ["createPattern", "save", "closePath", "clip", "stroke", "restore"]) context[name] = () => {};
	globalThis.document = { createElement: () => ({ getContext: () => hatch, append: () => {} }) };
	const list = [gap(-50, 20, 1), gap(400, 500, 1), gap(450, 480, 1), gap(490, 600, 1), gap(5000, 6000, 1)];
	drawGaps(context, list, { y: 10, height: 21 }, new Scale(0, 1000, 1000), { loss: "#000000", background: "#ffffff" });
	assert.deepEqual(filled, [
		[0, 10, 20, 20],
		[400, 10, 100, 20],
		[500, 10, 100, 20],
	]);
	// They are torn at both edges, inwards.
	const [left, right] = [shapes[1].slice(0, 7), shapes[1].slice(7)];
	assert.deepEqual(
		left,
		[0, 3, 6, 9, 12, 15, 18].map((y) => [400 + (y % 2) * 3, 10 + y]),
	);
	assert.deepEqual(
		right,
		[18, 15, 12, 9, 6, 3, 0].map((y) => [500 - (y % 2) * 3, 10 + y]),
	);
});

test("a slice tells for how long data were lost in it", () => {
	const thread = row("thread", { utid: 1 });
	assert.equal(
		gaps.lostIn(thread, 0, 1000),
		gaps.of(thread).reduce((sum, { start, end }) => sum + end - start, 0),
	);
	const [{ start, end }] = gaps.of(thread);
	assert.equal(gaps.lostIn(thread, start + 1, end + 1), end - start - 1);
	assert.equal(gaps.lostIn(row("thread", { utid: 99 }), 0, 1000), 0);
});
