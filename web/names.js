// names.js - the texts of string ids. A tile is shown only when the names in it are known, so that no box changes its
// colour after it was drawn.
import { colourOfName } from "./colour.js";
import { AT_NAME, BOX_U32 } from "./answers.js";

const MOST_NAMES = 4096;

export class Names {
	/** @param {Source} source */
	constructor(source) {
		this.source = source;
		/** @type {Map<number, import("./boxes.js").Painted>} */
		this.known = new Map();
		/** Which names are looked for; the boxes of others are dimmed. @type {((name: string) => boolean) | null} */
		this.wanted = null;
	}

	/** @param {number} id */
	get(id) {
		return this.known.get(id);
	}

	/** Makes the names of tiles known. @param {Tile[]} tiles */
	async learn(tiles) {
		/** @type {Set<number>} */
		const missing = new Set();
		for (const tile of tiles) {
			for (let at = AT_NAME; at < tile.u32.length; at += BOX_U32) {
				if (!this.known.has(tile.u32[at])) missing.add(tile.u32[at]);
			}
		}
		for (const ids = [...missing]; ids.length > 0;) {
			const part = ids.splice(0, MOST_NAMES);
			const texts = await this.source.names(part);
			part.forEach((id, i) => this.add(id, texts[i] ?? ""));
		}
	}

	/** @param {number} id @param {string} text */
	add(id, text) {
		this.known.set(id, { text, colour: colourOfName(text), lit: this.wanted?.(text) ?? true });
	}

	/** @param {((name: string) => boolean) | null} wanted null: all are shown as they are */
	light(wanted) {
		this.wanted = wanted;
		for (const name of this.known.values()) name.lit = wanted?.(name.text) ?? true;
	}
}
