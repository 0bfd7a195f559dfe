// The binary answers: what is read is what was written, and nothing is read that does not belong to the answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { densitiesOf, densityRequest, tilesOf, tilesRequest } from "../../web/answers.js";
import { answerOf } from "./fixtures.mjs";

const box = (start, end, name) => ({ start, end, name, row: name + 100, count: 1, depth: 2, flags: 4 });

test("tiles are decoded in the order of the request", () => {
	const pairs = [
		{ lane: 7, tile: 2 ** 33 + 5 },
		{ lane: 9, tile: 0 },
		{ lane: 7, tile: 1 },
	];
	const boxes = [[box(1.5, 3, 1), box(4, 9, 2)], [], [box(2 ** 52, 2 ** 52 + 1, 3)]];
	const tiles = tilesOf(answerOf(pairs, boxes, 42), pairs, "tiles");
	assert.deepEqual(
		tiles.map(({ count }) => count),
		[2, 0, 1],
	);
	assert.deepEqual(
		[...tiles[0].f64].filter((_, i) => i % 4 < 2),
		[1.5, 3, 4, 9],
	);
	assert.deepEqual([...tiles[0].u32.slice(4, 8)], [1, 101, 1, (4 << 8) | (2 << 16)]);
	assert.equal(tiles[2].f64[0], 2 ** 52);
});

test("answers that are cut, of another kind or for other tiles are refused", () => {
	const pairs = [{ lane: 7, tile: 1 }];
	const answer = answerOf(pairs, [[box(1, 2, 3)]], 1);
	for (let length = 0; length < answer.byteLength; length++)
		assert.throws(() => tilesOf(answer.slice(0, length), pairs, "tiles"));
	assert.throws(() => tilesOf(answer, [{ lane: 8, tile: 1 }], "tiles"));
	assert.throws(() => tilesOf(answer, [{ lane: 7, tile: 2 }], "tiles"));
	assert.throws(() => tilesOf(answer, [...pairs, ...pairs], "tiles"));
	assert.throws(() => densitiesOf(answer, 4));
});

test("requests say what they want in little endian", () => {
	const view = new DataView(tilesRequest(20, 8000, [{ lane: 3, tile: 2 ** 32 + 1 }]));
	assert.deepEqual(
		[0, 4, 8, 12, 16, 20, 24, 28].map((at) => view.getUint32(at, true)),
		[20, 8000, 1, 0, 3, 0, 1, 1],
	);
	const density = new DataView(densityRequest(0.5, 9, 64, [1, 0xffffffff]));
	assert.equal(density.getFloat64(0, true), 0.5);
	assert.equal(density.getUint32(28, true), 0xffffffff);
});
