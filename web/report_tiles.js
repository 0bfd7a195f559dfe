// report_tiles.js - makes tiles of the boxes in a report by the rules of docs/view-protocol.md, as the server does: what is
// shorter than a bucket is joined with neighbours that begin in the same one. A line is read as far as the tile reaches; there is no
// index of levels, because a report is small.
import { BOX_F64, BOX_U32, AT_NAME, FLAG_INSTANT, FLAG_MERGED, FLAG_UNFINISHED, tileOf } from "./answers.js";
import { findStart } from "./report_data.js";
import { tileSpan } from "./tiles.js";

/** Lengths of one class differ by less than a quarter, as src/view/lanes.h says. @param {number} length */
export function classOf(length) {
	if (length <= 0) return 0;
	let log2 = Math.floor(Math.log2(length));
	if (2 ** log2 > length) log2--;
	return 1 + 4 * log2 + Math.floor((4 * length) / 2 ** log2) - 4;
}

/**
 * Goes through the boxes of a line that overlap a stretch of time, short ones joined, and calls `put(first, end)` with the boxes of each.
 * @param {import("./report_data.js").ReportTable} table @param {import("./report_data.js").Line} line
 * @param {number} level @param {number} from @param {number} to @param {(first: number, end: number) => void} put
 */
export function eachJoined(table, line, level, from, to, put) {
	const { start, end } = table;
	const width = 2 ** level;
	const isShort = (/** @type {number} */ box) => end[box] - start[box] < width;
	const bucketOf = (/** @type {number} */ box) => Math.floor(start[box] / width);
	let next = findStart(table, line, from);
	const stop = findStart(table, line, to, next);
	if (next > line.first && end[next - 1] > from) {
		next--;
		while (next > line.first && isShort(next) && isShort(next - 1) && bucketOf(next - 1) === bucketOf(next)) next--;
	}
	while (next < stop) {
		const first = next++;
		if (isShort(first)) {
			const bucket = bucketOf(first);
			while (next < stop && isShort(next) && bucketOf(next) === bucket) next++;
		}
		put(first, next);
	}
}

/** @param {import("./report_data.js").ReportTable} table @param {number} lane @param {number} level @param {number} index @returns {Tile} */
export function boxTile(table, lane, level, index) {
	const [from, to] = [index * tileSpan(level), (index + 1) * tileSpan(level)];
	/** @type {{ first: number, end: number, depth: number }[]} */
	const runs = [];
	for (const line of table.byLane.get(lane) ?? [])
		eachJoined(table, line, level, from, to, (first, end) => runs.push({ first, end, depth: line.depth }));
	const tile = tileOf(new Float64Array(runs.length * BOX_F64).buffer, "tiles");
	runs.forEach((run, i) => writeBox(tile, i, table, run));
	return tile;
}

/** @param {Tile} tile @param {number} i @param {import("./report_data.js").ReportTable} table @param {{ first: number, end: number, depth: number }} run */
function writeBox(tile, i, table, { first, end, depth }) {
	const { name, flags, more, sign } = table.columns;
	let longest = first;
	let count = 0;
	for (let box = first, best = -1; box < end; box++) {
		const length = classOf(table.end[box] - table.start[box]);
		if (length > best) [best, longest] = [length, box];
		count += more[box] + 1;
	}
	let flag = flags[longest];
	if (count > 1) flag = (flag | FLAG_MERGED) & ~FLAG_UNFINISHED;
	if (end - first > 1 && table.end[longest] > table.start[longest]) flag &= ~FLAG_INSTANT;
	tile.f64.set([table.start[first], table.end[end - 1]], BOX_F64 * i);
	const packed = (sign?.[longest] ?? 0) | (flag << 8) | (depth << 16);
	tile.u32.set([name[longest], longest, count, packed], BOX_U32 * i + AT_NAME);
}

/** @param {import("./report_data.js").ReportTable} table @param {number} lane @param {number} level @param {number} index @returns {Tile} */
export function pointTile(table, lane, level, index) {
	const [from, to] = [index * tileSpan(level), (index + 1) * tileSpan(level)];
	const width = 2 ** level;
	const { min, max, first, last } = table.columns;
	const point = (/** @type {number} */ i) => [table.start[i], min[i], max[i], first[i], last[i]];
	/** @type {number[][]} */
	const points = [];
	for (const line of table.byLane.get(lane) ?? []) {
		const begin = findStart(table, line, from);
		if (begin > line.first) points.push(point(begin - 1));
		let bucket = -1;
		for (let i = begin; i < line.end && table.start[i] < to; i++) {
			const at = Math.floor(table.start[i] / width);
			if (at !== bucket) points.push(point(i));
			else {
				const joined = points[points.length - 1];
				// NaN is neither less nor more than a number, and is replaced by one.
				if (!(joined[1] <= min[i]) && !Number.isNaN(min[i])) joined[1] = min[i];
				if (!(joined[2] >= max[i]) && !Number.isNaN(max[i])) joined[2] = max[i];
				joined[4] = last[i];
			}
			bucket = at;
		}
	}
	return tileOf(Float64Array.from(points.flat()).buffer, "counters");
}
