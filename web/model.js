// model.js - which tracks are shown, where, and in which state: order, folds, pins, filter. It knows nothing of pixels
// but the heights of rows, and nothing of the document.
//
// A thread is one row of the page although the server has a node for it and one for each of its lanes: its states are a
// strip, its first slices lie below the strip, and what else it has follows as rows of their own.

import { fnv1a } from "./colour.js";

export const HEIGHTS = { group: 24, process: 28, slice: 18, strip: 8, wideStrip: 12, sched: 20, counter: 28, pad: 4 };

export class Model {
	/** @type {number[]} */
	roots = [];
	/** @type {number[]} */
	pins = [];
	filter = "";
	/** @type {string[]} */
	keyList = [];
	/** @type {Map<string, number>} */
	byKey = new Map();
	/** Tracks that were moved among their siblings. @type {Set<number>} */
	moved = new Set();
	/** How counters are shown, unless as values. @type {Map<number, CounterMode>} */
	modes = new Map();
	/** @type {Row[]} */
	rows = [];
	/** @type {Row[]} */
	pinned = [];
	/** The node whose boxes are in a lane. @type {Map<number, TrackNode>} */
	byLane = new Map();

	/** @param {TrackTree} tree */
	constructor(tree) {
		this.nodes = [...tree.nodes];
		/** @type {number[][]} */
		this.children = tree.nodes.map(() => []);
		for (const node of tree.nodes) (this.children[node.parent] ?? this.roots).push(node.id);
		this.open = tree.nodes.map((node) => node.open);
		for (const node of tree.nodes) if (node.lane !== null) this.byLane.set(node.lane, node);
		this.layout();
	}

	/**
	 * What links and longer traces call the nodes, whose numbers they may change: a hash of a node's name and of what contains it.
	 * Those of equal names are told apart by their order.
	 */
	get keys() {
		if (this.keyList.length === this.nodes.length) return this.keyList;
		this.byKey.clear();
		this.keyList = [];
		for (const { id, parent, kind, name } of this.nodes) {
			let hash = fnv1a(`${this.keyList[parent]} ${kind} ${name}`);
			while (this.byKey.has(hash.toString(36))) hash++;
			this.keyList.push(hash.toString(36));
			this.byKey.set(hash.toString(36), id);
		}
		return this.keyList;
	}

	/** The nodes that have these keys. @param {string[]} keys */
	idsOf(keys) {
		return this.keys && keys.flatMap((key) => this.byKey.get(key) ?? []);
	}

	/** Computes the rows anew. */
	layout() {
		const shown = this.shown();
		/** @type {Row[]} */
		const rows = [];
		for (const root of this.roots) this.addRows(rows, root, 0, shown);
		place(rows);
		this.rows = rows;
		this.pinned = this.pins.map((id) => this.rowOf(this.nodes[id], 0, true));
		place(this.pinned);
	}

	/** Which nodes the filter leaves: those that match, what contains them, and what is in them. null: all. */
	shown() {
		const matches = matcherOf(this.filter);
		if (!matches) return null;
		const shown = this.nodes.map((node) => matches(this.titleOf(node)));
		// Parents come before their children: downwards first, then upwards.
		const found = shown.slice();
		for (const node of this.nodes) if (node.parent >= 0 && found[node.parent]) found[node.id] = true;
		for (const node of [...this.nodes].reverse()) {
			if (shown[node.id] && node.parent >= 0) shown[node.parent] = true;
		}
		return shown.map((value, id) => value || found[id]);
	}

	/** @param {Row[]} rows @param {number} id @param {number} indent @param {boolean[] | null} shown */
	addRows(rows, id, indent, shown) {
		if (shown && !shown[id]) return;
		const node = this.nodes[id];
		const row = this.rowOf(node, indent, false);
		rows.push(row);
		if (row.isContainer && !row.open && !shown) return;
		for (const child of this.children[id]) {
			if (this.nodes[child] === row.strip || this.nodes[child] === row.body) continue;
			this.addRows(rows, child, indent + 1, shown);
		}
	}

