// source_report.js - gets data from the report that contains the page. It has the interface of source_http.js, so that the
// parts that draw do not know which of both they have; its answers come at once.
import { areaOf, detailOf, findOf, flameOf, flowPairs, neighbourOf, searchOf, valuesOf } from "./report_answers.js";
import { TABLE_NAMES, decode, jsonIn, readBlocks } from "./report_data.js";
import { boxTile, pointTile } from "./report_tiles.js";

const ALL = 0xffffffff;

/** @typedef {import("./report_data.js").ReportTable} ReportTable */

/** @implements {Source} */
export class ReportSource {
	constructor() {
		this.traffic = { requests: 0, bytes: 0 };
		/** @type {Meta} */
		this.metaData = jsonIn("orma-meta");
		/** @type {TrackTree} */
		this.tree = { generation: 0, nodes: [], threads: [], processes: [], states: [] };
		/** @type {import("./report_data.js").Layout} */
		this.layout = jsonIn("orma-layout");
		/** @type {Record<string, ReportTable>} */
		this.tables = {};
		/** By number; 0 is none. @type {string[]} */
		this.texts = [""];
		/** @type {ArgNode[][]} */
		this.args = [];
		/** @type {string[][]} */
		this.stacks = [];
		/** @type {import("./report_data.js").Flows} */
		this.flows = { from: new Float64Array(0), to: new Uint32Array(0) };
		/** @type {Map<number, ReportTable>} */
		this.byLane = new Map();
		/** @type {Map<number, TrackNode>} */
		this.nodes = new Map();
	}

	async open() {
		const { tables, names, args, stacks, flows, tracks } = decode(this.layout, await readBlocks(this.layout));
		this.tables = tables;
		this.texts.push(...names);
		Object.assign(this, { args, stacks, flows });
		this.tree = tracks;
		for (const node of tracks.nodes) if (node.lane !== null) this.nodes.set(node.lane, node);
		for (const name of TABLE_NAMES) for (const lane of tables[name].byLane.keys()) this.byLane.set(lane, tables[name]);
	}

	/** @param {number} lane */
	tableOf(lane) {
		return this.byLane.get(lane);
	}

	/** @param {ReportTable} table @param {number} box @param {import("./report_data.js").Line} line @returns {string} */
	nameOf(table, box, line) {
		if (table.name === "slice" || table.name === "state") return this.texts[table.columns.name[box]] ?? "";
		if (table.name === "thread_state") return this.tree.states[table.columns.name[box]] ?? "";
		return table.name === "sched" ? (this.threadOf(table.columns.name[box]).thread ?? "") : this.titleOf(line.lane);
	}

	/** @param {number} lane */
	titleOf(lane) {
		return this.nodes.get(lane)?.name ?? "";
	}

	/** @param {number | null | undefined} utid @returns {{ thread: string | null, process: string | null, upid: number | null, tid: number | null }} */
	threadOf(utid) {
		const found = this.tree.threads.find((thread) => thread[0] === utid);
		if (!found) return { thread: null, process: null, upid: null, tid: null };
		const [, tid, name, upid] = found;
		return { thread: `${name || "thread"} (${tid})`, process: this.processOf(upid), upid, tid };
	}

	/** @param {number | null | undefined} upid */
	processOf(upid) {
		const found = upid == null ? undefined : this.tree.processes.find((process) => process[0] === upid);
		return found ? `${found[2] ?? ""} (${found[1]})`.trim() : null;
	}

	/** What a lane belongs to, as far as the nodes above it say. @param {number} lane */
	ownerOf(lane) {
		/** @type {{ thread: string | null, process: string | null, utid: number | null, upid: number | null, cpu: number | null }} */
		const owner = { thread: null, process: null, utid: null, upid: null, cpu: null };
		for (let node = this.nodes.get(lane); node; node = this.tree.nodes[node.parent]) {
			if (node.utid != null && owner.thread === null) Object.assign(owner, this.threadOf(node.utid));
			owner.utid ??= node.utid ?? null;
			owner.upid ??= node.upid ?? null;
			owner.cpu ??= node.cpu ?? null;
		}
		owner.process ??= this.processOf(owner.upid);
		return owner;
	}

