// The two yardsticks of every run: a bare undici proxy and @fastify/http-proxy, neither of which authenticates,
// limits, holds or charges anything. Run as: node yardstick.ts undici|fastify <upstream> <port>.
import { createServer } from "node:http";
import proxy from "@fastify/http-proxy";
import { fastify } from "fastify";
import { Pool } from "undici";

const [kind, upstream = "", port = "0"] = process.argv.slice(2);

async function serveUndici(): Promise<void> {
  const pool = new Pool(upstream, { connections: 128, pipelining: 1 });
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      pool
        .request({
          path: request.url ?? "/",
          method: "POST",
          headers: {
            "content-type": "application/json",
            authorization: request.headers.authorization ?? "",
          },
          body: Buffer.concat(chunks),
        })
        .then(({ statusCode, headers, body }) => {
          response.writeHead(statusCode, { "content-type": String(headers["content-type"]) });
          body.pipe(response);
        })
        .catch((error: Error) => {
          response.writeHead(502);
          response.end(error.message);
        });
    });
  });
  await new Promise<void>((resolve) => server.listen(Number(port), "127.0.0.1", resolve));
}

async function serveFastify(): Promise<void> {
  const app = fastify();
  await app.register(proxy, { upstream, undici: { connections: 128, pipelining: 1 } });
  await app.listen({ host: "127.0.0.1", port: Number(port) });
}

await (kind === "undici" ? serveUndici() : serveFastify());
process.on("disconnect", () => process.exit(0));
process.send?.("ready");
