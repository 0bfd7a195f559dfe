// report_answers.js - answers what the page asks about rows and ranges, from the boxes of a report. What only the engine knows
// is not in the answers, and the page leaves it out, such as the statements of SQL.
import { eachJoined } from "./report_tiles.js";
import { FLAG_UNFINISHED } from "./answers.js";
import { findStart, lineOf } from "./report_data.js";
import { matcherOf } from "./model.js";

/** @typedef {import("./report_data.js").ReportTable} ReportTable */
/** @typedef {import("./report_data.js").Line} Line */
/** @typedef {import("./source_report.js").ReportSource} ReportSource */

const DENSITY_BUCKETS = 512;
const MOST_CHILDREN = 20;
const MOST_TOP = 100;
const MOST_FLOWS = 100;

/** The p-th of sorted lengths. @param {Float64Array} sorted @param {number} p */
function quantile(sorted, p) {
	return sorted.length ? sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))] : 0;
}

/** A row as the page knows it. @param {ReportSource} source @param {ReportTable} table @param {number} box @param {Line} [line] */
function rowOf(source, table, box, line = lineOf(table, box)) {
	const [start, end] = [table.start[box], table.end[box]];
	const name = source.nameOf(table, box, line);
	return { table: table.name, id: box, start, end, dur: end - start, lane: line.lane, depth: line.depth, name };
}

/** The box at a depth of a lane that holds a stretch of time, -1 if there is none. @param {ReportTable} table @param {Line | undefined} line @param {number} start @param {number} end */
function around(table, line, start, end) {
	if (!line) return -1;
	const box = findStart(table, line, start + 1) - 1;
	return box >= line.first && table.end[box] >= end ? box : -1;
}

/** @param {ReportTable} table @param {Line} line @param {number} by */
function lineBeside(table, line, by) {
	return table.byLane.get(line.lane)?.find(({ depth }) => depth === line.depth + by);
}

/** All boxes of a name that stand for one slice, and their lengths in order. @param {ReportTable} slices @param {number} name */
function namedIn(slices, name) {
	const { columns } = slices;
	/** @type {number[]} */
	const boxes = [];
	for (let box = 0; box < slices.start.length; box++)
		if (columns.name[box] === name && columns.more[box] === 0 && !(columns.flags[box] & FLAG_UNFINISHED)) boxes.push(box);
	const lengths = Float64Array.from(boxes, (box) => slices.end[box] - slices.start[box]).sort();
	const histogram = new Array(64).fill(0);
	for (const length of lengths) histogram[length >= 1 ? Math.floor(Math.log2(length)) : 0]++;
	return { boxes, lengths, histogram };
}

/** @param {ReportSource} source @param {{ table: string, id: number }} question @returns {Detail} */
export function detailOf(source, { table: tableName, id }) {
	const table = source.tables[tableName];
	if (!table || !(id >= 0 && id < table.start.length)) throw new Error("the report has no such row");
	const line = lineOf(table, id);
	const { columns } = table;
	const row = rowOf(source, table, id, line);
	const { thread, process, utid, cpu } = source.ownerOf(line.lane);
	/** @type {Record<string, string>} */
	const abs = { trace: String(BigInt(source.metaData.start_ns) + BigInt(Math.round(row.start))) };
	if (source.metaData.realtime_start_ns !== null)
		abs.realtime = String(BigInt(source.metaData.realtime_start_ns) + BigInt(Math.round(row.start)));
	const isUnfinished = (columns.flags[id] & FLAG_UNFINISHED) !== 0;
	const detail = { ...row, abs, thread, process, dur: isUnfinished ? null : row.dur };
	if (tableName === "slice")
		return { ...detail, ...sliceParts(source, table, line, id), time: threadTime(source, utid, row) };
	if (tableName === "sched") {
		const owner = source.threadOf(columns.name[id]);
		return { ...detail, ...owner, cpu };
	}
	if (tableName === "counter") {
		const value = columns.last[id];
		return { ...detail, dur: null, value, delta: id > line.first ? value - columns.last[id - 1] : null };
	}
	if (tableName === "thread_state")
		return { ...detail, waker: wakerOf(source, table, id), blocked_function: source.texts[columns.blocked[id]] || null };
	return detail;
}

