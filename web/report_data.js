// report_data.js - reads the data of a report: columns of numbers in planes of bytes, packed and written as text.
// docs/report-format.md describes them. A text is dropped before the next one is read, so that only the columns stay.
import { signOfCategory } from "./colour.js";

const FORMAT = 1;

/**
 * The boxes at one depth of a lane, or the points of a counter: those from `first` to before `end` of their table, in the order of time.
 * @typedef {{ lane: number, depth: number, first: number, end: number }} Line
 */

/** @typedef {Record<string, Float64Array | Uint8Array | Uint16Array | Uint32Array>} Columns */

/**
 * All boxes or points of a table of the trace. Ends are those of boxes; what a table does not have is empty.
 * @typedef {{ name: string, lines: Line[], byLane: Map<number, Line[]>, start: Float64Array, end: Float64Array, columns: Columns }} ReportTable
 */

/** @typedef {{ format: number, level: number, deflate: boolean, blocks: number, bytes: number, rows: number, boxes: number, columns: [string, number, number][], open?: string }} Layout */

export const TABLE_NAMES = ["slice", "state", "sched", "thread_state", "counter"];

/** @param {string} id */
export function jsonIn(id) {
	const element = document.getElementById(id);
	if (!element) throw new Error(`the report has no ${id}`);
	return JSON.parse(element.textContent ?? "");
}

/** The digits are the characters from ! to ~ but &, < and >. @param {number} code */
const digitOf = (code) => code - 33 - Number(code > 38) - Number(code > 60) - Number(code > 62);

/** Two characters are 13 bits, and a single one at the end is six. @param {string} text */
export function bytesOfText(text) {
	const bytes = new Uint8Array(Math.floor(((text.length >> 1) * 13 + (text.length & 1) * 6) / 8));
	let [bits, count, at] = [0, 0, 0];
	for (let i = 0; i < text.length; i += 2) {
		const isPair = i + 1 < text.length;
		bits |= (digitOf(text.charCodeAt(i)) + (isPair ? digitOf(text.charCodeAt(i + 1)) * 91 : 0)) << count;
		for (count += isPair ? 13 : 6; count >= 8; count -= 8, bits >>= 8) bytes[at++] = bits;
	}
	return bytes;
}