	/** @param {TrackNode} node @param {number} indent @param {boolean} pinned @returns {Row} */
	rowOf(node, indent, pinned) {
		const { strip, body } = this.partsOf(node);
		const depths = body && body.kind === "slices" ? Math.max(1, body.rows) : 1;
		const { kind } = body ?? node;
		const open = this.open[node.id];
		const isContainer = isHolder(node);
		/** @type {Row} */
		const row = {
			key: `${pinned ? "p" : "r"}${node.id}`,
			node,
			kind: node.kind,
			isContainer,
			title: pinned ? this.longTitleOf(node) : this.titleOf(node),
			y: 0,
			height: 0,
			indent,
			strip,
			stripHeight: strip ? (body ? HEIGHTS.strip : HEIGHTS.wideStrip) : 0,
			body,
			mode: this.modes.get(node.id) ?? "value",
			depths: open ? depths : 1,
			rowHeight: kind === "sched" || kind === "counter" ? HEIGHTS[kind] : HEIGHTS.slice,
			foldable: isContainer ? this.children[node.id].length > 0 : depths > 1,
			open,
			pinned,
		};
		row.height = heightOf(row);
		return row;
	}

	/** The nodes that are drawn in the row of a node. @param {TrackNode} node */
	partsOf(node) {
		const parts = this.children[node.id].map((id) => this.nodes[id]);
		const find = (/** @type {NodeKind} */ kind) => parts.find((part) => part.kind === kind) ?? null;
		if (node.kind === "thread") return { strip: find("states"), body: find("slices") };
		if (node.kind === "states") return { strip: node, body: null };
		return { strip: null, body: node.lane === null ? null : node };
	}

	/** @param {TrackNode} node */
	titleOf(node) {
		// A process that is named by the path of its program is shown by the last part of the path.
		return (node.kind === "process" ? node.name.replace(/^\S*\/(?=\S)/, "") : node.name) || node.kind;
	}

	/** The name with that of the process or group, for rows that are shown apart from it. @param {TrackNode} node */
	longTitleOf(node) {
		const parent = this.nodes[node.parent];
		return parent && parent.kind !== "group" ? `${this.titleOf(node)} · ${this.titleOf(parent)}` : this.titleOf(node);
	}

	/** The process that a lane belongs to. @param {number} lane */
	processOf(lane) {
		let node = this.byLane.get(lane);
		while (node && node.kind !== "process") node = this.nodes[node.parent];
		return node;
	}

	/** Opens or folds. @param {number} id @param {boolean} [open] */
	fold(id, open = !this.open[id]) {
		this.open[id] = open;
		this.layout();
	}

	/** What is not open or folded as in the trace. */
	get folds() {
		return this.nodes.flatMap(({ id, open }) => (this.open[id] === open ? [] : id));
	}

	set folds(ids) {
		const folds = new Set(ids);
		this.open = this.nodes.map(({ id, open }) => open !== folds.has(id));
	}

	/** Opens or folds all that contains others. @param {boolean} open */
	foldAll(open) {
		for (const node of this.nodes) {
			if (node.kind === "process" || node.kind === "thread") this.open[node.id] = open;
		}
		this.layout();
	}

	/** Adds a node that is shown only while it is pinned. @param {{ kind: NodeKind, name: string, lane: number, table: string, rows: number, events: number, sql: string }} parts */
	addNode(parts) {
		const node = { ...parts, id: this.nodes.length, parent: -1, open: true };
		this.nodes.push(node);
		this.children.push([]);
		this.open.push(true);
		this.byLane.set(node.lane, node);
		return node.id;
	}

	/** @param {number} id */
	pin(id) {
		this.pins = this.pins.includes(id) ? this.pins.filter((other) => other !== id) : [...this.pins, id];
		this.layout();
	}

	/** Leaves only the tracks whose names match. @param {string} filter text, or a pattern between slashes */
	setFilter(filter) {
		this.filter = filter;
		this.layout();
	}

	/** The nodes that a node is one of. @param {number} id */
	siblingsOf(id) {
		return this.children[this.nodes[id].parent] ?? this.roots;
	}

	/** A counter, and its siblings of the same unit. @param {number} id */
	alike(id) {
		const { kind, unit } = this.nodes[id];
		const others = this.siblingsOf(id).map((other) => this.nodes[other]);
		return [this.nodes[id], ...others.filter((other) => other.kind === kind && other.unit === unit && other.id !== id)];
	}

	/** Puts a node before or behind one of its siblings. @param {number} id @param {number} target @param {boolean} behind */
	move(id, target, behind) {
		const siblings = this.siblingsOf(id);
		if (id === target || !siblings.includes(target)) return;
		siblings.splice(siblings.indexOf(id), 1);
		siblings.splice(siblings.indexOf(target) + (behind ? 1 : 0), 0, id);
		this.moved.add(id);
		this.layout();
	}

