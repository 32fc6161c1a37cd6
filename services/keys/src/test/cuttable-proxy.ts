// CuttableProxy is a TCP proxy that a test can cut: connections break and new ones are refused, as after the loss of a
// server.
import { connect, createServer, type NetConnectOpts, type Socket } from "node:net";
import { freePort } from "@gr/testing";

export interface CuttableProxy {
  readonly port: number;
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export async function startCuttableProxy(target: NetConnectOpts): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    // A broken connection is the purpose of this proxy; `close` follows and cleans up.
    socket.on("error", () => socket.destroy());
    return socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = track(connect(target));
    track(client).pipe(upstream).pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
  // Not a port that the system may assign to another connection while this proxy is cut.
  const port = await freePort();
  await listen(port);
  return {
    port,
    mend: () => listen(port),
    cut: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      return closed;
    },
  };
}
