// names.js - the texts of string ids. A tile is shown only when the names in it are known, so that no box changes its
// colour after it was drawn.
import { COLOUR_NONE, colourOfName } from "./colour.js";
import { AT_NAME, BOX_U32 } from "./answers.js";

const MOST_NAMES = 4096;

export class Names {
	/** @param {Source} source */
	constructor(source) {
		this.source = source;
		/** @type {Map<number, import("./boxes.js").Painted>} */
		this.known = new Map();
		/** Whether categories are shown, so that they are asked for. */
		this.hasCategories = false;
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
		await this.ask("names", [...missing], (id, text) => this.add(id, text ?? ""));
		if (this.hasCategories) await this.learnCategories();
	}

	/** Makes the categories of all known names known. */
	async learnCategories() {
		const missing = [...this.known].filter(([, { category }]) => category === undefined).map(([id]) => id);
		await this.ask("categories", missing, (id, text) => {
			const name = this.known.get(id);
			if (name) name.category = text ? colourOfName(text) : COLOUR_NONE;
		});
	}

	/** @param {"names" | "categories"} what @param {number[]} ids @param {(id: number, text: string | null) => void} take */
	async ask(what, ids, take) {
		for (let i = 0; i < ids.length; i += MOST_NAMES) {
			const part = ids.slice(i, i + MOST_NAMES);
			const texts = await this.source.names(part, what);
			part.forEach((id, j) => take(id, texts[j]));
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
