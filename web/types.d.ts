/*
 * types.d.ts - the shapes that the modules of the page share. Only the type checker reads this file.
 * Times are nanoseconds since the trace's start, as numbers, unless their name says otherwise.
 */

type App = import("./app.js").App;
type BoxList = import("./boxes.js").BoxList;
type Colouring = import("./colour.js").Colouring;
type Cropper = import("./text.js").Cropper;
type CounterMode = import("./draw_counter.js").CounterMode;
type Drawer = import("./drawer.js").Drawer;
type Pane = import("./pane.js").Pane;
type Queries = import("./queries.js").Queries;
type Painter = import("./boxes.js").Painter;
type Scale = import("./time.js").Scale;
type Tab = import("./drawer.js").Tab;
type TableOptions = import("./table.js").TableOptions;
type Timeline = import("./timeline.js").Timeline;

/** The element that a selector like "button.close" names. */
type ElementOf<S extends string> = S extends `${infer Tag}.${string}`
	? ElementOf<Tag>
	: S extends keyof HTMLElementTagNameMap
		? HTMLElementTagNameMap[S]
		: HTMLElement;

type NodeKind = "group" | "process" | "thread" | "slices" | "states" | "sched" | "counter" | "losses";
type TileKind = "tiles" | "counters";

/** A node of the track tree. Parents come before their children. */
interface TrackNode {
	id: number;
	parent: number;
	kind: NodeKind;
	name: string;
	lane: number | null;
	rows: number;
	unit?: string | null;
	events: number;
	open: boolean;
	upid?: number | null;
	utid?: number | null;
	cpu?: number | null;
	density?: number | null;
	table?: string | null;
	/** What made it, if it is not in the trace. */
	sql?: string;
}

interface TrackTree {
	generation: number;
	nodes: TrackNode[];
	threads: [number, number, string | null, number | null][];
	processes: [number, number, string | null][];
	states: string[];
}

interface Loss {
	what: string;
	count: number;
	severity: "data_loss" | "error" | "info";
	stat: string;
}

/** A time in which data were lost, of a thread or a CPU if that is known. */
interface Gap {
	start: number;
	end: number;
	what: string;
	utid: number | null;
	cpu: number | null;
}

/** Samples, or the heap of a process; `source` is what flame graphs call it. */
interface Profile {
	source: string;
	name: string;
	measure: string;
	unit: string;
	count: number;
}

interface Meta {
	generation: number;
	title: string;
	start_ns: string;
	end: number;
	realtime_start_ns: string | null;
	counts: Record<string, number>;
	host: Record<string, string | number>;
	losses: Loss[];
	gaps: Gap[];
	profiles?: Profile[];
	/** The trace grows. */
	live?: boolean;
	format: number;
}

interface Progress {
	loading: boolean;
	read_bytes: number;
	all_bytes: number;
	error: string | null;
}

/** The boxes, or the points of a counter, of one lane in one stretch of time: 32 bytes each, through two views. */
interface Tile {
	count: number;
	f64: Float64Array;
	u32: Uint32Array;
	bytes: number;
}

interface TilePair {
	lane: number;
	tile: number;
}

/** What a row of a table is called by the server. */
interface EventRef {
	table: string;
	id: number;
}

/** An event that is selected; the place is known when it was clicked, and comes with the details otherwise. */
interface Chosen extends EventRef {
	lane: number;
	depth: number;
	start: number;
	end: number;
	name: string;
}

/** A range of time on some tracks; no nodes are all. */
interface Area {
	start: number;
	end: number;
	nodes: number[];
}

interface Note {
	time: number;
	text: string;
	colour: number;
	kept: boolean;
}

interface AnswerTable {
	sql?: string;
	columns: string[];
	rows: (string | number | null)[][];
}

interface SqlAnswer extends AnswerTable {
	total: number;
	ms: number;
	truncated: boolean;
}

interface ArgNode {
	key: string;
	value?: string | number | boolean | null;
	children?: ArgNode[];
}

interface FlowEnd extends EventRef {
	name?: string;
	start: number;
	end: number;
	lane: number;
	depth: number;
}

