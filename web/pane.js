// pane.js - a scrolled stack of tracks: headers in the document, boxes on one canvas. The canvas is a part of what scrolls
// and reaches beyond the screen above and below, so that headers and boxes scroll together, and a short scroll draws nothing.
import { BoxList, BOX_SLICE } from "./boxes.js";
import { paint, sizeCanvas } from "./canvas.js";
import { PALETTE, colourOfName, colourOfProcess, mixed } from "./colour.js";
import { h } from "./dom.js";
import { drawCounter, drawDensity } from "./draw_counter.js";
import { drawGrid } from "./draw_ruler.js";
import { drawBoxes, drawLabels } from "./draw_slices.js";
import { drawGaps } from "./gaps.js";
import { makeHeader, updateHeader } from "./headers.js";
import { bodyTop, heightOfAll, rowIndexAt } from "./model.js";

/** How far the canvas reaches beyond what is on screen. */
export const BEYOND = 160;

export class Pane {
	/** @type {Map<string, HTMLElement>} */
	shown = new Map();
	top = 0;
	bottom = 0;

	/**
	 * @param {App} app @param {HTMLElement} element which scrolls @param {() => Row[]} rowsOf
	 * @param {() => void} scrolled told when it has to be drawn anew
	 */
	constructor(app, element, rowsOf, scrolled) {
		this.app = app;
		this.element = element;
		this.rowsOf = rowsOf;
		this.canvas = h("canvas.boxes", { "aria-hidden": "true" });
		this.headers = h("div.headers", { role: "list", "aria-label": "Tracks" });
		this.content = h("div.content", this.headers, this.canvas);
		element.append(this.content);
		this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d", { alpha: false }));
		this.boxes = new BoxList();
		element.onscroll = () => {
			const y = element.scrollTop;
			const isDrawn = y >= this.top && y + element.clientHeight <= this.bottom;
			if (isDrawn || this.bottom >= heightOfAll(this.rowsOf())) this.app.emit("over");
			if (!isDrawn) scrolled();
		};
	}

	/** Makes the pane as high as its rows. */
	layout() {
		this.content.style.height = `${heightOfAll(this.rowsOf())}px`;
	}

	/** @param {Scale} scale */
	draw(scale) {
		const rows = this.rowsOf();
		const height = this.element.clientHeight;
		this.top = Math.max(0, this.element.scrollTop - BEYOND);
		this.bottom = Math.min(Math.max(heightOfAll(rows), height), this.element.scrollTop + height + BEYOND);
		const { context, boxes } = this;
		const ratio = sizeCanvas(context, scale.width, height + 2 * BEYOND, this.top);
		this.canvas.style.transform = `translateY(${this.top}px)`;
		const { app } = this;
		const { theme } = app;
		paint(context, theme.background, 0, this.top, scale.width, height + 2 * BEYOND);
		/** @type {Row[]} */
		const visible = [];
		for (let i = rowIndexAt(rows, this.top); i < rows.length && rows[i].y < this.bottom; i++) visible.push(rows[i]);
		this.drawBackground(visible, scale);
		// When there are too many boxes, more of them are joined.
		do {
			boxes.begin();
			for (const row of visible) this.drawRow(row, scale, ratio);
		} while (boxes.isTooFull);
		drawBoxes(context, boxes, theme);
		drawLabels(context, boxes, theme, app.cropper, (i) => app.textOf(boxes.kind[i], boxes.name[i]), scale.width);
		for (const row of visible) drawGaps(context, app.gaps.of(row), row, scale, theme);
		this.showHeaders(visible);
	}

	/** Lines between tracks, bands for headers of processes, and what lies outside the trace. @param {Row[]} rows @param {Scale} scale */
	drawBackground(rows, scale) {
		const { context, top } = this;
		const { theme, meta } = this.app;
		for (const row of rows) {
			if (row.isContainer) paint(context, theme.stripe, 0, row.y, scale.width, row.height);
			paint(context, theme.line, 0, row.y + row.height - 1, scale.width, 1);
		}
		const height = this.bottom - top;
		drawGrid(context, scale, top, height, theme);
		const [left, right] = [scale.x(0), scale.x(meta.end)];
		if (left > 0) paint(context, theme.stripe, 0, top, left, height);
		if (right < scale.width) paint(context, theme.stripe, right, top, scale.width - right, height);
	}

