// text.js - text on canvases. Measuring text costs more than drawing it, so the width of a letter is measured once, and
// a name that was cropped to a number of letters is kept.

const CACHE_LIMIT = 20000;
/** Less of a name says nothing. */
const LEAST_LETTERS = 4;

export class Cropper {
	/** The average width of a letter in pixels. */
	letter = 6;
	/** @type {Map<string, string>} */
	cache = new Map();

	/** @param {CanvasRenderingContext2D} context whose font is that of the labels */
	measure(context) {
		const sample = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJ::0123456789()";
		this.letter = context.measureText(sample).width / sample.length;
		this.cache.clear();
	}

	/** What fits of a name, "" if too little does. @param {string} name @param {number} width in pixels */
	crop(name, width) {
		const letters = Math.floor(width / this.letter);
		if (name.length <= letters) return name;
		const key = `${letters} ${name}`;
		let text = this.cache.get(key);
		if (text === undefined) {
			text = cropped(name, letters);
			if (this.cache.size >= CACHE_LIMIT) this.cache.clear();
			this.cache.set(key, text);
		}
		return text;
	}
}

/** Keeps the beginning, and never half of a character. @param {string} name @param {number} letters */
export function cropped(name, letters) {
	if (name.length <= letters) return name;
	if (letters < LEAST_LETTERS) return "";
	let kept = letters - 1;
	const last = name.charCodeAt(kept - 1);
	if (last >= 0xd800 && last < 0xdc00) kept--;
	return kept > 0 ? `${name.slice(0, kept)}…` : "";
}
