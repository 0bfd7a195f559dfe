// flame.js - a flame graph: the width of a box is the share of its node. A click makes a node as wide as the graph, with what
// contains it above it. A graph can be kept, and then the graph of another range shows what grew and what shrank.
import { paint, setFont, sizeCanvas } from "./canvas.js";
import { PALETTE, colourOfName, mixed } from "./colour.js";
import { errorText, h, refill } from "./dom.js";
import { drawOutline } from "./draw_overlay.js";
import { queryOf } from "./table.js";
import { grouped, percentText, valueText } from "./time.js";

const ROW = 18;
const LEAST_WIDTH = 0.5;

/** What took as much in both of two profiles, and what took more in the second one or in the first. */
const EQUAL = "dfe3e8";
const MORE = "ee7b3b";
const LESS = "5a9bdc";

/** `sides`: what it has in each of two profiles that are compared. @typedef {{ id: number, parent: FlameNode | null, name: string, self: number, total: number, count: number, sides: number[] | null, depth: number, children: FlameNode[] }} FlameNode */
/** @typedef {{ node: FlameNode, x: number, w: number, y: number }} FlameBox */

/** The nodes of an answer as a tree below one root. An answer has parents before their children. @param {FlameRow[]} rows @returns {FlameNode} */
export function flameTree(rows) {
	/** @type {FlameNode} */
	const root = { id: -1, parent: null, name: "all", self: 0, total: 0, count: 0, sides: null, depth: 0, children: [] };
	const byId = new Map([[root.id, root]]);
	for (const [id, above, name, self, total, count, a, b] of rows) {
		const parent = byId.get(above) ?? root;
		const sides = a === undefined || b === undefined ? null : [a, b];
		/** @type {FlameNode} */
		const node = { id, parent, name, self, total, count, sides, depth: parent.depth + 1, children: [] };
		parent.children.push(node);
		byId.set(id, node);
	}
	for (const { children } of byId.values()) children.sort((a, b) => b.total - a.total);
	root.total = root.children.reduce((sum, { total }) => sum + total, 0);
	return root;
}

/** The boxes of a graph in which one node is as wide as it. @param {FlameNode} focus @param {number} width @returns {FlameBox[]} */
export function flameBoxes(focus, width) {
	/** @type {FlameBox[]} */
	const boxes = [];
	for (let node = focus.parent; node; node = node.parent) boxes.push({ node, x: 0, w: width, y: node.depth });
	// Graphs may be deeper than the stack of the browser.
	const waiting = [{ node: focus, x: 0, w: width }];
	for (let next = waiting.pop(); next; next = waiting.pop()) {
		const { node, x, w } = next;
		if (w < LEAST_WIDTH) continue;
		boxes.push({ node, x, w, y: node.depth });
		let at = x;
		for (const child of node.children) {
			const part = (child.total / (node.total || 1)) * w;
			waiting.push({ node: child, x: at, w: part });
			at += part;
		}
	}
	return boxes;
}

/** The colour of a change from one profile to the other. @param {number} before @param {number} after */
export function colourOfChange(before, after) {
	const change = before + after > 0 ? (after - before) / (before + after) : 0;
	return mixed(EQUAL, change > 0 ? MORE : LESS, Math.abs(change) ** 0.7);
}

export class Flame {
	/** Where the keyboard is. @type {FlameNode | null} */
	chosen = null;
	isUpward = false;
	levels = 0;
	/** @type {FlameBox[]} */
	boxes = [];

