// The data of a report: columns, tiles and answers, with columns made here by docs/report-format.md.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AT_COUNT, AT_NAME, AT_ROW, FLAG_MERGED } from "../../web/answers.js";
import { areaOf, detailOf, flowPairs, neighbourOf, searchOf, valuesOf } from "../../web/report_answers.js";
import { bytesOfText, columnOf, decode, doublesOf } from "../../web/report_data.js";
import { compareKeys } from "../../web/report_tables.js";
import { boxTile, classOf, pointTile } from "../../web/report_tiles.js";

/** The planes of numbers. */
function planes(values, width) {
	const bytes = [];
	for (let plane = 0; plane < width; plane++)
		for (const value of values) bytes.push(Number((BigInt(value) >> BigInt(8 * plane)) & 255n));
	return bytes;
}

function dataOf(columns) {
	const bytes = [];
	const layout = { columns: [] };
	const tracks = { nodes: [], threads: [], processes: [], states: [] };
	for (const [name, width, values] of [...columns, ["tracks", 1, textOf(tracks)]]) {
		layout.columns.push([name, width, values.length]);
		bytes.push(...planes(values, width));
	}
	return decode(layout, Uint8Array.from(bytes));
}

const textOf = (value) => [...new TextEncoder().encode(JSON.stringify(value))];

/** "outer" [0, 1000) holds "a" [10, 11), "a" [12, 14), "b" [600, 700); a counter has 1, 5 and 3. */
const source = () => {
	const bits = (value) => new BigUint64Array(Float64Array.of(value).buffer)[0];
	const { tables, names, args, stacks, flows } = dataOf([
		["slice.line_lane", 1, [4, 4]],
		["slice.line_depth", 1, [0, 1]],
		["slice.line_count", 1, [1, 3]],
		["slice.gap", 2, [0, 10, 1, 586]],
		["slice.length", 2, [1000, 1, 2, 100]],
		["slice.name", 1, [1, 2, 2, 3]],
		["slice.flags", 0, [0, 0, 0, 0]],
		["slice.more", 0, [0, 0, 0, 0]],
		["slice.category", 1, [0, 0, 0, 1]],
		["slice.args", 1, [0, 0, 0, 1]],
		["slice.stack", 1, [0, 1, 0, 0]],
		["thread_state.line_lane", 1, [5]],
		["thread_state.line_depth", 0, [0]],
		["thread_state.line_count", 1, [4]],
		["thread_state.gap", 0, [0, 0, 0, 0]],
		["thread_state.length", 2, [500, 150, 50, 300]],
		["thread_state.name", 1, [0, 1, 2, 0]],
		["thread_state.flags", 0, [0, 0, 0, 0]],
		["thread_state.more", 0, [0, 0, 0, 0]],
		["thread_state.waker", 1, [0, 0, 8, 0]],
		["thread_state.blocked", 1, [0, 3, 0, 0]],
		["counter.line_lane", 1, [9]],
		["counter.line_depth", 0, [0]],
		["counter.line_count", 1, [3]],
		["counter.gap", 2, [0, 5, 500]],
		["counter.more", 0, [0, 0, 0]],
		["counter.min", 0, [0, 0, 0]],
		["counter.max", 0, [0, 0, 0]],
		["counter.first", 0, [0, 0, 0]],
		["counter.last", 8, [bits(1), bits(5), bits(3)]],
		["names", 1, textOf(["outer", "a", "b"])],
		["args", 1, textOf([[{ key: "n", value: 3 }]])],
		["stacks", 1, textOf([["f  f.c:7", "main"]])],
		["flow.from", 1, [1, 0, 1]],
		["flow.to", 1, [2, 3, 3]],
	]);
	return {
		tables,
		args,
		stacks,
		flows,
		texts: ["", ...names],
		metaData: { start_ns: "100", end: 1000, realtime_start_ns: null },
		tree: { states: ["Running", "D", "R"], nodes: [{ kind: "states", lane: 5, utid: 1 }] },
		nameOf: (table, box) =>
			(table.name === "thread_state" ? ["Running", "D", "R"] : ["", ...names])[table.columns.name[box]],
		ownerOf: () => ({ thread: "t", process: "p", utid: 1, cpu: null }),
		threadOf: (utid) => ({ thread: `thread ${utid}` }),
		tableOf: (lane) => (lane === 4 ? tables.slice : tables.counter),
		titleOf: () => "load",
		lanesOf: () => null,
	};
};

test("a text is the bytes that orma_base91_append() made it of", () => {
	// 13 bits are two characters, the lower digit first, and six or less at the end are one.
	assert.deepEqual([...bytesOfText("")], []);
	assert.deepEqual([...bytesOfText('"!')], [1]);
	assert.deepEqual([...bytesOfText("!!!")], [0, 0]);
	assert.deepEqual([...bytesOfText("^';Q3{crp}lyf#")], [1, 2, 3, 250, 251, 252, 253, 254, 255, 60, 62]);
});

test("planes become numbers of any width", () => {
	for (const [width, values] of [
		[0, [0, 0]],
		[1, [7, 255]],
		[2, [256, 65535]],
		[4, [1, 2 ** 32 - 1]],
		[6, [2 ** 40, 2 ** 48 - 1]],
	])
		assert.deepEqual([...columnOf(Uint8Array.from(planes(values, width)), width, values.length)], values);
	const base = doublesOf(Uint8Array.from(planes([0x3ff0000000000000n], 8)), 8, 1);
	assert.deepEqual([...base], [1]);
	assert.deepEqual([...doublesOf(new Uint8Array(0), 0, 1, base)], [1]);
});

