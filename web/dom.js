// dom.js - makes elements. Text only ever becomes a text node, so that nothing in a trace can become markup.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [props] properties; "class", "data-", "aria-" and "role" are attributes, "on..." are listeners
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
	const element = document.createElement(tag);
	for (const [key, value] of Object.entries(props)) {
		if (value === undefined || value === null) continue;
		if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
		else if (key === "style")
			for (const [name, text] of Object.entries(value)) element.style.setProperty(name, String(text));
		else if (/^(class$|role$|for$|data-|aria-)/.test(key)) element.setAttribute(key, String(value));
		else /** @type {any} */ (element)[key] = value;
	}
	fill(element, ...children);
	return element;
}

/** @param {Element} element @param {...(Node | string | number | null | undefined | false)} children */
export function fill(element, ...children) {
	for (const child of children) {
		if (child === null || child === undefined || child === false) continue;
		element.append(typeof child === "object" ? child : document.createTextNode(String(child)));
	}
}

/** Replaces what is in an element. @param {Element} element @param {...(Node | string | null | false)} children */
export function refill(element, ...children) {
	element.replaceChildren();
	fill(element, ...children);
}

/** The element of the page with this id. @param {string} id @returns {HTMLElement} */
export function byId(id) {
	const element = document.getElementById(id);
	if (!element) throw new Error(`the page has no element ${id}`);
	return element;
}

/** @param {string} id @param {() => void} listener */
export function onClick(id, listener) {
	byId(id).addEventListener("click", listener);
}

/** @param {number} ms @returns {Promise<void>} */
export function sleep(ms) {
	return new Promise((resolve) => setTimeout(resolve, ms));
}

/** @param {string} text @returns {Promise<void>} */
export async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		// Without the permission, the selection of a text field is copied.
		const field = h("textarea", { value: text, class: "offscreen" });
		document.body.append(field);
		field.select();
		document.execCommand("copy");
		field.remove();
	}
	announce("Copied");
}

/** Says something to those who listen to the page, and shows it for a moment. @param {string} text */
export function announce(text) {
	byId("live").textContent = text;
}

/**
 * Calls `move` while a pointer is dragged, then `done`. `cancelled` is set if Escape or the system ended it.
 * @param {PointerEvent} event @param {(event: PointerEvent) => void} move
 * @param {(event: PointerEvent, cancelled: boolean) => void} [done]
 */
export function trackPointer(event, move, done) {
	const target = /** @type {HTMLElement} */ (event.currentTarget);
	target.setPointerCapture(event.pointerId);
	const stop = (/** @type {PointerEvent} */ last) => {
		target.removeEventListener("pointermove", move);
		target.removeEventListener("pointerup", stop);
		target.removeEventListener("pointercancel", stop);
		done?.(last, last.type === "pointercancel");
	};
	target.addEventListener("pointermove", move);
	target.addEventListener("pointerup", stop);
	target.addEventListener("pointercancel", stop);
}
