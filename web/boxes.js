// boxes.js - the boxes of one frame, in arrays by column. Drawing sorts them by colour, because a change of colour costs
// more than a rectangle; pointing at a box and the tests read the same list, so that what is drawn is what is there.
import { AT_COUNT, AT_NAME, AT_PACKED, AT_ROW, BOX_F64, BOX_U32, FLAG_INSTANT, FLAG_MERGED } from "./answers.js";
import { LOOK_DIM, LOOK_MERGED, LOOK_PLAIN } from "./colour.js";

/** How many boxes a frame draws. Above it, narrow neighbours are joined. */
export const MOST_BOXES_DRAWN = 8000;
const JOIN_WIDTHS = [0, 2, 3, 4, 6, 8, 12, 16, 24, 32];
/** How far boxes reach beyond the edges of the screen, in pixels. */
const MARGIN = 8;

/** What kind of thing a box is, which says how it is drawn. */
export const BOX_SLICE = 0;
export const BOX_STATE = 1;
export const BOX_SCHED = 2;

/** @typedef {{ text: string, colour: number, lit: boolean }} Painted */
/** @typedef {(name: number) => Painted} Painter */
/** The colour of a slice by the sign of its category, its duration and its row; without it, that of its name. @typedef {((category: number, duration: number, row: number) => number) | null} Colouring */
/** @typedef {{ lane: number, y: number, rowHeight: number, boxHeight: number, depths: number, kind: number, painter: Painter, colouring: Colouring }} Place */

export class BoxList {
	length = 0;
	join = 0;
	/** @type {number[]} */
	x = [];
	/** @type {number[]} */
	y = [];
	/** @type {number[]} */
	w = [];
	/** @type {number[]} */
	h = [];
	/** @type {number[]} */
	start = [];
	/** @type {number[]} */
	end = [];
	/** @type {number[]} */
	name = [];
	/** @type {number[]} */
	id = [];
	/** @type {number[]} */
	count = [];
	/** @type {number[]} */
	lane = [];
	/** @type {number[]} */
	depth = [];
	/** @type {number[]} */
	flags = [];
	/** @type {number[]} */
	colour = [];
	/** @type {number[]} */
	look = [];
	/** @type {number[]} */
	kind = [];

	/** Whether the frame has to be begun again, with a larger width. */
	get isTooFull() {
		return this.length > MOST_BOXES_DRAWN && this.join < JOIN_WIDTHS.length - 1;
	}

	/** Begins a frame. The width up to which boxes are joined follows from how many there were. */
	begin() {
		if (this.isTooFull) this.join++;
		else if (this.length < MOST_BOXES_DRAWN / 3 && this.join > 0) this.join--;
		this.length = 0;
	}

	/**
	 * Adds the boxes of a lane.
	 * @param {Piece[]} pieces from left to right @param {Place} place
	 * @param {Scale} scale @param {number} ratio device pixels per pixel
	 */
	add(pieces, place, scale, ratio) {
		let before = -1;
		for (const piece of pieces) {
			// A box that reaches over the edge of two tiles is in both.
			this.addPiece(piece, before === piece.from, place, scale, ratio);
			before = piece.to;
		}
	}

	/**
	 * @param {Piece} piece @param {boolean} hasLeft whether the piece to the left was drawn as well
	 * @param {Place} place @param {Scale} scale @param {number} ratio
	 */
	addPiece({ tile, from, to }, hasLeft, place, scale, ratio) {
		const { f64, u32, count } = tile;
		const left = scale.time(-MARGIN);
		const right = scale.time(scale.width + MARGIN);
		for (let i = 0; i < count; i++) {
			const start = f64[i * BOX_F64];
			const end = f64[i * BOX_F64 + 1];
			if (start >= to || start > right || end < left || (end <= from && start < from)) continue;
			if (start < from && hasLeft) continue;
			const at = i * BOX_U32;
			const [name, id, rows, packed] = [u32[at + AT_NAME], u32[at + AT_ROW], u32[at + AT_COUNT], u32[at + AT_PACKED]];
			const depth = packed >>> 16;
			if (depth >= place.depths) continue;
			const x0 = Math.round(Math.max(scale.x(start), -MARGIN) * ratio) / ratio;
			const x1 = Math.max(x0 + 1, Math.round(Math.min(scale.x(end), scale.width + MARGIN) * ratio) / ratio);
			const flags = (packed >> 8) & 255;
			if (this.joined(x0, x1, depth, end, flags, rows, place.lane)) continue;
			const box = this.length++;
			const slice = place.painter(name);
			this.x[box] = x0;
			this.w[box] = x1 - x0;
			this.y[box] = place.y + depth * place.rowHeight;
			this.h[box] = place.boxHeight;
			this.start[box] = start;
			this.end[box] = end;
			this.name[box] = name;
			this.id[box] = id;
			this.count[box] = rows;
			this.lane[box] = place.lane;
			this.depth[box] = depth;
			this.flags[box] = flags;
			// A box of several slices is coloured by their mean duration.
			this.colour[box] = place.colouring?.(packed & 255, (end - start) / rows, id) ?? slice.colour;
			this.kind[box] = place.kind;
			this.look[box] = !slice.lit ? LOOK_DIM : flags & FLAG_MERGED ? LOOK_MERGED : LOOK_PLAIN;
		}
	}

	/**
	 * Makes the box before wider instead of adding a narrow one close to it, if there are too many.
	 * @param {number} x0 @param {number} x1 @param {number} depth @param {number} end @param {number} flags
	 * @param {number} count @param {number} lane
	 */
	joined(x0, x1, depth, end, flags, count, lane) {
		const width = JOIN_WIDTHS[this.join];
		const i = this.length - 1;
		if (i < 0 || x1 - x0 >= width || flags & FLAG_INSTANT) return false;
		const isNext = this.lane[i] === lane && this.depth[i] === depth && x0 - this.x[i] - this.w[i] < Math.max(1, width / 2);
		if (!isNext || this.w[i] >= 4 * width || this.flags[i] & FLAG_INSTANT) return false;
		this.w[i] = Math.max(this.w[i], x1 - this.x[i]);
		this.end[i] = Math.max(this.end[i], end);
		this.count[i] += count;
		this.flags[i] |= FLAG_MERGED | flags;
		if (this.look[i] === LOOK_PLAIN) this.look[i] = LOOK_MERGED;
		return true;
	}

	/** The box at a point, -1 if there is none. A narrow box is hit two pixels beside it. @param {number} x @param {number} y */
	at(x, y) {
		let near = -1;
		for (let i = this.length - 1; i >= 0; i--) {
			const [left, right, top] = [this.x[i], this.x[i] + this.w[i], this.y[i]];
			if (y < top || y >= top + this.h[i]) continue;
			if (x >= left && x < right) return i;
			if (x >= left - 2 && x < right + 2) near = i;
		}
		return near;
	}
}