test("a layout that is not that of its data is refused", () => {
	assert.throws(() => decode({ columns: [["names", 1, 5]] }, new Uint8Array(4)), /layout/);
});

test("gaps and lengths become times", () => {
	const { slice } = source().tables;
	assert.deepEqual([...slice.start], [0, 10, 12, 600]);
	assert.deepEqual([...slice.end], [1000, 11, 14, 700]);
	assert.deepEqual(
		slice.lines.map(({ depth, first, end }) => [depth, first, end]),
		[
			[0, 0, 1],
			[1, 1, 4],
		],
	);
});

test("lengths of one class differ by less than a quarter", () => {
	assert.deepEqual([0, 1, 2, 3, 4, 5, 7, 8, 2 ** 40 - 1, 2 ** 40].map(classOf), [0, 1, 5, 7, 9, 10, 12, 13, 160, 161]);
});

test("short boxes of a bucket are joined, and are the same in both tiles that they reach into", () => {
	const { slice, counter } = source().tables;
	const tile = boxTile(slice, 4, 4, 0);
	assert.equal(tile.count, 3);
	assert.deepEqual([...tile.f64.slice(4, 6)], [10, 14]);
	assert.equal(tile.u32[8 + AT_NAME], 2);
	assert.equal(tile.u32[8 + AT_ROW], 2);
	assert.equal(tile.u32[8 + AT_COUNT], 2);
	assert.equal((tile.u32[8 + 7] >> 8) & 255, FLAG_MERGED);
	assert.equal(boxTile(slice, 4, 0, 0).count, 3);
	assert.equal(boxTile(slice, 4, 0, 1).count, 2);
	const points = pointTile(counter, 9, 3, 0);
	assert.deepEqual([...points.f64], [0, 1, 5, 1, 5, 505, 3, 3, 3, 3]);
	assert.deepEqual([...pointTile(counter, 9, 0, 1).f64.slice(0, 5)], [505, 3, 3, 3, 3]);
});

test("questions about rows and ranges are answered", () => {
	const report = source();
	const detail = detailOf(report, { table: "slice", id: 3 });
	assert.equal(detail.share_of_parent, 0.1);
	assert.deepEqual(detail.args, [{ key: "n", value: 3 }]);
	assert.deepEqual(valuesOf(report, { key: "n", rows: [0, 3] }).values, [undefined, 3]);
	assert.equal(detail.abs.trace, "700");
	assert.equal(detailOf(report, { table: "slice", id: 0 }).self, 897);
	assert.equal(detailOf(report, { table: "counter", id: 1 }).delta, 4);
	assert.throws(() => detailOf(report, { table: "slice", id: 4 }), /no such row/);
	assert.equal(neighbourOf(report, { lane: 4, depth: 1, time: 10, dir: 1 })?.id, 2);
	assert.equal(neighbourOf(report, { lane: 4, depth: 1, time: 10, dir: -1 }), null);
	assert.equal(neighbourOf(report, { lane: 4, depth: 1, time: 590, dir: 0 })?.id, 3);
	assert.equal(searchOf(report, { text: "A", after: 0, limit: 1 }).total, 2);
	const { slices, counters } = areaOf(report, { start: 0, end: 650, nodes: [] });
	assert.deepEqual(
		slices?.rows.map((row) => row.slice(0, 4)),
		[
			["outer", 1, 650, 597],
			["b", 1, 50, 50],
			["a", 2, 3, 3],
		],
	);
	assert.deepEqual(counters?.rows[0].slice(0, 3), ["load", 1, 5]);
});

test("cells are sorted as numbers or texts, and empty ones are last in either order", () => {
	const sorted = (sign) => ["b", null, 10, 9, "a"].sort((a, b) => compareKeys(a, b, sign));
	assert.deepEqual(sorted(1), [9, 10, "a", "b", null]);
	assert.deepEqual(sorted(-1), ["b", "a", 10, 9, null]);
});

test("flows lead from a slice and to one, with the time between the begins", () => {
	const { flows } = flowPairs(source(), { table: "slice", id: 2 });
	assert.deepEqual(
		flows.map(({ from, to }) => [from.id, to.id]),
		[
			[1, 2],
			[2, 3],
		],
	);
	const detail = detailOf(source(), { table: "slice", id: 3 });
	assert.deepEqual(
		detail.flows.in.map(({ id, name, latency, thread }) => [id, name, latency, thread]),
		[
			[1, "a", 590, "t"],
			[2, "a", 588, "t"],
		],
	);
	assert.deepEqual(detail.flows.out, []);
	assert.deepEqual(flowPairs(source(), { table: "thread_state", id: 2 }), { flows: [] });
});

test("a slice tells its stack and what its thread did meanwhile", () => {
	assert.deepEqual(detailOf(source(), { table: "slice", id: 1 }).stack, ["f  f.c:7", "main"]);
	assert.equal(detailOf(source(), { table: "slice", id: 2 }).stack, undefined);
	const { time } = detailOf(source(), { table: "slice", id: 3 });
	assert.deepEqual(time, {
		running: 0,
		runnable: 50,
		blocked: [{ state: "D", ns: 50, longest: 50, waker: "thread 7" }],
	});
});

test("a state tells who ended it and where it was blocked", () => {
	const states = [1, 2].map((id) => detailOf(source(), { table: "thread_state", id }));
	assert.deepEqual(
		states.map(({ waker, blocked_function }) => [waker, blocked_function]),
		[
			[null, "b"],
			["thread 7", null],
		],
	);
});
