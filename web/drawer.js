// drawer.js - the panel below the tracks: tabs, and what they show.
import { byId, h, onArrows, onClick, refill, trackPointer } from "./dom.js";

const LEAST_HEIGHT = 96;

/** @typedef {{ id: string, title: string, show: (body: HTMLElement) => void }} Tab */

export class Drawer {
	/** @type {Tab[]} */
	fixed = [];
	/** @type {Tab[]} */
	tabs = [];
	current = "";

	constructor() {
		this.element = byId("drawer");
		this.tabBar = byId("tabs");
		this.body = byId("panel");
		byId("grip").onpointerdown = (event) => this.resize(event);
		onClick("drawer-close", () => this.toggle(false));
		onArrows(this.tabBar, ["ArrowLeft", "ArrowRight"], (by) => {
			const at = this.tabs.findIndex(({ id }) => id === this.current) + by;
			this.open(this.tabs[(at + this.tabs.length) % this.tabs.length].id);
		});
	}

	/** @param {boolean} [open] */
	toggle(open = this.element.hidden !== false) {
		this.element.hidden = !open;
	}

	/** Shows tabs in front of those that are always there, and opens one. @param {Tab[]} tabs @param {string} [open] its id; without it, the tab that was open stays so if it is still there */
	setTabs(tabs, open) {
		this.tabs = [...tabs, ...this.fixed];
		const wanted = open ?? this.current;
		this.open((this.tabs.find(({ id }) => id === wanted) ?? this.tabs[0]).id);
	}

	/** @param {string} id */
	open(id) {
		const tab = this.tabs.find((other) => other.id === id);
		if (!tab) return;
		this.current = id;
		const hadFocus = this.tabBar.contains(document.activeElement);
		const buttons = this.tabs.map((other) => {
			const props = {
				role: "tab",
				id: `tab-${other.id}`,
				"aria-selected": other === tab,
				tabIndex: other === tab ? 0 : -1,
			};
			return h("button", { ...props, onclick: () => this.open(other.id) }, other.title);
		});
		refill(this.tabBar, ...buttons);
		if (hadFocus) byId(`tab-${id}`).focus();
		this.body.setAttribute("aria-labelledby", `tab-${id}`);
		refill(this.body);
		tab.show(this.body);
	}

	/** @param {PointerEvent} event */
	resize(event) {
		const height = this.element.offsetHeight;
		trackPointer(event, (now) => {
			const wanted = Math.min(innerHeight - 200, height + event.clientY - now.clientY);
			document.documentElement.style.setProperty("--drawer", `${Math.max(LEAST_HEIGHT, wanted)}px`);
		});
	}
}
