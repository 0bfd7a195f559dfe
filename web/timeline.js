// timeline.js - draws the frames: map, ruler, the pinned and the other tracks, and what lies over them. A frame is drawn only
// when something has changed; frames() is the only loop of the page.
import { sizeCanvas } from "./canvas.js";
import { byId, h } from "./dom.js";
import { drawArea, drawCursor, drawFlow, drawNote, drawOutline, drawSpan } from "./draw_overlay.js";
import { drawMap, drawRuler } from "./draw_ruler.js";
import { heightOfAll, bodyTop } from "./model.js";
import { BEYOND, Pane } from "./pane.js";
import { Scale, durationText } from "./time.js";

const RULER_HEIGHT = 24;
const MAP_HEIGHT = 44;
const MOST_PINNED = 0.4;
const MOST_LAYERS = 24;
const MOST_OUTLINES = 400;

export class Timeline {
	isQueued = false;
	/** What a gesture shows while it lasts. @type {Area | null} */
	draft = null;
	/** @type {{ name: string, shares: Uint8Array }[]} */
	layers = [];
	layersWidth = 0;
	frameMs = 0;
	frames = 0;

	/** @param {App} app */
	constructor(app) {
		this.app = app;
		const redraw = () => this.redraw();
		this.pinned = new Pane(app, byId("pinned"), () => app.model.pinned, redraw);
		this.tracks = new Pane(app, byId("tracks"), () => app.model.rows, redraw);
		this.panes = [this.pinned, this.tracks];
		this.element = byId("timeline");
		this.map = contextIn("minimap");
		this.ruler = contextIn("ruler");
		this.over = contextIn("overlay");
		this.scale = new Scale(0, 1, 1);
		this.isDirty = this.isOverDirty = true;
		/** Where the mouse is in the window of the tracks, and over which box. */
		this.hover = { x: -1, y: -1, pane: this.tracks, box: -1 };
		this.told = app.camera.target;
		/** Called in each frame, for movements that go on while a key is held. @type {(now: number) => boolean} */
		this.tick = () => false;
		app.on(["view", "theme", "clock", "hits"], redraw);
		app.on(["over", "notes"], () => this.redrawOver());
		app.on("rows", () => this.layout());
		let height = this.element.clientHeight;
		new ResizeObserver(() => {
			const before = height;
			height = this.element.clientHeight;
			// It is called once although nothing has changed.
			if (height === before && this.width === this.scale.width) return;
			this.layout();
			// The details that open for a selection must not hide it.
			if (height < before && app.selection) this.scrollTo(app.selection.lane);
		}).observe(this.element);
		this.layout();
	}

	/** Gives the parts their sizes. */
	layout() {
		const pinned = heightOfAll(this.app.model.pinned);
		this.pinned.element.style.height = `${Math.min(pinned, this.element.clientHeight * MOST_PINNED)}px`;
		for (const pane of this.panes) pane.layout();
		this.redraw();
	}

	/** The width of the boxes' area. */
	get width() {
		const head = parseFloat(getComputedStyle(this.element).getPropertyValue("--head"));
		return Math.max(50, this.tracks.element.clientWidth - head);
	}

	/** The time under the mouse, or else in the middle of the screen. */
	get time() {
		return this.hover.x >= 0 ? this.scale.time(this.hover.x) : this.app.camera.middle;
	}

	/** @param {{ start: number, end: number }} range */
	scaleOf({ start, end }) {
		return new Scale(start, end, this.width);
	}

	redraw() {
		this.isDirty = true;
		this.redrawOver();
	}

	/** @param {import("./actions.js").Action} action */
	act(action) {
		action(this);
		this.redraw();
	}

	redrawOver() {
		this.isOverDirty = true;
		if (this.isQueued) return;
		this.isQueued = true;
		requestAnimationFrame((now) => this.frame(now));
	}

	/** @param {number} now */
	frame(now) {
		this.isQueued = false;
		const begun = performance.now();
		const isHeld = this.tick(now);
		// A new target of the camera is told once, however it was set.
		const { target } = this.app.camera;
		if (this.told !== target) {
			this.told = target;
			this.app.emit("view");
		}
		if (this.app.camera.step(now)) this.isDirty = true;
		if (this.isDirty) this.draw();
		if (this.isOverDirty) this.drawOver();
		this.frameMs = performance.now() - begun;
		this.frames++;
		if (this.app.camera.moving || isHeld) this.redraw();
	}