/** @param {Uint8Array} bytes @returns {Promise<Uint8Array>} */
async function inflated(bytes) {
	const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** What all blocks have, one behind the other. @param {Layout} layout */
export async function readBlocks(layout) {
	if (layout.format !== FORMAT) throw new Error("the report is in a format that this page does not know");
	const all = new Uint8Array(layout.bytes);
	let at = 0;
	for (let i = 0; i < layout.blocks; i++) {
		const element = document.getElementById(`orma-data-${i}`);
		if (!element) throw new Error("the report is cut");
		const packed = bytesOfText(element.textContent ?? "");
		const block = layout.deflate ? await inflated(packed) : packed;
		if (at + block.length > all.length) throw new Error("the report is damaged");
		all.set(block, at);
		at += block.length;
	}
	if (at !== all.length) throw new Error("the report is cut");
	return all;
}

/** Joins the planes of a column. @param {Uint8Array} bytes @param {number} width @param {number} count */
export function columnOf(bytes, width, count) {
	if (width === 1) return bytes.subarray(0, count);
	const values = width <= 2 ? new Uint16Array(count) : width <= 4 ? new Uint32Array(count) : new Float64Array(count);
	// The highest plane first: no intermediate result is larger than the value.
	for (let plane = width - 1; plane >= 0; plane--) {
		const from = plane * count;
		for (let i = 0; i < count; i++) values[i] = values[i] * 256 + bytes[from + i];
	}
	return values;
}

/** Doubles whose bits are in a column, exclusive-or those of another. @param {Uint8Array} bytes @param {number} width @param {number} count @param {Float64Array} [base] */
export function doublesOf(bytes, width, count, base) {
	const values = new Float64Array(count);
	const target = new Uint8Array(values.buffer);
	if (base) target.set(new Uint8Array(base.buffer, base.byteOffset, count * 8));
	for (let plane = 0; plane < width; plane++)
		for (let i = 0; i < count; i++) target[i * 8 + plane] ^= bytes[plane * count + i];
	return values;
}

/** Each flow leads from a slice to a slice; both are boxes. @typedef {{ from: Float64Array, to: Columns[string] }} Flows */

/**
 * @param {Layout} layout @param {Uint8Array} all
 * @returns {{ tables: Record<string, ReportTable>, names: string[], args: ArgNode[][], stacks: string[][], flows: Flows, tracks: TrackTree }}
 */
export function decode(layout, all) {
	/** @type {Map<string, { bytes: Uint8Array, width: number, count: number }>} */
	const places = new Map();
	let at = 0;
	for (const [name, width, count] of layout.columns) {
		places.set(name, { bytes: all.subarray(at, at + width * count), width, count });
		at += width * count;
	}
	if (at !== all.length) throw new Error("the layout of the report is not that of its data");
	const none = { bytes: new Uint8Array(0), width: 0, count: 0 };
	const place = (/** @type {string} */ name) => places.get(name) ?? none;
	const column = (/** @type {string} */ name) => {
		const { bytes, width, count } = place(name);
		return columnOf(bytes, width, count);
	};
	const text = (/** @type {string} */ name) => JSON.parse(new TextDecoder().decode(place(name).bytes));
	/** @type {Record<string, ReportTable>} */
	const tables = {};
	for (const name of TABLE_NAMES) tables[name] = tableIn(name, column, place);
	const flows = { from: Float64Array.from(column("flow.from")), to: column("flow.to") };
	// The first ends are differences.
	for (let i = 1; i < flows.from.length; i++) flows.from[i] += flows.from[i - 1];
	const [names, args, stacks, tracks] = ["names", "args", "stacks", "tracks"].map(text);
	const signs = [0];
	const { columns } = tables.slice;
	columns.sign = Uint8Array.from(columns.category, (name) => (signs[name] ??= signOfCategory(names[name - 1])));
	return { tables, names, args, stacks, flows, tracks };
}

/**
 * @param {string} name @param {(column: string) => Columns[string]} column
 * @param {(column: string) => { bytes: Uint8Array, width: number, count: number }} place
 * @returns {ReportTable}
 */
function tableIn(name, column, place) {
	const [lanes, depths, counts] = ["line_lane", "line_depth", "line_count"].map((part) => column(`${name}.${part}`));
	const start = Float64Array.from(column(`${name}.gap`));
	const length = column(`${name}.length`);
	const end = new Float64Array(start.length);
	/** @type {Line[]} */
	const lines = [];
	/** @type {Map<number, Line[]>} */
	const byLane = new Map();
	let first = 0;
	for (let i = 0; i < lanes.length; i++) {
		const line = { lane: lanes[i], depth: depths[i], first, end: first + counts[i] };
		lines.push(line);
		const others = byLane.get(line.lane);
		if (others) others.push(line);
		else byLane.set(line.lane, [line]);
		let time = 0;
		for (let box = line.first; box < line.end; box++) {
			start[box] += time;
			time = end[box] = start[box] + (length[box] ?? 0);
		}
		first = line.end;
	}
	/** @type {Columns} */
	const columns = {};
	for (const part of ["name", "flags", "more", "category", "args", "stack", "waker", "blocked"])
		columns[part] = column(`${name}.${part}`);
	if (name === "counter") {
		const doubles = (/** @type {string} */ part, /** @type {Float64Array} */ base) => {
			const { bytes, width, count } = place(`counter.${part}`);
			return doublesOf(bytes, width, count, base);
		};
		const last = doubles("last", new Float64Array(start.length));
		for (const part of ["min", "max", "first"]) columns[part] = doubles(part, last);
		columns.last = last;
	}
	return { name, lines, byLane, start, end, columns };
}

/** The first box of a line, at `from` or behind, that begins at `time` or later. @param {ReportTable} table @param {Line} line @param {number} time @param {number} [from] */
export function findStart(table, line, time, from = line.first) {
	let [low, high] = [from, line.end];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (table.start[middle] < time) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** The line that has a box. @param {ReportTable} table @param {number} box */
export function lineOf(table, box) {
	let [low, high] = [0, table.lines.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (table.lines[middle].end <= box) low = middle + 1;
		else high = middle;
	}
	return table.lines[low];
}