	/** @param {Row} row @param {Scale} scale @param {number} ratio */
	drawRow(row, scale, ratio) {
		const { y, strip, stripHeight, body, rowHeight, depths } = row;
		if (row.isContainer && !row.open) this.drawFolded(row, scale);
		if (strip) {
			const place = { y: y + 2, rowHeight: stripHeight, boxHeight: stripHeight, depths: 1 };
			this.addBoxes(strip, place, scale, ratio);
		}
		if (body?.kind === "counter") this.drawValues(row, body, scale);
		else if (body) this.addBoxes(body, { y: y + bodyTop(row), rowHeight, boxHeight: rowHeight - 1, depths }, scale, ratio);
	}

	/** @param {TrackNode} node @param {Pick<import("./boxes.js").Place, "y" | "rowHeight" | "boxHeight" | "depths">} place @param {Scale} scale @param {number} ratio */
	addBoxes({ lane }, place, scale, ratio) {
		if (lane === null) return;
		const { app } = this;
		const kind = app.kindOf(lane);
		const pieces = app.tiles.cover("tiles", lane, scale);
		const colouring = kind === BOX_SLICE ? app.colouringOf(lane) : null;
		this.boxes.add(pieces, { ...place, lane, kind, colouring, painter: app.painterOf(kind) }, scale, ratio);
	}

	/** @param {Row} row @param {TrackNode} node @param {Scale} scale */
	drawValues(row, node, scale) {
		const { theme, model, tiles, ranges, meta } = this.app;
		const lanes = [node, ...(row.mode === "shared" ? model.alike(node.id) : [])].map(({ lane }) => lane ?? 0);
		const [pieces] = lanes.map((lane) => tiles.cover("counters", lane, scale));
		const hex = PALETTE[colourOfName(node.name) % 8];
		const background = theme.background.slice(1);
		const colours = { fill: mixed(hex, background, 0.62), edge: `#${hex}`, band: mixed(hex, background, 0.3) };
		drawCounter(this.context, pieces, row, scale, ranges.of(lanes), colours, theme, meta.end);
	}

	/** How busy what is folded was. @param {Row} row @param {Scale} scale */
	drawFolded(row, scale) {
		const id = row.node.density;
		const density = id != null && this.app.densities.get(id, scale);
		if (!density) return;
		const colour = row.kind === "group" ? this.app.theme.muted : `#${PALETTE[colourOfProcess(row.node.name)]}`;
		const [x0, x1] = [scale.x(density.start), scale.x(density.end)];
		drawDensity(this.context, density.shares, colour, x0, x1, row.y + 3, row.height - 6, scale.width);
	}

	/** Other tracks stand in the rows. */
	forgetHeaders() {
		this.headers.replaceChildren();
		this.shown.clear();
	}

	/** @param {Row[]} rows */
	showHeaders(rows) {
		const keep = new Set(rows.map(({ key }) => key));
		for (const [key, element] of this.shown) {
			if (keep.has(key)) continue;
			element.remove();
			this.shown.delete(key);
		}
		// Headers follow one another as the rows do, for those who go through them with the keyboard.
		let next = this.headers.firstElementChild;
		for (const row of rows) {
			let element = this.shown.get(row.key);
			if (!element) {
				element = makeHeader(this.app, row, this.rowsOf);
				this.shown.set(row.key, element);
			}
			if (element === next) next = next.nextElementSibling;
			else this.headers.insertBefore(element, next);
			updateHeader(element, row);
		}
	}

	/** The row at a height of the pane's window. @param {number} y @returns {Row | undefined} */
	rowAt(y) {
		const rows = this.rowsOf();
		const at = y + this.element.scrollTop;
		return at < 0 ? undefined : rows[rowIndexAt(rows, at)];
	}

	/** The box at a point of the pane's window, -1 if there is none. @param {number} x @param {number} y */
	boxAt(x, y) {
		return this.boxes.at(x, y + this.element.scrollTop);
	}

	/** What a box is, as a selection. @param {number} i @returns {Chosen} */
	selectionOf(i) {
		const { boxes, app } = this;
		const lane = boxes.lane[i];
		return {
			table: app.model.byLane.get(lane)?.table ?? "",
			id: boxes.id[i],
			lane,
			depth: boxes.depth[i],
			start: boxes.start[i],
			end: boxes.end[i],
			name: app.textOf(boxes.kind[i], boxes.name[i]),
		};
	}
}