	draw() {
		this.isDirty = false;
		const { app } = this;
		const width = this.width;
		this.scale = this.scaleOf(app.camera);
		// The first answers are made while the empty frame is drawn.
		if (this.frames === 0) this.askTiles(app, this.scale);
		this.askLayers(width);
		if (app.cropper.cache.size === 0) {
			this.over.font = app.theme.font;
			app.cropper.measure(this.over);
		}
		for (const pane of this.panes) {
			if (pane.element.clientHeight > 0) pane.draw(this.scale);
		}
		sizeCanvas(this.ruler, width, RULER_HEIGHT);
		drawRuler(this.ruler, this.scale, RULER_HEIGHT, app);
		this.drawMap();
		app.tiles.endFrame();
		app.densities.endFrame(this.scale);
		app.learnValues();
		this.isOverDirty = true;
	}

	drawMap() {
		const { width } = this.scale;
		sizeCanvas(this.map, width, MAP_HEIGHT);
		drawMap(this.map, width, MAP_HEIGHT, this.app, this.layers);
	}

	/** Asks for the tiles that a frame needs, before it is drawn. @param {App} app @param {Scale} scale */
	askTiles(app, scale) {
		const { scrollTop, clientHeight } = this.tracks.element;
		const [top, bottom] = [scrollTop - BEYOND, scrollTop + clientHeight + BEYOND];
		const rows = app.model.rows.filter(({ y, height }) => y + height > top && y < bottom);
		for (const node of [...app.model.pinned, ...rows].flatMap(({ strip, body }) => [strip, body])) {
			if (node?.lane == null) continue;
			app.tiles.cover(node.kind === "counter" ? "counters" : "tiles", node.lane, scale);
		}
		app.tiles.endFrame();
	}

	/** Asks for the map of the whole trace when its width changes. @param {number} width */
	async askLayers(width) {
		if (this.layersWidth === width || this.app.meta.end === 0) return;
		this.layersWidth = width;
		const { nodes } = this.app.model;
		const busy = nodes.filter(({ kind, density }) => kind === "process" && density != null);
		busy.sort((a, b) => b.events - a.events || a.id - b.id);
		const shown = busy.slice(0, MOST_LAYERS).sort((a, b) => a.id - b.id);
		const ids = shown.length > 0 ? shown.map(({ density }) => density ?? 0) : [0xffffffff];
		const buckets = Math.min(4096, Math.max(1, Math.round(width / 2)));
		const rows = await this.app.during(this.app.source.density(0, this.app.meta.end, buckets, ids)).catch(() => []);
		this.layers = rows.map((shares, i) => ({ name: shown[i]?.name ?? "", shares }));
		this.drawMap();
	}

	drawOver() {
		this.isOverDirty = false;
		const { app, over } = this;
		const { width } = this.scale;
		const height = RULER_HEIGHT + this.pinned.element.clientHeight + this.tracks.element.clientHeight;
		sizeCanvas(over, width, height);
		over.clearRect(0, 0, width, height);
		const area = this.draft ?? app.area;
		if (area) drawArea(over, this.scale, area, height, this.tintedRows(area.nodes, height), app);
		over.save();
		over.beginPath();
		over.rect(0, RULER_HEIGHT, width, height - RULER_HEIGHT);
		over.clip();
		this.drawHover();
		if (this.hover.box >= 0 && app.pointed?.id !== app.selection?.id) this.drawFlows(app.pointedFlows, app.theme.muted);
		this.drawSelection();
		over.restore();
		for (const note of app.notes) drawNote(over, note, this.scale.x(note.time), height, app.theme);
		if (this.hover.x >= 0 && !this.draft) drawCursor(over, this.scale, this.hover.x, height, app);
	}

	/** The rows that belong to an area, in the window. @param {number[]} nodes @param {number} height */
	tintedRows(nodes, height) {
		if (nodes.length === 0) return [{ y: RULER_HEIGHT, h: height - RULER_HEIGHT }];
		const { model } = this.app;
		const inside = new Set(nodes);
		return model.rows
			.filter((row) => model.nodesIn(row).some((id) => inside.has(id)))
			.map((row) => ({ y: this.windowY(this.tracks, row.y), h: row.height }))
			.filter(({ y, h: rowHeight }) => y + rowHeight > 0 && y < height);
	}

	/** @param {Pane} pane @param {number} y in the pane's content */
	windowY(pane, y) {
		return RULER_HEIGHT + (pane === this.tracks ? this.pinned.element.clientHeight : 0) + y - pane.element.scrollTop;
	}