/** @param {ReportSource} source @param {ReportTable} states @param {number} box */
function wakerOf(source, states, box) {
	const waker = states.columns.waker[box];
	return waker ? source.threadOf(waker - 1).thread : null;
}

/** What a thread did in a stretch of time. @param {ReportSource} source @param {number | null} utid @param {{ start: number, end: number }} range */
function threadTime(source, utid, { start, end }) {
	const node = source.tree.nodes.find((one) => one.kind === "states" && one.utid === utid);
	const table = source.tables.thread_state;
	const line = node?.lane == null ? undefined : table.byLane.get(node.lane)?.[0];
	if (utid === null || !line) return null;
	const time = { running: 0, runnable: 0 };
	/** @type {Map<string, { state: string, ns: number, longest: number, waker: string | null }>} */
	const blocked = new Map();
	for (let box = Math.max(line.first, findStart(table, line, start) - 1); box < line.end && table.start[box] < end; box++) {
		const state = source.nameOf(table, box, line);
		const ns = Math.min(table.end[box], end) - Math.max(table.start[box], start);
		if (ns <= 0) continue;
		if (state === "Running") time.running += ns;
		else if (state === "R" || state === "R+") time.runnable += ns;
		else {
			const sum = blocked.get(state) ?? { state, ns: 0, longest: 0, waker: null };
			sum.ns += ns;
			if (ns > sum.longest) {
				sum.longest = ns;
				// The thread that woke it is told where it became runnable.
				sum.waker = box + 1 < line.end ? wakerOf(source, table, box + 1) : null;
			}
			blocked.set(state, sum);
		}
	}
	return { ...time, blocked: [...blocked.values()] };
}

/** The flows that leave a slice, or those that reach it, as the other ends. @param {ReportSource} source @param {number} box @param {boolean} isOut */
function flowEnds(source, box, isOut) {
	const slices = source.tables.slice;
	const [near, far] = isOut ? [source.flows.from, source.flows.to] : [source.flows.to, source.flows.from];
	/** @type {DetailFlow[]} */
	const ends = [];
	for (let i = 0; i < near.length && ends.length < MOST_FLOWS; i++) {
		if (near[i] !== box) continue;
		const row = rowOf(source, slices, far[i]);
		const latency = (slices.start[far[i]] - slices.start[box]) * (isOut ? 1 : -1);
		ends.push({ ...row, latency, thread: source.ownerOf(row.lane).thread });
	}
	return ends;
}

/** @param {ReportSource} source @param {{ table: string, id: number }} question */
export function flowPairs(source, { table, id }) {
	if (table !== "slice") return { flows: [] };
	const own = rowOf(source, source.tables.slice, id);
	const out = flowEnds(source, id, true).map((to) => ({ from: own, to }));
	return { flows: [...flowEnds(source, id, false).map((from) => ({ from, to: own })), ...out] };
}