	/**
	 * @param {Pick<App, "theme" | "cropper" | "on"> & { names?: App["names"] }} app @param {HTMLElement} element
	 * @param {FlameAnswer} answer @param {string[]} [sideNames]
	 */
	constructor(app, element, answer, sideNames = ["A", "B"]) {
		this.app = app;
		this.unit = answer.unit;
		this.sideNames = sideNames;
		/** What each of two profiles has in all. */
		this.sides = answer.sides ?? null;
		this.root = flameTree(answer.nodes);
		if (this.sides) this.root.sides = this.sides;
		this.focus = this.root;
		this.canvas = h("canvas.flame", {
			role: "application",
			"aria-label": "Flame graph: arrows go through it, Enter makes a function as wide as the graph, Escape shows all",
			tabIndex: 0,
			onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
			onpointermove: (/** @type {MouseEvent} */ event) => this.describe(this.at(event)),
			onpointerleave: () => this.describe(this.chosen),
			onclick: (/** @type {MouseEvent} */ event) => this.zoom(this.at(event)),
		});
		this.label = h("div.flame-label", { "aria-live": "polite" });
		this.scroller = h("div.flame-scroll", this.canvas);
		refill(element, this.label, this.scroller);
		new ResizeObserver(() => this.draw()).observe(this.scroller);
		app.on(["theme", "hits"], () => this.draw());
		this.describe(null);
	}

	/** What a node has in each of two profiles. @param {number[]} values @param {number[]} all */
	sidesText(values, all) {
		const text = (/** @type {number} */ side) =>
			`${valueText(values[side], this.unit)} (${percentText(values[side] / (all[side] || 1))})`;
		return `${this.sideNames[0]} ${text(0)}, ${this.sideNames[1]} ${text(1)}`;
	}

	/** @param {FlameNode} node */
	colourOf({ name, sides }) {
		if (!sides || !this.sides) return `#${PALETTE[colourOfName(name)]}`;
		const [before, after] = sides;
		// Of bytes there may be more; of samples and times the shares are compared.
		const [a, b] = this.unit === "bytes" ? [1, 1] : this.sides;
		return colourOfChange(before / (a || 1), after / (b || 1));
	}

	/** @param {MouseEvent} event */
	at(event) {
		const y = this.levelAt(Math.floor(event.offsetY / ROW));
		return this.boxes.find((box) => box.y === y && event.offsetX >= box.x && event.offsetX < box.x + box.w)?.node ?? null;
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const { code } = event;
		const from = this.chosen ?? this.focus;
		if (code === "Enter") this.zoom(from);
		else if (code === "Escape" && this.focus !== this.root) this.zoom(this.root);
		else if (code.startsWith("Arrow")) this.choose(this.neighbour(from, code) ?? from);
		else return;
		event.preventDefault();
		event.stopPropagation();
	}

	/** What is drawn beside a node, above it or below. @param {FlameNode} node @param {string} code of an arrow key */
	neighbour(node, code) {
		if (code === (this.isUpward ? "ArrowDown" : "ArrowUp")) return node.parent;
		const isBeside = code === "ArrowLeft" || code === "ArrowRight";
		const level = this.boxes.filter((box) => (isBeside ? box.y === node.depth : box.node.parent === node));
		const nodes = level.sort((a, b) => a.x - b.x).map((box) => box.node);
		return isBeside ? nodes[nodes.indexOf(node) + (code === "ArrowLeft" ? -1 : 1)] : nodes[0];
	}

	/** @param {FlameNode} node */
	choose(node) {
		this.chosen = node;
		this.describe(node);
		this.draw();
		const top = this.levelAt(node.depth) * ROW;
		const { clientHeight, scrollTop } = this.scroller;
		this.scroller.scrollTop = Math.max(top + ROW - clientHeight, Math.min(top, scrollTop));
	}

	/** The level that is drawn in a row, and the row of a level. @param {number} row */
	levelAt(row) {
		return this.isUpward ? this.levels - 1 - row : row;
	}

	/** Puts the roots at the bottom, or at the top again. */
	flip() {
		this.isUpward = !this.isUpward;
		this.draw();
	}

	/** @param {FlameNode | null} node */
	zoom(node) {
		if (!node) return;
		this.focus = node === this.focus ? this.root : node;
		this.choose(this.focus);
	}