	/** The nodes that were moved, from top to bottom, and the sibling before each; -1: it is the first one. @returns {[number, number][]} */
	get order() {
		const siblings = new Set([...this.moved].map((id) => this.siblingsOf(id)));
		return [...siblings].flatMap((ids) =>
			ids.flatMap((id, i) => (this.moved.has(id) ? [/** @type {[number, number]} */ ([id, ids[i - 1] ?? -1])] : [])),
		);
	}

	set order(pairs) {
		// The server's order is that of the numbers.
		for (const id of this.moved) this.siblingsOf(id).sort((a, b) => a - b);
		const order = new Map(pairs.filter(([id]) => this.nodes[id]));
		this.moved = new Set(order.keys());
		for (const id of this.moved) this.siblingsOf(id).splice(this.siblingsOf(id).indexOf(id), 1);
		for (const [id, before] of order) this.siblingsOf(id).splice(this.siblingsOf(id).indexOf(before) + 1, 0, id);
		this.layout();
	}

	/** Opens what contains a lane. @param {number} lane */
	reveal(lane) {
		const node = this.byLane.get(lane);
		if (!node) return;
		const drawn = this.holderOf(node);
		for (let id = drawn.parent; id >= 0; id = this.nodes[id].parent) this.open[id] = true;
		if (this.filter && !(this.shown()?.[drawn.id] ?? true)) this.filter = "";
		this.layout();
	}

	/** The node in whose row a lane is drawn. @param {TrackNode} node */
	holderOf(node) {
		const parent = this.nodes[node.parent];
		if (!parent) return node;
		const { strip, body } = this.partsOf(parent);
		return strip === node || body === node ? parent : node;
	}

	/** The row that shows a lane, or the folded header that hides it. @param {number} lane @returns {Row | null} */
	rowOfLane(lane) {
		const node = this.byLane.get(lane);
		if (!node) return null;
		let id = this.holderOf(node).id;
		for (let up = id; up >= 0; up = this.nodes[up].parent) {
			if (isHolder(this.nodes[up]) && !this.open[up] && !this.filter) id = up;
		}
		return this.rows.find((row) => row.node.id === id) ?? null;
	}

	/** The nodes whose lanes a row shows; a folded header stands for what is below it. @param {Row} row */
	nodesIn({ node, strip, body, isContainer, open }) {
		if (isContainer) return open ? [] : this.lanesBelow(node.id);
		return [strip, body].flatMap((part) => part?.id ?? []);
	}

	/** All nodes with lanes at or below a node. @param {number} id @returns {number[]} */
	lanesBelow(id) {
		const node = this.nodes[id];
		return [...(node.lane === null ? [] : [id]), ...this.children[id].flatMap((child) => this.lanesBelow(child))];
	}
}

/** Whether a node only holds others. @param {TrackNode} node */
function isHolder({ kind }) {
	return kind === "group" || kind === "process";
}

/** Gives rows their places below one another. @param {Row[]} rows */
function place(rows) {
	let y = 0;
	for (const row of rows) {
		row.y = y;
		y += row.height;
	}
}

/** @param {Row[]} rows */
export function heightOfAll(rows) {
	const last = rows.at(-1);
	return last ? last.y + last.height : 0;
}

/** The index of the row at y, or of the first one below it. @param {Row[]} rows @param {number} y */
export function rowIndexAt(rows, y) {
	let low = 0;
	let high = rows.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (rows[middle].y + rows[middle].height > y) high = middle;
		else low = middle + 1;
	}
	return low;
}

/** @param {Row} row */
function heightOf(row) {
	if (row.kind === "group" || row.kind === "process") return HEIGHTS[row.kind];
	const strip = row.strip ? row.stripHeight + 2 : 0;
	const body = row.body ? row.depths * row.rowHeight : 0;
	return Math.max(HEIGHTS.group, strip + body + HEIGHTS.pad);
}

/** Where the boxes of a row begin, from its top. @param {Row} row */
export function bodyTop(row) {
	return HEIGHTS.pad / 2 + (row.strip ? row.stripHeight + 2 : 0);
}

/**
 * A function that says whether a text matches what somebody typed: a part of it in any case, or /a pattern/.
 * null: nothing was typed, or the pattern is not complete yet.
 * @param {string} filter @returns {((text: string) => boolean) | null}
 */
export function matcherOf(filter) {
	const typed = filter.trim();
	if (!typed) return null;
	if (typed.length > 2 && typed.startsWith("/") && typed.endsWith("/")) {
		try {
			const pattern = new RegExp(typed.slice(1, -1), "i");
			return (text) => pattern.test(text);
		} catch {
			return null;
		}
	}
	const lower = typed.toLowerCase();
	return (text) => text.toLowerCase().includes(lower);
}
