// Preloaded into a router under attack: every name under abuse.example leads to a port of this machine, so that a picture's URL
// can name a server of the attacker without a request that leaves the machine.
import { Socket } from "node:net";

const connect = Socket.prototype.connect;
const port = Number(process.env["ABUSE_EXAMPLE_PORT"]);

/** @this {Socket} @param {any[]} args as net.connect or a caller of its own passes them */
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