	/** @param {FlameNode | null} node */
	describe(node) {
		const shown = node ?? this.focus;
		const share = percentText(shown.total / (this.root.total || 1));
		// A sample that counts as one is no number of its own.
		const count = shown.count > 0 && shown.count !== shown.total ? `, ${grouped(shown.count)} ×` : "";
		const text =
			shown.sides && this.sides
				? this.sidesText(shown.sides, this.sides)
				: `${valueText(shown.total, this.unit)} (${share}), self ${valueText(shown.self, this.unit)}${count}`;
		refill(this.label, h("b", shown.name), ` ${text}`);
	}

	draw() {
		const width = this.scroller.clientWidth;
		if (width === 0 || !this.canvas.isConnected) return;
		this.boxes = flameBoxes(this.focus, width);
		this.levels = 1 + this.boxes.reduce((most, { y }) => Math.max(most, y), 0);
		const height = ROW * this.levels;
		const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
		const { theme, cropper, names } = this.app;
		sizeCanvas(context, width, height);
		paint(context, theme.background, 0, 0, width, height);
		setFont(context, theme.font);
		let chosen = null;
		for (const { node, x, w, y } of this.boxes) {
			const top = this.levelAt(y) * ROW;
			const isDim = node !== this.root && (node.depth < this.focus.depth || names?.wanted?.(node.name) === false);
			const fill = node === this.root ? theme.stripe : this.colourOf(node);
			paint(context, fill, x, top, Math.max(LEAST_WIDTH, w - 1), ROW - 1, isDim ? 0.4 : 1);
			const text = w > 24 ? cropper.crop(node.name, w - 8) : "";
			context.fillStyle = node === this.root || isDim ? theme.text : theme.inks[0];
			if (text) context.fillText(text, x + 4, top + ROW / 2);
			if (node === this.chosen) chosen = { x0: x, x1: x + w, y: top, h: ROW };
		}
		if (chosen) drawOutline(context, chosen, theme.select, 2);
	}
}

/** The range whose graph others are compared with. @type {{ source: string, title: string, area: Area } | null} */
let kept = null;

/**
 * A panel with the flame graph of a range: of its slices, or of a profile of the trace.
 * @param {App} app @param {HTMLElement} body @param {Area} area @param {{ source: string, title: string }[]} sources
 */
export function showFlame(app, body, area, sources) {
	const options = sources.map(({ title }) => h("option", title));
	const select = h(
		"select",
		{ "aria-label": "What the graph shows", hidden: !options[1], onchange: () => ask(false) },
		...options,
	);
	const tools = h("div.tabletools.flame-tools");
	const place = h("div.flame-place");
	const ask = async (/** @type {boolean} */ isCompared) => {
		const { source } = sources[Math.max(0, select.selectedIndex)];
		const other = kept?.source === source && kept.area !== area ? kept : null;
		const { start, end, nodes } = isCompared && other ? other.area : /** @type {Partial<Area>} */ ({});
		try {
			/** @type {FlameAnswer} */
			const answer = await app.ask("flame", {
				source,
				...area,
				before_start: start,
				before_end: end,
				before_nodes: nodes,
			});
			if (!place.isConnected) return;
			const flame = new Flame(app, place, answer, ["before", "now"]);
			const keep = () => (kept = { source, title: app.clock.text(area.start, 1e6), area });
			const compare = { "aria-pressed": isCompared, onclick: () => ask(!isCompared) };
			refill(
				tools,
				select,
				h("button", { onclick: () => flame.flip() }, "Upside down"),
				h("button", { onclick: keep }, "Keep to compare"),
				other && h("button", compare, `Compare with ${other.title}`),
				...queryOf(answer.sql),
			);
		} catch (error) {
			refill(place, errorText(error));
		}
	};
	body.append(h("div.flamebox", tools, place));
	ask(false);
}