	/** The lanes of nodes and of those below them; null: all. @param {number[]} ids */
	lanesOf(ids) {
		if (ids.length === 0) return null;
		const chosen = new Set(ids);
		/** @type {Set<number>} */
		const lanes = new Set();
		// Parents come before their children.
		for (const { id, parent, lane } of this.tree.nodes) {
			if (chosen.has(parent)) chosen.add(id);
			if (chosen.has(id) && lane !== null) lanes.add(lane);
		}
		return lanes;
	}

	/** A report has one state. @returns {Source} */
	at() {
		return this;
	}

	/** @param {TileKind} kind @param {number} level @param {TilePair[]} pairs */
	async boxes(kind, level, pairs) {
		const make = kind === "counters" ? pointTile : boxTile;
		return pairs.map(({ lane, tile }) => {
			const table = this.tableOf(lane);
			if (!table) throw new Error("the report has no such lane");
			return make(table, lane, level, tile);
		});
	}

	/** How busy processes are: on CPUs, or without scheduling in slices that nothing holds. @param {number} start @param {number} end @param {number} buckets @param {number[]} ids */
	async density(start, end, buckets, ids) {
		const { sched, slice } = this.tables;
		const isSched = sched.start.length > 0;
		const table = isSched ? sched : slice;
		const width = (end - start) / buckets;
		const sums = ids.map(() => new Float64Array(buckets));
		const threads = new Map(this.tree.threads.map(([utid, tid, , upid]) => [utid, { tid, upid }]));
		const all = ids.indexOf(ALL);
		for (const line of table.lines) {
			if (!isSched && line.depth > 0) continue;
			const upid = isSched ? null : this.ownerOf(line.lane).upid;
			for (let box = line.first; box < line.end; box++) {
				const from = Math.max(0, table.start[box] - start);
				const to = Math.min(end - start, table.end[box] - start);
				if (to <= from) continue;
				const thread = isSched ? threads.get(table.columns.name[box]) : null;
				const own = ids.indexOf((isSched ? thread?.upid : upid) ?? -1);
				if (own >= 0) addTime(sums[own], width, from, to);
				// The kernel's idle thread is no work.
				if (all >= 0 && thread?.tid !== 0) addTime(sums[all], width, from, to);
			}
		}
		return sums.map((sum, i) => {
			const full = width * (i === all ? Math.max(1, table.byLane.size) : 1);
			return Uint8Array.from(sum, (time) => Math.ceil(Math.min(time / full, 1) * 255));
		});
	}

	/** @param {number[]} ids */
	async names(ids) {
		return ids.map((id) => this.texts[id] ?? "");
	}

	/** @param {string} what @param {any} question @returns {Promise<any>} */
	async ask(what, question) {
		this.traffic.requests++;
		switch (what) {
			case "detail":
				return detailOf(this, question);
			case "find":
				return findOf(this, question);
			case "search":
				return searchOf(this, question);
			case "neighbour":
				return neighbourOf(this, question);
			case "area":
				return areaOf(this, question);
			case "argument":
				return valuesOf(this, question);
			case "flame":
				return flameOf(this, question);
			case "flows":
				return flowPairs(this, question);
			default:
				throw new Error("a report cannot answer this; orma view can");
		}
	}
}

/** @param {Float64Array} sums @param {number} width @param {number} from @param {number} to */
function addTime(sums, width, from, to) {
	for (let bucket = Math.floor(from / width); bucket < sums.length && bucket * width < to; bucket++)
		sums[bucket] += Math.max(0, Math.min(to, (bucket + 1) * width) - Math.max(from, bucket * width));
}
