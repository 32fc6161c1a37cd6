// Scripted hosts beside a router under attack. One has a picture for the customer and stays silent for everybody else.
// The other is before the simulator and answers some chats with JSON that is dear to read.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import sharp from "sharp";
import { startGate, startUpstream } from "../chaos/upstream.ts";

export interface Host {
  readonly port: number;
  close(): Promise<unknown>;
}

/** Members of an answer of some 10 MB: deeper than any reader needs, or more values than any needs. */
const DEAR = [
  `${"[".repeat(5_000_000)}${"]".repeat(5_000_000)}`,
  `[${"{},".repeat(3_300_000)}1]`,
  `{"a":[${"[],".repeat(200_000)}1]}`,
].map((value) => `{"id":"x","object":"chat.completion","choices":${value}}`);

/** The host of every name under abuse.example. */
export async function startPictureHost(): Promise<Host> {
  const blank = sharp({ create: { width: 64, height: 64, channels: 3, background: "#777777" } });
  const picture = await blank.png().toBuffer();
  return listen(
    createServer(({ headers }, response) => {
      if (headers.host?.startsWith("victim") === true) response.end(picture);
    }),
  );
}

/** @param isDear whether a body is answered with dear JSON. @returns the environment of a router that asks it */
export async function startDearUpstream(isDear: (body: Buffer) => boolean) {
  const upstream = await startUpstream();
  let answered = 0;
  const gate = await startGate(upstream, (_incoming, body, outgoing) => {
    if (!isDear(body)) return false;
    outgoing.writeHead(200, { "content-type": "application/json" }).end(DEAR[answered % DEAR.length]);
    answered += 1;
    return true;
  });
  return { env: gate.env, close: () => Promise.all([gate.close(), upstream.close()]) };
}

async function listen(server: Server): Promise<Host> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { port, close };
}
