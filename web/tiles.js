// tiles.js - the tiles that the page has. Tile t of level k covers [t * 512 * 2^k, (t + 1) * 512 * 2^k) ns: bucket edges
// do not move while panning, so a tile is fetched once. All numbers of tiles are doubles, because levels go beyond 32 bits.
//
// A frame asks cover() for what it draws. What is missing is noted, and drawn from a coarser level, stretched, or from
// the two finer tiles below; endFrame() then asks the server for what was missing, first what is on screen, then one
// tile to each side. A request is given up when no tile of it is wanted any more.
//
// The map keeps tiles in the order of their use, so that the first one is the one to forget.

export const TILE_BUCKETS = 512;
const COARSER_LEVELS = 12;
const REQUESTS_AT_ONCE = 4;
/** An answer has a limited number of boxes; few tiles in one leave a box for each bucket of a busy lane. */
const MOST_PAIRS = 24;
const RETRY_AFTER_MS = 2000;
const MEMORY_BYTES = 32 << 20;
/** What a tile costs besides its boxes. */
const TILE_OVERHEAD = 200;

/** How much time a tile covers. @param {number} level */
export function tileSpan(level) {
	return TILE_BUCKETS * 2 ** level;
}

/** @typedef {{ kind: TileKind, lane: number, level: number, index: number, key: string }} Want */
/** @typedef {{ wants: Want[], abort: AbortController }} Request */

export class TileStore {
	/** @type {Map<string, Tile>} */
	tiles = new Map();
	bytes = 0;
	/** @type {Map<string, Want>} */
	missing = new Map();
	/** @type {Map<string, Want>} */
	beside = new Map();
	/** @type {Set<Request>} */
	requests = new Set();
	/** @type {Map<string, number>} */
	failed = new Map();

	/**
	 * @param {Source} source @param {number} end of the trace
	 * @param {(tiles: Tile[], wants: Want[]) => Promise<void>} ready prepares tiles before they are used
	 * @param {() => void} changed told when there are new ones @param {number} [memory] in bytes
	 */
	constructor(source, end, ready, changed, memory = MEMORY_BYTES) {
		this.source = source;
		this.end = end;
		this.ready = ready;
		this.changed = changed;
		this.memory = memory;
	}

	/** Nothing is on its way, and nothing is missing. */
	get idle() {
		return this.requests.size === 0;
	}

	/** @param {TileKind} kind @param {number} lane @param {number} level @param {number} index */
	get(kind, lane, level, index) {
		const key = `${kind}:${lane}:${level}:${index}`;
		const tile = this.tiles.get(key);
		if (tile) {
			this.tiles.delete(key);
			this.tiles.set(key, tile);
		}
		return tile;
	}

	/** @param {string} key @param {Tile} tile */
	put(key, tile) {
		this.bytes += tile.bytes + TILE_OVERHEAD;
		this.tiles.set(key, tile);
		for (const [oldest, old] of this.tiles) {
			if (this.bytes <= this.memory || oldest === key) break;
			this.tiles.delete(oldest);
			this.bytes -= old.bytes + TILE_OVERHEAD;
		}
	}

	/**
	 * The pieces of a lane that a scale shows, from left to right, each with the stretch that it stands for.
	 * @param {TileKind} kind @param {number} lane @param {Pick<Scale, "level" | "start" | "end">} scale
	 * @returns {Piece[]}
	 */
	cover(kind, lane, { level, start, end }) {
		const span = tileSpan(level);
		const last = Math.floor(Math.max(0, this.end) / span);
		const from = Math.max(0, Math.floor(start / span));
		const to = Math.min(last, Math.floor(end / span));
		/** @type {Piece[]} */
		const pieces = [];
		for (let index = from; index <= to; index++) {
			this.want(this.missing, kind, lane, level, index);
			this.addPieces(pieces, kind, lane, level, index);
		}
		if (from > 0 && from <= last) this.want(this.beside, kind, lane, level, from - 1);
		if (to < last && to >= 0) this.want(this.beside, kind, lane, level, to + 1);
		return pieces;
	}

	/**
	 * Adds a tile, or what can be drawn while it is missing.
	 * @param {Piece[]} pieces @param {TileKind} kind @param {number} lane @param {number} level @param {number} index
	 */
	addPieces(pieces, kind, lane, level, index) {
		const span = tileSpan(level);
		const [from, to] = [index * span, (index + 1) * span];
		const own = this.get(kind, lane, level, index);
		const [left, right] = own || level === 0 ? [] : [0, 1].map((i) => this.get(kind, lane, level - 1, 2 * index + i));
		if (left && right) {
			const middle = from + span / 2;
			pieces.push({ tile: left, from, to: middle }, { tile: right, from: middle, to });
			return;
		}
		for (let up = 0; up <= COARSER_LEVELS; up++) {
			const tile = this.get(kind, lane, level + up, Math.floor(index / 2 ** up));
			if (!tile) continue;
			const before = pieces.at(-1);
			// One coarser tile often stands for several; it is drawn once.
			if (before?.tile === tile) before.to = to;
			else pieces.push({ tile, from, to });
			return;
		}
	}

	/** Notes that a tile is needed, unless it is there. @param {Map<string, Want>} list @param {TileKind} kind @param {number} lane @param {number} level @param {number} index */
	want(list, kind, lane, level, index) {
		const key = `${kind}:${lane}:${level}:${index}`;
		if (this.tiles.has(key) || (this.failed.get(key) ?? 0) > performance.now()) return;
		list.set(key, { kind, lane, level, index, key });
	}

	/** Asks for what the frame lacked, and gives up what no frame needs any more. */
	endFrame() {
		const wanted = this.missing;
		const beside = this.beside;
		this.missing = new Map();
		this.beside = new Map();
		/** @type {Set<string>} */
		const coming = new Set();
		for (const request of this.requests) {
			const useful = request.wants.some(({ key }) => wanted.has(key) || beside.has(key));
			if (useful) for (const { key } of request.wants) coming.add(key);
			else request.abort.abort();
		}
		const first = [...wanted.values()].filter(({ key }) => !coming.has(key));
		this.send(first);
		// What lies beside can wait until the screen is complete.
		if (first.length === 0 && this.requests.size === 0) this.send([...beside.values()]);
	}

	/** One request has one kind and one level. @param {Want[]} wants */
	send(wants) {
		while (wants.length > 0 && this.requests.size < REQUESTS_AT_ONCE) {
			const { kind, level } = wants[0];
			const same = wants.filter((want) => want.kind === kind && want.level === level).slice(0, MOST_PAIRS);
			wants = wants.filter((want) => !same.includes(want));
			this.load(kind, level, same);
		}
	}

	/** @param {TileKind} kind @param {number} level @param {Want[]} wants */
	async load(kind, level, wants) {
		const abort = new AbortController();
		const request = { wants, abort };
		this.requests.add(request);
		try {
			const pairs = wants.map(({ lane, index }) => ({ lane, tile: index }));
			const tiles = await this.source.boxes(kind, level, pairs, abort.signal);
			await this.ready(tiles, wants);
			tiles.forEach((tile, i) => this.put(wants[i].key, tile));
		} catch {
			// A tile that could not be had stays as it is on screen, and is asked for again after a while.
			if (!abort.signal.aborted) for (const { key } of wants) this.failed.set(key, performance.now() + RETRY_AFTER_MS);
		} finally {
			this.requests.delete(request);
			this.changed();
		}
	}
}