/** What only slices have. @param {ReportSource} source @param {ReportTable} table @param {Line} line @param {number} id */
function sliceParts(source, table, line, id) {
	const { columns } = table;
	const [start, end] = [table.start[id], table.end[id]];
	/** @type {FlowEnd[]} */
	const parents = [];
	for (let above = lineBeside(table, line, -1); above; above = lineBeside(table, above, -1)) {
		const box = around(table, above, start, end);
		if (box >= 0) parents.push(rowOf(source, table, box, above));
	}
	/** @type {Map<string, { name: string, count: number, total: number }>} */
	const children = new Map();
	let inside = 0;
	const below = lineBeside(table, line, 1);
	for (let box = below ? findStart(table, below, start) : 0; below && box < below.end && table.end[box] <= end; box++) {
		const name = source.nameOf(table, box, below);
		const child = children.get(name) ?? { name, count: 0, total: 0 };
		child.count += columns.more[box] + 1;
		child.total += table.end[box] - table.start[box];
		inside += table.end[box] - table.start[box];
		children.set(name, child);
	}
	const parent = parents[0];
	const length = end - start;
	return {
		category: source.texts[columns.category[id]] ?? null,
		args: columns.args[id] ? source.args[columns.args[id] - 1] : undefined,
		stack: source.stacks[columns.stack[id] - 1],
		flows: { in: flowEnds(source, id, false), out: flowEnds(source, id, true) },
		self: length - inside,
		parents,
		children: [...children.values()].sort((a, b) => b.total - a.total).slice(0, MOST_CHILDREN),
		share_of_parent: parent && parent.end > parent.start ? length / (parent.end - parent.start) : null,
		rank: columns.more[id] > 0 || columns.flags[id] & FLAG_UNFINISHED ? null : rankIn(table, columns.name[id], length),
	};
}

/** The values that slices have of an argument. @param {ReportSource} source @param {{ key: string, rows: number[] }} question */
export function valuesOf({ tables, args }, { key, rows }) {
	/** @type {(nodes?: ArgNode[]) => unknown[]} */
	const find = (nodes = []) => nodes.flatMap((node) => find(node.children).concat(node.key === key ? node.value : []));
	return { values: rows.map((row) => find(args[tables.slice.columns.args[row] - 1])[0]) };
}

/** @param {ReportTable} table @param {number} name @param {number} length */
function rankIn(table, name, length) {
	const { lengths, histogram } = namedIn(table, name);
	let longer = 0;
	while (longer < lengths.length && lengths[lengths.length - 1 - longer] > length) longer++;
	return { place: longer + 1, of: lengths.length, p50: quantile(lengths, 0.5), p99: quantile(lengths, 0.99), histogram };
}

/** @param {ReportSource} source @param {{ name: string }} question @returns {FindAnswer} */
export function findOf(source, { name }) {
	const slices = source.tables.slice;
	const { boxes, lengths, histogram } = namedIn(slices, source.texts.indexOf(name));
	boxes.sort((a, b) => slices.end[b] - slices.start[b] - (slices.end[a] - slices.start[a]) || a - b);
	const top = boxes.slice(0, MOST_TOP).map((box) => {
		const row = rowOf(source, slices, box);
		return { ...row, thread: source.ownerOf(row.lane).thread };
	});
	const sum = lengths.reduce((total, length) => total + length, 0);
	const [p50, p90, p99] = [0.5, 0.9, 0.99].map((p) => quantile(lengths, p));
	return { name, count: lengths.length, sum, p50, p90, p99, histogram, top };
}

/** @param {ReportSource} source @param {{ text: string, after: number, limit: number }} question @returns {SearchAnswer} */
export function searchOf(source, { text, after, limit }) {
	const slices = source.tables.slice;
	const matches = matcherOf(text);
	const wanted = source.texts.map((name, i) => i > 0 && (matches?.(name) ?? false));
	/** @type {number[]} */
	const found = [];
	const density = new Array(DENSITY_BUCKETS).fill(0);
	for (let box = 0; box < slices.start.length; box++) {
		if (!wanted[slices.columns.name[box]]) continue;
		found.push(box);
		const bucket = Math.floor((slices.start[box] / (source.metaData.end || 1)) * DENSITY_BUCKETS);
		density[Math.min(DENSITY_BUCKETS - 1, bucket)]++;
	}
	found.sort((a, b) => slices.start[a] - slices.start[b] || a - b);
	const hits = found.slice(after, after + limit).map((box) => rowOf(source, slices, box));
	return { total: found.length, hits, density };
}

