// app.js - what the page knows: the trace, its tracks, what is selected, marked, looked for and shown. Its parts listen
// for changes, and draw; none of them holds another.
import { AT_ROW } from "./answers.js";
import { BOX_SCHED, BOX_SLICE, BOX_STATE } from "./boxes.js";
import { Camera } from "./camera.js";
import {
	COLOUR_NONE,
	COLOURINGS,
	COLOUR_STATES,
	PALETTE,
	STATE,
	colourOfDuration,
	colourOfProcess,
	colourOfState,
	colourOfValue,
	stateText,
	themeOf,
} from "./colour.js";
import { Ranges } from "./draw_counter.js";
import { Densities } from "./densities.js";
import { Gaps } from "./gaps.js";
import { Model, matcherOf } from "./model.js";
import { Names } from "./names.js";
import { Cropper } from "./text.js";
import { TileStore } from "./tiles.js";
import { Clock } from "./time.js";

/** How long the mouse rests on a slice until its flows are asked for. */
const REST_MS = 120;
const UNKNOWN = { text: "", colour: COLOUR_NONE, lit: true };

/**
 * The parts of the state that listeners are told about when they change. After "view" the whole timeline is drawn again; after
 * "over" only the overlay is, with the cursor and the selection; "rows" is told before it when the tracks or their order have changed.
 * "sql", "drawer" and "help" ask for a part of the page to be opened.
 * @typedef {"view" | "over" | "rows" | "selection" | "area" | "notes" | "hits" | "clock" | "theme" | "colours" | "sql" | "drawer" | "help"} Change
 */

export class App {
	ranges = new Ranges();
	clock = new Clock();
	cropper = new Cropper();
	/** @type {Chosen | null} */
	selection = null;
	/** @type {Area | null} */
	area = null;
	/** The second slice of a measurement. @type {Chosen | null} */
	measured = null;
	/** @type {Flow[]} */
	flows = [];
	/** The one of them that is chosen. @type {Flow | null} */
	flow = null;
	/** The slice under the mouse, and its flows once the mouse has rested there. @type {Chosen | null} */
	pointed = null;
	/** @type {Flow[]} */
	pointedFlows = [];
	restTimer = 0;
	/** @type {Note[]} */
	notes = [];
	/** @type {SearchAnswer | null} */
	hits = null;
	hitIndex = -1;
	isLearning = false;
	/** Answers that the page waits for. */
	waiting = 0;
	/** @type {Map<Change, (() => void)[]>} */
	listeners = new Map();
	/** Shows a result of SQL as a track, if the source knows SQL. @type {(sql: string, kind: "slices" | "counter") => Promise<void>} */
	showSql = async () => {};
	/** Shows a result of SQL in the panel, and pins it as well. @type {(sql: string, isPinned: boolean) => void} */
	askSql = () => {};

	/** @param {Source} source @param {Meta} meta @param {TrackTree} tree */
	constructor(source, meta, tree) {
		this.source = source;
		this.meta = meta;
		this.tree = tree;
		this.model = new Model(tree);
		this.names = new Names((ids) => source.names(ids));
		this.gaps = new Gaps(meta.gaps);
		this.clock.end = meta.end;
		this.clock.wallStart = meta.realtime_start_ns === null ? null : BigInt(meta.realtime_start_ns);
		this.camera = new Camera(meta.end, () => matchMedia("(prefers-reduced-motion: reduce)").matches);
		const changed = () => this.emit("view");
		this.tiles = new TileStore(source, meta.end, (tiles, wants) => this.prepare(tiles, wants), changed);
		this.densities = new Densities(source, meta.end, changed);
		this.theme = themeOf(document.documentElement);
		/** What the colours of slices tell, and what they can tell. @type {Colouring} */
		this.colouring = "name";
		/** @type {Colouring[]} */
		this.colourings = [...COLOURINGS];
		/** The values of the argument that they tell. */
		this.values = new Names(async () => []);
		this.learnTree();
	}

	/** Takes over a later state of the trace. What the user has done stays. @param {App} next */
	adopt(next) {
		const { mode } = this.clock;
		for (const request of this.tiles.requests) request.abort.abort();
		for (const part of "source meta gaps tree model names values ranges clock tiles densities threads states".split(" "))
			/** @type {any} */ (this)[part] = /** @type {any} */ (next)[part];
		this.clock.mode = mode;
	}

