// Scripted hosts beside a router under attack. One has a picture for the customer and stays silent for everybody else.
// The other is before the simulator and answers some chats with JSON that is dear to read.
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { sandboxEnvironment } from "@gr/all-in-one";
import sharp from "sharp";
import { startUpstream } from "../chaos/upstream.ts";

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
  const { hostname, port } = new URL(upstream.env["TEXT_UPSTREAM_BASE_URL"] ?? "");
  let answered = 0;
  const gate = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray());
    if (isDear(body)) {
      outgoing.writeHead(200, { "content-type": "application/json" }).end(DEAR[answered % DEAR.length]);
      answered += 1;
      return;
    }
    const { method, url: path, headers } = incoming;
    const passed = request({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    passed.end(body);
  });
  const host = await listen(gate);
  return {
    env: sandboxEnvironment(`http://127.0.0.1:${host.port}`) as Record<string, string>,
    close: () => Promise.all([host.close(), upstream.close()]),
  };
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