/** @param {ReportSource} source @param {{ lane: number, depth: number, time: number, dir: number }} question */
export function neighbourOf(source, { lane, depth, time, dir }) {
	const table = source.tableOf(lane);
	const line = table?.byLane.get(lane)?.find((other) => other.depth === depth);
	if (!table || !line) return null;
	let box = findStart(table, line, dir > 0 ? time + 1 : time) - (dir > 0 ? 0 : 1);
	if (dir === 0) {
		const far = (/** @type {number} */ i) =>
			i < line.first || i >= line.end
				? Infinity
				: Math.min(Math.abs(table.start[i] - time), Math.abs(table.end[i] - time));
		if (far(box + 1) < far(box)) box++;
	}
	return box >= line.first && box < line.end ? rowOf(source, table, box, line) : null;
}

/**
 * Calls `take` with each box of the chosen tracks that lies in a range, and with the time of it that does.
 * @param {ReportSource} source @param {string} tableName @param {Area} area
 * @param {(table: ReportTable, line: Line, box: number, time: number) => void} take
 */
function eachIn(source, tableName, area, take) {
	const table = source.tables[tableName];
	const lanes = source.lanesOf(area.nodes);
	for (const line of table.lines) {
		if (lanes && !lanes.has(line.lane)) continue;
		eachJoined(table, line, 0, area.start, area.end, (first, end) => {
			for (let box = first; box < end; box++)
				take(
					table,
					line,
					box,
					Math.max(0, Math.min(table.end[box], area.end) - Math.max(table.start[box], area.start)),
				);
		});
	}
}

/**
 * Adds up by a key, and makes rows in the order of the largest total.
 * @template T @param {Map<string | number, T & { total: number }>} groups @param {(group: T & { total: number }) => (string | number | null)[]} cells
 */
function rowsOf(groups, cells) {
	return [...groups.values()].sort((a, b) => b.total - a.total).map(cells);
}

/** @param {ReportSource} source @param {Area} area @returns {AreaAnswer} */
export function areaOf(source, area) {
	return {
		slices: slicesIn(source, area),
		cpu: cpuIn(source, area),
		states: statesIn(source, area),
		counters: countersIn(source, area),
	};
}

/** @param {ReportSource} source @param {Area} area @returns {AnswerTable} */
function slicesIn(source, area) {
	/** @type {Map<string, { name: string, count: number, total: number, self: number, lengths: number[] }>} */
	const groups = new Map();
	const group = (/** @type {string} */ name) => {
		const known = groups.get(name) ?? { name, count: 0, total: 0, self: 0, lengths: [] };
		groups.set(name, known);
		return known;
	};
	eachIn(source, "slice", area, (table, line, box, time) => {
		const own = group(source.nameOf(table, box, line));
		own.count += table.columns.more[box] + 1;
		own.total += time;
		own.self += time;
		own.lengths.push(table.end[box] - table.start[box]);
		const above = lineBeside(table, line, -1);
		const parent = around(table, above, table.start[box], table.end[box]);
		if (above && parent >= 0) group(source.nameOf(table, parent, above)).self -= time;
	});
	const columns = ["name", "count", "total", "self", "min", "avg", "p50", "p90", "p99", "max", "share"];
	const rows = rowsOf(groups, ({ name, count, total, self, lengths }) => {
		const sorted = Float64Array.from(lengths).sort();
		const sum = sorted.reduce((all, length) => all + length, 0);
		const parts = [0.5, 0.9, 0.99].map((p) => quantile(sorted, p));
		const share = (100 * total) / (area.end - area.start);
		return [name, count, total, self, sorted[0] ?? 0, sum / Math.max(1, count), ...parts, sorted.at(-1) ?? 0, share];
	}).filter((row) => Number(row[1]) > 0);
	return { columns, rows };
}

/**
 * Adds up the boxes of a table by a key, and makes a row of each sum.
 * @param {ReportSource} source @param {string} tableName @param {Area} area @param {(name: number, lane: number) => string | number} keyOf
 * @param {(sum: { name: number, lane: number, total: number, count: number }) => (string | number | null)[]} cells
 */