	/** What the tree says about threads and states. */
	learnTree() {
		/** @type {Map<number, { text: string, colour: number, lit: boolean }>} */
		this.threads = new Map();
		const processes = new Map(this.tree.processes.map(([upid, pid, name]) => [upid, name ?? `process ${pid}`]));
		for (const [utid, tid, name, upid] of this.tree.threads) {
			const process = processes.get(upid ?? -1);
			const text = `${name ?? "thread"} ${tid}`;
			// The kernel's idle thread is the background.
			const colour = tid === 0 ? COLOUR_STATES + STATE.idle : colourOfProcess(process ?? name ?? "");
			this.threads.set(utid, { text, colour, lit: true });
		}
		this.states = this.tree.states.map((state) => ({
			text: stateText(state),
			colour: COLOUR_STATES + colourOfState(state),
			lit: true,
		}));
	}

	/** @param {Change | Change[]} changes @param {() => void} listener */
	on(changes, listener) {
		for (const change of [changes].flat()) this.listeners.set(change, [...(this.listeners.get(change) ?? []), listener]);
	}

	/** @param {...Change} changes */
	emit(...changes) {
		for (const change of changes) for (const listener of this.listeners.get(change) ?? []) listener();
		if (changes.includes("rows")) this.emit("view");
	}

	/** Makes tiles usable: their names and the ranges of counters are known. @param {Tile[]} tiles @param {{ kind: TileKind, lane: number }[]} wants */
	async prepare(tiles, wants) {
		const named = tiles.filter((_, i) => wants[i].kind === "tiles" && this.kindOf(wants[i].lane) === BOX_SLICE);
		await this.names.learn(named);
		await this.values.learn(tiles.filter((_, i) => this.argumentOf(wants[i].lane)));
		wants.forEach(({ kind, lane }, i) => {
			if (kind === "counters") this.ranges.learn(lane, tiles[i]);
		});
	}

	/** @param {number} lane */
	kindOf(lane) {
		const kind = this.model.byLane.get(lane)?.kind;
		return kind === "states" ? BOX_STATE : kind === "sched" ? BOX_SCHED : BOX_SLICE;
	}

	/** @param {number} kind of a box @returns {Painter} */
	painterOf(kind) {
		if (kind === BOX_STATE) return (index) => this.states?.[index] ?? UNKNOWN;
		if (kind === BOX_SCHED) return (utid) => this.threads?.get(utid) ?? UNKNOWN;
		return (id) => this.names.get(id) ?? UNKNOWN;
	}

	/** The key of the argument that the colours of a lane tell; "": they tell something else. @param {number} lane */
	argumentOf(lane) {
		const isTold = this.colouring[0] === "." && this.model.byLane.get(lane)?.table === "slice";
		return isTold ? this.colouring.slice(1) : "";
	}

	/** How the slices of a lane are coloured, unless by their names. @param {number} lane @returns {import("./boxes.js").Colouring} */
	colouringOf(lane) {
		const { colouring } = this;
		if (this.argumentOf(lane)) return (_, __, row) => this.values.get(row)?.colour ?? COLOUR_NONE;
		if (colouring === "category") return (category) => (category > 0 ? category % PALETTE.length : COLOUR_NONE);
		if (colouring === "duration") return (_, duration) => colourOfDuration(duration);
		if (colouring !== "process") return null;
		const process = this.model.processOf(lane);
		const colour = process ? colourOfProcess(process.name) : COLOUR_NONE;
		return () => colour;
	}

	/** @param {Colouring} colouring */
	colourBy(colouring) {
		this.colouring = colouring;
		if (colouring[0] === ".") {
			const key = colouring.slice(1);
			this.colourings[COLOURINGS.length] = colouring;
			const ask = async (/** @type {number[]} */ rows) => (await this.source.ask("argument", { key, rows })).values;
			this.values = new Names(ask, AT_ROW, colourOfValue);
		}
		this.emit("colours", "view");
	}

	/** Asks for the values that the colours of a frame lacked. */
	async learnValues() {
		const { values } = this;
		if (this.isLearning || values.missing.size === 0) return;
		this.isLearning = true;
		await this.during(values.learn([])).then(
			() => this.emit("view"),
			() => {},
		);
		this.isLearning = false;
	}

