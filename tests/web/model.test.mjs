// The tree of tracks: order, folds, filter, pins, and where rows lie.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HEIGHTS, Model, bodyTop, heightOfAll, matcherOf, rowIndexAt } from "../../web/model.js";
import { nodeOf } from "./fixtures.mjs";

function modelOf() {
	return new Model({
		nodes: [
			nodeOf(0, -1, "group", "CPUs"),
			nodeOf(1, 0, "sched", "CPU 0", { lane: 10 }),
			nodeOf(2, -1, "process", "server 7", { open: true }),
			nodeOf(3, 2, "thread", "main 7"),
			nodeOf(4, 3, "states", "main 7", { lane: 11 }),
			nodeOf(5, 3, "slices", "main 7", { lane: 12, rows: 3 }),
			nodeOf(6, 3, "slices", "own track", { lane: 13, rows: 1 }),
			nodeOf(7, 2, "counter", "memory", { lane: 14 }),
			nodeOf(8, -1, "process", "idle 9", { open: false }),
			nodeOf(9, 8, "thread", "sleeper 9"),
			nodeOf(10, 9, "states", "sleeper 9", { lane: 15 }),
		],
	});
}
const titles = (model) => model.rows.map(({ title }) => title);

test("a thread is one row with its states and its first slices", () => {
	const model = modelOf();
	assert.deepEqual(titles(model), ["CPUs", "CPU 0", "server 7", "main 7", "own track", "memory", "idle 9"]);
	const row = model.rows[3];
	assert.equal(row.strip.id, 4);
	assert.equal(row.body.id, 5);
	assert.equal(row.height, bodyTop(row) + 3 * HEIGHTS.slice + HEIGHTS.pad / 2);
});

test("rows lie below one another, and are found by their place", () => {
	const { rows } = modelOf();
	let y = 0;
	rows.forEach((row, i) => {
		assert.equal(row.y, y);
		assert.equal(rowIndexAt(rows, y), i);
		assert.equal(rowIndexAt(rows, y + row.height - 1), i);
		assert.equal(row.height % 2, 0);
		y += row.height;
	});
	assert.equal(heightOfAll(rows), y);
	assert.equal(rowIndexAt(rows, y), rows.length);
});

test("folding hides what is below, and all depths but the first of slices", () => {
	const model = modelOf();
	model.fold(3);
	assert.equal(model.rows[3].depths, 1);
	model.fold(2);
	assert.deepEqual(titles(model), ["CPUs", "CPU 0", "server 7", "idle 9"]);
	model.fold(2, true);
	model.fold(8, true);
	assert.equal(titles(model).at(-1), "sleeper 9");
});

test("the filter leaves what matches, with what contains it and what it contains", () => {
	const model = modelOf();
	model.setFilter("SLEEP");
	assert.deepEqual(titles(model), ["idle 9", "sleeper 9"]);
	model.setFilter("/^server/");
	assert.deepEqual(titles(model), ["server 7", "main 7", "own track", "memory"]);
	model.setFilter("nothing has this name");
	assert.deepEqual(titles(model), []);
	model.setFilter("");
	assert.equal(model.rows.length, 7);
});

test("a pattern that is not complete matches everything", () => {
	assert.equal(matcherOf("/(/"), null);
	assert.equal(matcherOf("  "), null);
	assert.equal(matcherOf("a.c")("a.c"), true);
	assert.equal(matcherOf("a.c")("abc"), false);
});

test("tracks are pinned and let go", () => {
	const model = modelOf();
	model.pin(7);
	model.pin(3);
	assert.deepEqual(
		model.pinned.map(({ title }) => title),
		["memory · server 7", "main 7 · server 7"],
	);
	assert.equal(model.pinned[1].y, model.pinned[0].height);
	model.pin(7);
	assert.deepEqual(model.pins, [3]);
});

test("a track moves among its siblings only", () => {
	const model = modelOf();
	model.move(8, 0, false);
	assert.equal(titles(model)[0], "idle 9");
	model.move(8, 2, true);
	assert.equal(titles(model).at(-1), "idle 9");
	model.move(7, 0, false);
	model.move(7, 3, false);
	assert.deepEqual(titles(model).slice(2, 5), ["server 7", "memory", "main 7"]);
});

test("the order of moved tracks is told, and brought about again", () => {
	const model = modelOf();
	model.move(8, 0, false);
	model.move(7, 3, false);
	model.move(2, 0, false);
	const { order } = model;
	assert.deepEqual(order, [
		[8, -1],
		[2, 8],
		[7, -1],
	]);
	const other = modelOf();
	other.move(2, 0, false);
	other.order = order;
	assert.deepEqual(titles(other), titles(model));
	other.order = [];
	assert.deepEqual(titles(other), titles(modelOf()));
	other.order = [
		[8, 99],
		[99, 8],
		[8, 5],
		[2, NaN],
	];
	assert.deepEqual(titles(other).sort(), titles(modelOf()).sort());
});

test("a lane is shown by its row, or by the folded header above it", () => {
	const model = modelOf();
	assert.equal(model.rowOfLane(15).title, "idle 9");
	model.reveal(15);
	assert.equal(model.rowOfLane(15).title, "sleeper 9");
	assert.equal(model.rowOfLane(12).title, "main 7");
	model.reveal(99);
	model.setFilter("memory");
	model.reveal(12);
	assert.equal(model.rowOfLane(12).title, "main 7");
	assert.equal(model.filter, "");
});

test("the lanes of a process are those of all that is in it", () => {
	assert.deepEqual(modelOf().lanesBelow(2), [4, 5, 6, 7]);
});
