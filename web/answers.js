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

/** A number of 64 bits. @param {DataView} view @param {number} at */
function u64At(view, at) {
	return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

/**
 * @param {ArrayBuffer} buffer @param {number} magic
 * @returns {{ generation: number, count: number, view: DataView }}
 */
function headOf(buffer, magic) {
	const view = new DataView(buffer);
	if (buffer.byteLength < HEADER_BYTES || view.getUint32(0, true) !== magic) throw new Error("not an answer of orma");
	if (view.getUint32(4, true) !== 1) throw new Error("an answer in a format that this page does not know");
	return { generation: view.getUint32(8, true), count: view.getUint32(12, true), view };
}

/**
 * Splits an answer into tiles, in the order of the request. A tile is a copy, so that it can be forgotten alone.
 * @param {ArrayBuffer} buffer @param {TilePair[]} pairs what was asked for @param {TileKind} kind
 * @returns {{ generation: number, tiles: Tile[] }}
 */
export function tilesOf(buffer, pairs, kind) {
	const { generation, count, view } = headOf(buffer, TILES_MAGIC);
	if (count !== pairs.length) throw new Error("the answer has another number of tiles");
	let at = HEADER_BYTES + count * SECTION_BYTES;
	if (at > buffer.byteLength) throw new Error("the answer ends early");
	const tiles = pairs.map((pair, i) => {
		const section = HEADER_BYTES + i * SECTION_BYTES;
		if (view.getUint32(section, true) !== pair.lane || u64At(view, section + 8) !== pair.tile)
			throw new Error("the answer has other tiles");
		const end = at + view.getUint32(section + 4, true) * ITEM_BYTES[kind];
		if (end > buffer.byteLength) throw new Error("the answer ends early");
		const tile = tileOf(buffer.slice(at, end), kind);
		at = end;
		return tile;
	});
	return { generation, tiles };
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
	const buffer = new ArrayBuffer(16 + pairs.length * 16);
	const view = new DataView(buffer);
	view.setUint32(0, level, true);
	view.setUint32(4, most, true);
	view.setUint32(8, pairs.length, true);
	pairs.forEach(({ lane, tile }, i) => {
		const at = 16 + i * 16;
		view.setUint32(at, lane, true);
		view.setUint32(at + 8, tile % 2 ** 32, true);
		view.setUint32(at + 12, Math.floor(tile / 2 ** 32), true);
	});
	return buffer;
}

/** @param {number} start @param {number} end @param {number} buckets @param {number[]} ids */
export function densityRequest(start, end, buckets, ids) {
	const buffer = new ArrayBuffer(24 + ids.length * 4);
	const view = new DataView(buffer);
	view.setFloat64(0, start, true);
	view.setFloat64(8, end, true);
	view.setUint32(16, buckets, true);
	view.setUint32(20, ids.length, true);
	ids.forEach((id, i) => view.setUint32(24 + i * 4, id, true));
	return buffer;
}

/** One row of shares, from 0 to 255, for each id. @param {ArrayBuffer} buffer @param {number} buckets */
export function densitiesOf(buffer, buckets) {
	const { count } = headOf(buffer, DENSITY_MAGIC);
	if (buffer.byteLength < HEADER_BYTES + count * buckets) throw new Error("the answer ends early");
	const rows = [];
	for (let i = 0; i < count; i++) rows.push(new Uint8Array(buffer, HEADER_BYTES + i * buckets, buckets));
	return rows;
}