function sumsIn(source, tableName, area, keyOf, cells) {
	/** @type {Map<string | number, { name: number, lane: number, total: number, count: number }>} */
	const sums = new Map();
	eachIn(source, tableName, area, ({ columns }, { lane }, box, time) => {
		const name = columns.name[box];
		const key = keyOf(name, lane);
		const sum = sums.get(key) ?? { name, lane, total: 0, count: 0 };
		sum.total += time;
		sum.count += columns.more[box] + 1;
		sums.set(key, sum);
	});
	return rowsOf(sums, cells);
}

/** @param {ReportSource} source @param {Area} area @returns {AnswerTable} */
function cpuIn(source, area) {
	const rows = sumsIn(
		source,
		"sched",
		area,
		(utid) => utid,
		({ name, total, count }) => {
			const { thread, process } = source.threadOf(name);
			return [thread, process, total, (100 * total) / (area.end - area.start), count];
		},
	);
	return { columns: ["thread", "process", "total", "share", "runs"], rows };
}

/** @param {ReportSource} source @param {Area} area @returns {AnswerTable} */
function statesIn(source, area) {
	const key = (/** @type {number} */ state, /** @type {number} */ lane) => `${lane} ${state}`;
	const rows = sumsIn(source, "thread_state", area, key, ({ name, lane, total, count }) => {
		const { thread, process } = source.ownerOf(lane);
		return [thread, process, source.tree.states[name] ?? "", total, count];
	});
	return { columns: ["thread", "process", "state", "total", "count"], rows };
}

/** Averages are weighted by time; a value holds until the next one. @param {ReportSource} source @param {Area} area @returns {AnswerTable} */
function countersIn(source, area) {
	const table = source.tables.counter;
	const lanes = source.lanesOf(area.nodes);
	const { min, max, last } = table.columns;
	/** @type {(string | number | null)[][]} */
	const rows = [];
	for (const line of table.lines) {
		if (lanes && !lanes.has(line.lane)) continue;
		const begin = Math.max(line.first, findStart(table, line, area.start + 1) - 1);
		let [low, high, sum, known, first, final] = [Infinity, -Infinity, 0, 0, NaN, NaN];
		for (let i = begin; i < line.end && table.start[i] < area.end; i++) {
			const isOld = table.start[i] < area.start;
			const next = i + 1 < line.end ? table.start[i + 1] : source.metaData.end;
			const time = Math.max(0, Math.min(next, area.end) - Math.max(table.start[i], area.start));
			low = Math.min(low, isOld ? last[i] : min[i]);
			high = Math.max(high, isOld ? last[i] : max[i]);
			sum += last[i] * time;
			known += time;
			if (Number.isNaN(first)) first = last[i];
			final = last[i];
		}
		if (low > high) continue;
		const seconds = (area.end - area.start) / 1e9;
		const average = known > 0 ? sum / known : final;
		rows.push([source.titleOf(line.lane), low, high, average, first, final, final - first, (final - first) / seconds]);
	}
	return { columns: ["counter", "min", "max", "avg", "first", "last", "delta", "rate"], rows };
}

/** Slices below what holds them, by name. @param {ReportSource} source @param {Area} area @returns {FlameAnswer} */
export function flameOf(source, area) {
	/** @type {FlameRow[]} */
	const nodes = [];
	/** @type {Map<string, number>} */
	const places = new Map();
	/** The node of each box; lines come parents first. @type {Map<number, number>} */
	const nodeOf = new Map();
	eachIn(source, "slice", area, (table, line, box, time) => {
		const name = source.nameOf(table, box, line);
		const parent = nodeOf.get(around(table, lineBeside(table, line, -1), table.start[box], table.end[box])) ?? -1;
		const key = `${parent} ${name}`;
		let place = places.get(key);
		if (place === undefined) {
			place = nodes.length;
			places.set(key, place);
			nodes.push([place, parent, name, 0, 0, 0]);
		}
		nodeOf.set(box, place);
		nodes[place][3] += time;
		nodes[place][4] += time;
		nodes[place][5] += table.columns.more[box] + 1;
		if (parent >= 0) nodes[parent][3] -= time;
	});
	return { unit: "ns", nodes };
}