	/** Where a box of a lane is, or would be. @param {{ lane: number, depth: number, start: number, end: number }} box */
	spotOf({ lane, depth, start, end }) {
		const pinned = this.app.model.pinned.find((row) => row.strip?.lane === lane || row.body?.lane === lane);
		const row = pinned ?? this.app.model.rowOfLane(lane);
		if (!row) return null;
		const pane = pinned ? this.pinned : this.tracks;
		const isStrip = row.strip?.lane === lane;
		const isBody = row.body?.lane === lane;
		const top = isStrip ? 2 : isBody ? bodyTop(row) + Math.min(depth, row.depths - 1) * row.rowHeight : 2;
		const height = isStrip ? row.stripHeight : isBody ? row.rowHeight - 1 : row.height - 4;
		const x0 = this.scale.x(start);
		return { x0, x1: Math.max(x0 + 1, this.scale.x(end)), y: this.windowY(pane, row.y + top), h: height };
	}

	/** Outlines what the mouse is over, and all that have its name. */
	drawHover() {
		const { pane, box } = this.hover;
		const { boxes } = pane;
		if (box < 0 || box >= boxes.length) return;
		let left = MOST_OUTLINES;
		for (const other of this.panes) {
			const { name, kind, w, length } = other.boxes;
			for (let i = 0; i < length && left > 0; i++) {
				const isSame = name[i] === boxes.name[box] && kind[i] === boxes.kind[box];
				if (!isSame || w[i] < 3 || kind[i] === 1) continue;
				const spot = this.spotOfBox(other, i);
				if (spot.y + spot.h > 0) drawOutline(this.over, spot, this.app.theme.text, 1);
				left--;
			}
		}
		drawOutline(this.over, this.spotOfBox(pane, box), this.app.theme.text, 2);
	}

	/** @param {Pane} pane @param {number} i */
	spotOfBox(pane, i) {
		const { x, y, w, h: height } = pane.boxes;
		return { x0: x[i], x1: x[i] + w[i], y: this.windowY(pane, y[i]), h: height[i] };
	}

	/** @param {Flow[]} flows @param {string} colour */
	drawFlows(flows, colour) {
		for (const flow of flows) {
			const [from, to] = [this.spotOf(flow.from), this.spotOf(flow.to)];
			const latency = flow.to.start - flow.from.end;
			if (from && to) drawFlow(this.over, from, to, colour, this.scale.width, latency, this.app.theme);
		}
	}

	drawSelection() {
		const { app, over } = this;
		const { width } = this.scale;
		const { selection } = app;
		if (!selection) return;
		const spot = this.spotOf(selection);
		if (!spot) return;
		this.drawFlows(app.flows, app.flow ? app.theme.muted : app.theme.select);
		if (app.flow) this.drawFlows([app.flow], app.theme.select);
		const shown = { ...spot, x0: Math.max(-4, spot.x0), x1: Math.min(width + 4, spot.x1) };
		if (shown.x1 > shown.x0) drawOutline(over, shown, app.theme.select, 3);
		if (app.measured) this.drawGap(selection, app.measured);
	}

	/** How far two selected slices are apart. @param {Chosen} a @param {Chosen} b */
	drawGap(a, b) {
		const spot = this.spotOf(b);
		if (!spot) return;
		drawOutline(this.over, spot, this.app.theme.accent, 2);
		const [first, second] = a.start <= b.start ? [a, b] : [b, a];
		const gap = second.start - first.end;
		const [x0, x1] = [this.scale.x(first.end), this.scale.x(second.start)].sort((p, q) => p - q);
		drawSpan(this.over, x0, x1, spot.y - 10, `gap ${durationText(gap)}`, this.app.theme);
	}

	/** What is at a point of the window of the tracks. @param {{ x: number, y: number }} point @returns {{ pane: Pane, box: number, row: Row | undefined }} */
	hit({ x, y }) {
		const below = y - RULER_HEIGHT - this.pinned.element.clientHeight;
		const pane = below < 0 ? this.pinned : this.tracks;
		const at = below < 0 ? y - RULER_HEIGHT : below;
		return { pane, box: pane.boxAt(x, at), row: pane.rowAt(at) };
	}

	/** Scrolls so that a lane is on screen. @param {number} lane */
	scrollTo(lane) {
		const row = this.app.model.rowOfLane(lane);
		if (!row) return;
		const { element } = this.tracks;
		const isAbove = row.y < element.scrollTop;
		const isBelow = row.y + Math.min(row.height, element.clientHeight) > element.scrollTop + element.clientHeight;
		if (isAbove || isBelow) element.scrollTop = Math.max(0, row.y - element.clientHeight / 3);
		this.redraw();
	}

	/** @returns {boolean} whether nothing moves and nothing is on its way */
	get idle() {
		const { app } = this;
		const isStill = !this.isQueued && !this.isDirty && !app.camera.moving;
		return isStill && app.tiles.idle && !app.densities.busy && app.waiting === 0;
	}
}

/** @param {string} id */
function contextIn(id) {
	const canvas = h("canvas", { id: `${id}-canvas`, "aria-hidden": "true" });
	byId(id).append(canvas);
	return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}
