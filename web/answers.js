// answers.js - reads the binary answers: a header, sections, then 32 bytes for each box or 40 for each point. docs/view-protocol.md
// describes them. All numbers are little endian, as on every machine that has a browser.

const TILES_MAGIC = 0x4c49544f;
const DENSITY_MAGIC = 0x4e45444f;
const HEADER_BYTES = 16;
const SECTION_BYTES = 16;
/** Of a box, and of a point. */
const ITEM_BYTES = { tiles: 32, counters: 40 };

export const FLAG_MERGED = 1;
export const FLAG_INSTANT = 2;
export const FLAG_UNFINISHED = 4;
export const FLAG_REAL_TIME = 16;

/** How many numbers of each view belong to one box or point. */
export const BOX_F64 = 4;
export const BOX_U32 = 8;
export const POINT_F64 = 5;
/** Where they are: start, end (f64); name, row, count, then category, flags and depth in one word (u32). */
export const AT_NAME = 4;
export const AT_ROW = 5;
export const AT_COUNT = 6;
export const AT_PACKED = 7;

/** The words of an answer, after a look at the first ones. @param {ArrayBuffer} buffer @param {number} magic */
function wordsOf(buffer, magic) {
	const words = new Uint32Array(buffer, 0, buffer.byteLength >> 2);
	if (words[0] !== magic || words[1] !== 1) throw new Error("an answer that this page does not know");
	return words;
}

/**
 * Splits an answer into tiles, in the order of the request. A tile is a copy, so that it can be forgotten alone.
 * @param {ArrayBuffer} buffer @param {TilePair[]} pairs what was asked for @param {TileKind} kind
 * @returns {Tile[]}
 */
export function tilesOf(buffer, pairs, kind) {
	const words = wordsOf(buffer, TILES_MAGIC);
	let at = HEADER_BYTES + pairs.length * SECTION_BYTES;
	const tiles = pairs.map((pair, i) => {
		const [lane, count, low, high] = words.subarray(4 + 4 * i);
		if (lane !== pair.lane || low + high * 2 ** 32 !== pair.tile) throw new Error("the answer has other tiles");
		return tileOf(buffer.slice(at, (at += count * ITEM_BYTES[kind])), kind);
	});
	if (words[3] !== pairs.length || at !== buffer.byteLength) throw new Error("the answer has another length");
	return tiles;
}

/** @param {ArrayBuffer} buffer boxes or points only @param {TileKind} kind @returns {Tile} */
export function tileOf(buffer, kind) {
	return {
		count: buffer.byteLength / ITEM_BYTES[kind],
		f64: new Float64Array(buffer),
		u32: new Uint32Array(buffer),
		bytes: buffer.byteLength,
	};
}

/** @param {number} level @param {number} most how many boxes the answer may have @param {TilePair[]} pairs */
export function tilesRequest(level, most, pairs) {
	// A word takes the low 32 bits of a number.
	return Uint32Array.of(level, most, pairs.length, 0, ...pairs.flatMap(({ lane, tile }) => [lane, 0, tile, tile / 2 ** 32]))
		.buffer;
}

/** @param {number} start @param {number} end @param {number} buckets @param {number[]} ids */
export function densityRequest(start, end, buckets, ids) {
	const words = Uint32Array.of(0, 0, 0, 0, buckets, ids.length, ...ids);
	new Float64Array(words.buffer, 0, 2).set([start, end]);
	return words.buffer;
}

/** One row of shares, from 0 to 255, for each id. @param {ArrayBuffer} buffer @param {number} buckets */
export function densitiesOf(buffer, buckets) {
	const count = wordsOf(buffer, DENSITY_MAGIC)[3];
	const rows = [];
	for (let i = 0; i < count; i++) rows.push(new Uint8Array(buffer, HEADER_BYTES + i * buckets, buckets));
	return rows;
}