	/** The text of a box. @param {number} kind @param {number} name */
	textOf(kind, name) {
		return this.painterOf(kind)(name).text;
	}

	/** Waits for something; the page is not idle until it is there. @template T @param {Promise<T>} answer */
	during(answer) {
		this.waiting++;
		return answer.finally(() => this.waiting--);
	}

	/** @param {string} what @param {object} question @param {AbortSignal} [signal] */
	ask(what, question, signal) {
		return this.during(this.source.ask(what, question, signal));
	}

	/** The same, with null for an answer that cannot be had. @param {string} what @param {object} question @param {AbortSignal} [signal] */
	tryAsk(what, question, signal) {
		return this.ask(what, question, signal).catch(() => null);
	}

	/** @param {Chosen | null} selection */
	select(selection) {
		this.selection = selection;
		if (selection) selection.name ??= "";
		this.measured = null;
		this.flows = [];
		this.flow = null;
		this.area = null;
		this.emit("selection", "over");
		if (selection?.table === "slice") this.askFlows(selection, "selection", "flows");
	}

	/** Takes what is under the mouse. @param {Chosen | null} slice */
	point(slice) {
		if (slice?.id === this.pointed?.id) return;
		this.pointed = slice;
		this.pointedFlows = [];
		clearTimeout(this.restTimer);
		if (!slice) return;
		this.restTimer = setTimeout(() => this.askFlows(slice, "pointed", "pointedFlows"), REST_MS);
	}

	/** Keeps the flows of a slice that is still selected or pointed at when they are there. @param {Chosen} slice @param {"selection" | "pointed"} as @param {"flows" | "pointedFlows"} member */
	async askFlows(slice, as, member) {
		const answer = await this.tryAsk("flows", { table: slice.table, id: slice.id });
		if (this[as] !== slice || !answer) return;
		this[member] = answer.flows;
		this.emit("over");
	}

	/** Opens or folds a track. @param {number} id */
	fold(id) {
		this.model.fold(id);
		this.emit("rows");
	}

	/** Pins a track, or takes it down again. @param {number} id */
	pin(id) {
		this.model.pin(id);
		this.emit("rows");
	}

	/** Shows a counter in another way; those that share a scale begin and end to do so together. @param {number} id @param {CounterMode} mode */
	showCounter(id, mode) {
		const { modes } = this.model;
		const isShared = mode === "shared" || modes.get(id) === "shared";
		for (const node of this.model.alike(id)) if (isShared || node.id === id) modes.set(node.id, mode);
		this.model.layout();
		this.emit("rows");
	}

	/** Selects an event, opens its track and moves there. @param {Chosen} selection */
	reveal(selection) {
		this.model.reveal(selection.lane);
		this.camera.show(selection.start, selection.end);
		this.select(selection);
		this.emit("rows");
	}

	/** Selects an event of which only the id is known. @param {string} table @param {number} id */
	async revealId(table, id) {
		/** @type {Detail | null} */
		const detail = await this.tryAsk("detail", { table, id });
		if (detail?.lane == null) return;
		const { lane, depth = 0, start, end, name } = detail;
		this.reveal({ table, id, lane, depth, start, end, name: /** @type {string} */ (name) });
	}

	/** The event of a lane that begins at a time. @param {number} lane @param {number} depth @param {number} start @returns {Promise<Chosen | null>} */
	async eventAt(lane, depth, start) {
		const found = await this.tryAsk("neighbour", { lane, depth, time: start - 1, dir: 1 });
		return found?.start === start ? found : null;
	}

	/** @param {Area | null} area */
	setArea(area) {
		this.area = area;
		if (area) {
			this.selection = this.measured = null;
			this.flows = [];
		}
		this.emit("area", "over");
	}

	/** Dims the boxes whose names do not match. @param {string} text */
	light(text) {
		this.names.light(matcherOf(text));
		this.emit("view");
	}

	/** @param {Note} note */
	addNote(note) {
		if (!note.kept) this.notes = this.notes.filter(({ kept }) => kept);
		this.notes.push(note);
		this.notes.sort((a, b) => a.time - b.time);
		this.emit("notes", "over");
	}

	/** @param {Note} note */
	removeNote(note) {
		this.notes = this.notes.filter((other) => other !== note);
		this.emit("notes", "over");
	}
}