interface Detail {
	table: string;
	id: number;
	name: string | null;
	category?: string | null;
	start: number;
	end: number;
	/** null: it has not finished */
	dur: number | null;
	self?: number | null;
	thread_dur?: number | null;
	abs?: Record<string, string>;
	track?: number | null;
	lane?: number | null;
	depth?: number;
	thread?: string | null;
	process?: string | null;
	cpu?: number | null;
	priority?: number;
	end_state?: string | null;
	io_wait?: number | null;
	blocked_function?: string | null;
	waker?: string | null;
	delta?: number | null;
	share_of_parent?: number | null;
	value?: number | null;
	rank?: { place: number; of: number; p50: number; p99: number; histogram: number[] } | null;
	args?: ArgNode[];
	time?: { running: number; runnable: number; blocked: { state: string; ns: number; waker?: string | null }[] } | null;
	parents?: FlowEnd[];
	children?: { name: string; count: number; total: number }[];
	flows?: { in: DetailFlow[]; out: DetailFlow[] };
	stack?: string[];
	source?: string | null;
	sql?: string;
	/** Those of the tables that are about a slice. */
	queries?: { parents: string; children: string; flows: string; time?: string };
}

interface DetailFlow extends FlowEnd {
	thread: string | null;
	latency: number;
}

interface Flow {
	from: FlowEnd;
	to: FlowEnd;
}

interface AreaAnswer {
	slices?: AnswerTable;
	cpu?: AnswerTable;
	states?: AnswerTable;
	counters?: AnswerTable;
}

/** The last two are there when two profiles are compared: what the node has in each of them. */
type FlameRow = [number, number, string, number, number, number, number?, number?];

interface FlameAnswer {
	sql?: string;
	nodes: FlameRow[];
	/** "ns", "bytes", "samples" or another. */
	unit: string;
	/** What each of two profiles has in all. */
	sides?: number[];
}

interface FindAnswer {
	name: string;
	histogram: number[];
	count: number;
	sum: number;
	p50: number;
	p90: number;
	p99: number;
	top: (FlowEnd & { thread?: string | null })[];
	sql?: string;
}

interface SearchHit extends Chosen {}

interface SearchAnswer {
	total: number;
	in?: "names" | "arguments";
	hits: SearchHit[];
	density: number[];
}

/** Where the page gets its data: from `orma view` over HTTP, or from the report that contains it. */
interface Source {
	open(): Promise<void>;
	/** The same for questions about one state of a live trace, or about the newest. */
	at(generation?: number): Source;
	boxes(kind: TileKind, level: number, pairs: TilePair[], signal: AbortSignal): Promise<Tile[]>;
	density(start: number, end: number, buckets: number, ids: number[]): Promise<Uint8Array[]>;
	/** The names with these numbers. */
	names(ids: number[]): Promise<(string | null)[]>;
	/** Questions that are answered as JSON: meta, tracks, detail, area, flame, flows, find, search, neighbour, sql. */
	ask(what: string, question?: object, signal?: AbortSignal): Promise<any>;
	/** Counts of what went over the wire, for tests. */
	traffic: { requests: number; bytes: number };
}

/** A stretch of rows of the page that belong together: a track with its header. */
interface Row {
	key: string;
	node: TrackNode;
	kind: NodeKind;
	/** Whether it only holds others: a group or a process. */
	isContainer: boolean;
	title: string;
	y: number;
	height: number;
	indent: number;
	/** The lane of thread states that is drawn above the slices, and its height. */
	strip: TrackNode | null;
	stripHeight: number;
	/** The node whose boxes or points are drawn. */
	body: TrackNode | null;
	/** How a counter is shown. */
	mode: CounterMode;
	/** How many depths are drawn, and how high one is. */
	depths: number;
	rowHeight: number;
	foldable: boolean;
	open: boolean;
	pinned: boolean;
}

interface Piece {
	tile: Tile;
	from: number;
	to: number;
}

interface Theme {
	dark: boolean;
	background: string;
	stripe: string;
	line: string;
	grid: string;
	text: string;
	muted: string;
	accent: string;
	accentSoft: string;
	loss: string;
	select: string;
	bar: string;
	fills: string[];
	inks: string[];
	font: string;
	smallFont: string;
}
