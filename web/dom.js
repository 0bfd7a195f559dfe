// dom.js - makes elements. Text only ever becomes a text node, so that nothing in a trace can become markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Makes an element: h("button.close", { title: "Close" }, "×"). Properties may be left out; of them "role", "data-" and "aria-" are
 * attributes.
 * @template {string} S
 * @param {S} selector a tag and classes @param {...(Child | Record<string, any>)} parts properties, then children
 * @returns {ElementOf<S>}
 */
export function h(selector, ...parts) {
	const [tag, ...classes] = selector.split(".");
	const element = document.createElement(tag);
	element.className = classes.join(" ");
	const props = parts[0]?.constructor === Object ? /** @type {Record<string, any>} */ (parts.shift()) : {};
	for (const [key, value] of Object.entries(props)) {
		if (value == null) continue;
		if (/^(role$|data-|aria-)/.test(key)) element.setAttribute(key, String(value));
		else /** @type {any} */ (element)[key] = value;
	}
	element.append(...shown(/** @type {Child[]} */ (parts)));
	return /** @type {ElementOf<S>} */ (element);
}

/** What of children is there: null, undefined and false are nothing. @param {Child[]} children */
function shown(children) {
	return children.flatMap((child) => (child == null || child === false ? [] : child instanceof Node ? child : String(child)));
}

/** Replaces what is in an element. @param {Element} element @param {...Child} children */
export function refill(element, ...children) {
	element.replaceChildren(...shown(children));
}

/** Why something cannot be shown. @param {unknown} error */
export function errorText(error) {
	return h("p.error", error instanceof Error ? error.message : String(error));
}

/** The element of the page with this id. @param {string} id @returns {HTMLElement} */
export function byId(id) {
	const element = document.getElementById(id);
	if (!element) throw new Error(`the page has no element ${id}`);
	return element;
}

/**
 * Listens to several events of a target.
 * @param {EventTarget} target @param {{ [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void }} listeners
 */
export function listen(target, listeners) {
	for (const [name, listener] of Object.entries(listeners)) target.addEventListener(name, /** @type {any} */ (listener));
}

/** @param {string} id @param {() => void} listener */
export function onClick(id, listener) {
	byId(id).onclick = listener;
}

/** Arrow keys move by one: `move` gets -1 for the first of the two and 1 for the other. @param {HTMLElement} element @param {[string, string]} keys @param {(by: 1 | -1) => void} move */
export function onArrows(element, keys, move) {
	element.addEventListener("keydown", (event) => {
		const at = keys.indexOf(event.code);
		if (at < 0) return;
		move(at === 0 ? -1 : 1);
		event.preventDefault();
		event.stopPropagation();
	});
}

/** A function that calls another one, some time after its last call. @param {number} ms @param {() => void} run */
export function delayed(ms, run) {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = setTimeout(run, ms);
	};
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
		const field = h("textarea.offscreen", { value: text });
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
	event.preventDefault();
	target.onpointermove = move;
	target.onpointerup = target.onpointercancel = (last) => {
		target.onpointermove = target.onpointerup = target.onpointercancel = null;
		done?.(last, last.type === "pointercancel");
	};
}
