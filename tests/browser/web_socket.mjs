// A client of WebSockets (RFC 6455) for programs of this machine: texts only, which the client masks. Debian's node has none of its own.
import { randomBytes } from "node:crypto";
import { connect } from "node:net";

const OP_CONTINUE = 0;
const OP_TEXT = 1;
const OP_CLOSE = 8;
const OP_PING = 9;
const OP_PONG = 10;

export class WebSocketClient {
	/** @param {string} url ws://host:port/path */
	static open(url) {
		const { hostname, port, pathname } = new URL(url);
		const client = new WebSocketClient();
		client.socket = connect(Number(port), hostname);
		const request = [
			`GET ${pathname} HTTP/1.1`,
			`Host: ${hostname}:${port}`,
			"Upgrade: websocket",
			"Connection: Upgrade",
			`Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
			"Sec-WebSocket-Version: 13",
		];
		client.socket.write(`${request.join("\r\n")}\r\n\r\n`);
		return new Promise((resolve, reject) => {
			client.socket.on("error", reject);
			client.socket.on("close", () => reject(new Error("the connection was closed")));
			client.opened = () => resolve(client);
			client.refused = reject;
			client.socket.on("data", (data) => client.take(data));
		});
	}

	constructor() {
		this.rest = Buffer.alloc(0);
		this.isOpen = false;
		/** The fragments of a message. @type {Buffer[]} */
		this.parts = [];
		/** Is called with the text of each message. */
		this.onmessage = (/** @type {string} */ _) => {};
	}

	take(data) {
		this.rest = Buffer.concat([this.rest, data]);
		if (!this.isOpen) {
			const end = this.rest.indexOf("\r\n\r\n");
			if (end < 0) return;
			const head = this.rest.subarray(0, end).toString();
			if (!/^HTTP\/1.1 101/.test(head)) return this.refused(new Error(head));
			this.rest = this.rest.subarray(end + 4);
			this.isOpen = true;
			this.opened();
		}
		while (this.takeFrame());
	}

	/** Takes one frame if it is there as a whole. */
	takeFrame() {
		const bytes = this.rest;
		if (bytes.length < 2) return false;
		let size = bytes[1] & 127;
		let at = 2;
		if (size === 126) {
			if (bytes.length < 4) return false;
			size = bytes.readUInt16BE(2);
			at = 4;
		} else if (size === 127) {
			if (bytes.length < 10) return false;
			size = Number(bytes.readBigUInt64BE(2));
			at = 10;
		}
		if (bytes.length < at + size) return false;
		const content = bytes.subarray(at, at + size);
		this.rest = bytes.subarray(at + size);
		this.takeContent(bytes[0] & 15, (bytes[0] & 128) !== 0, content);
		return true;
	}

	takeContent(op, isLast, content) {
		if (op === OP_PING) this.write(OP_PONG, content);
		if (op === OP_CLOSE) this.socket.end();
		if (op !== OP_TEXT && op !== OP_CONTINUE) return;
		this.parts.push(content);
		if (!isLast) return;
		const text = Buffer.concat(this.parts).toString();
		this.parts = [];
		this.onmessage(text);
	}

	write(op, content) {
		const mask = randomBytes(4);
		const size = content.length;
		const head = Buffer.alloc(size < 126 ? 2 : size < 65536 ? 4 : 10);
		head[0] = 128 | op;
		head[1] = 128 | (size < 126 ? size : size < 65536 ? 126 : 127);
		if (head.length === 4) head.writeUInt16BE(size, 2);
		if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2);
		this.socket.write(Buffer.concat([head, mask, content.map((byte, i) => byte ^ mask[i & 3])]));
	}

	/** @param {string} text */
	send(text) {
		this.write(OP_TEXT, Buffer.from(text));
	}

	close() {
		this.socket.destroy();
	}
}
