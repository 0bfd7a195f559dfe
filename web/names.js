// names.js - the texts of string ids, and those of the argument by which slices are coloured, by their rows. A tile is shown only when
// the texts of its boxes are known, so that no box changes its colour after it was drawn. If another argument is chosen meanwhile, the
// boxes that are drawn already are grey until their texts are known.
import { colourOfName } from "./colour.js";
import { AT_NAME, BOX_U32 } from "./answers.js";

const MOST_NAMES = 4096;

export class Names {
	/** @type {Set<number>} */
	missing = new Set();
	/** @type {Map<number, import("./boxes.js").Painted>} */
	known = new Map();
	/** Which names are looked for; the boxes of others are dimmed. @type {((name: string) => boolean) | null} */
	wanted = null;

	/**
	 * @param {(ids: number[]) => Promise<any[]>} ask answers with the texts
	 * @param {number} [at] where boxes have the ids @param {(text: string) => number} [colourOf]
	 */
	constructor(ask, at = AT_NAME, colourOf = colourOfName) {
		this.ask = ask;
		this.at = at;
		this.colourOf = colourOf;
	}

	/** What an id stands for. @param {number} id */
	get(id) {
		const known = this.known.get(id);
		if (!known) this.missing.add(id);
		return known;
	}

	/** Makes the texts of tiles known, and those that a frame lacked. @param {Tile[]} tiles */
	async learn(tiles) {
		for (const { u32 } of tiles) for (let at = this.at; at < u32.length; at += BOX_U32) this.get(u32[at]);
		const ids = [...this.missing];
		this.missing.clear();
		while (ids.length > 0) {
			const part = ids.splice(0, MOST_NAMES);
			const texts = await this.ask(part);
			part.forEach((id, i) => this.add(id, String(texts[i] ?? "")));
		}
	}

	/** @param {number} id @param {string} text */
	add(id, text) {
		this.known.set(id, { text, colour: this.colourOf(text), lit: this.wanted?.(text) ?? true });
	}

	/** @param {((name: string) => boolean) | null} wanted null: all are shown as they are */
	light(wanted) {
		this.wanted = wanted;
		for (const name of this.known.values()) name.lit = wanted?.(name.text) ?? true;
	}
}
