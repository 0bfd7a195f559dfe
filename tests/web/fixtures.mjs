// Answers of a server, tiles and tracks, made for the tests.
import { tileOf } from "../../web/answers.js";

/** The answer to a request for tiles. @param boxes the boxes of each pair */
export function answerOf(pairs, boxes, generation) {
	const total = boxes.reduce((sum, list) => sum + list.length, 0);
	const view = new DataView(new ArrayBuffer(16 + 16 * pairs.length + 32 * total));
	[0x4c49544f, 1, generation, pairs.length].forEach((value, i) => view.setUint32(4 * i, value, true));
	let at = 16 + 16 * pairs.length;
	pairs.forEach(({ lane, tile }, i) => {
		view.setUint32(16 + 16 * i, lane, true);
		view.setUint32(20 + 16 * i, boxes[i].length, true);
		view.setBigUint64(24 + 16 * i, BigInt(tile), true);
		for (const box of boxes[i]) {
			writeBox(view, at, box);
			at += 32;
		}
	});
	return view.buffer;
}

function writeBox(view, at, { start, end, name, row, count, depth, flags, category = 0 }) {
	view.setFloat64(at, start, true);
	view.setFloat64(at + 8, end, true);
	[name, row, count, category | (flags << 8) | (depth << 16)].forEach((value, i) =>
		view.setUint32(at + 16 + 4 * i, value, true),
	);
}

/** A tile with boxes. */
export function tileWith(boxes) {
	return tileOf(answerOf([{ lane: 0, tile: 0 }], [boxes], 0).slice(32), "tiles");
}

/** A tile with points of a counter. @param points [time, least, largest, first, last] of each */
export function pointsWith(points) {
	return tileOf(Float64Array.from(points.flat()).buffer, "counters");
}

/** A node of a track tree. */
export function nodeOf(id, parent, kind, name, more = {}) {
	return { id, parent, kind, name, lane: null, rows: 1, events: 0, open: true, ...more };
}
