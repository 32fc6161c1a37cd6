// Preloaded into a router under attack: every name under abuse.example resolves to a port of this machine. So a
// picture's URL can name a server of the attacker, and all requests stay on the machine.
import { Socket } from "node:net";

const connect = Socket.prototype.connect;
const port = Number(process.env["ABUSE_EXAMPLE_PORT"]);

/** @this {Socket} @param {any[]} args arguments of net.connect or of its own callers */
Socket.prototype.connect = function (...args) {
  const [first] = args;
  const options = Array.isArray(first) ? first[0] : first;
  const isOurs = typeof options === "object" && String(options?.host).endsWith(".abuse.example");
  if (isOurs) {
    Object.assign(options, { host: "127.0.0.1", port });
    delete options.lookup;
  }
  return connect.apply(this, /** @type {any} */ (args));
};
