// A proxy before an upstream that records the trace of each request.
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";

export interface ListeningProxy {
  readonly url: string;
  /** By the id of the request, or by its path without one. */
  readonly traceparents: Map<string, string | undefined>;
  close(): Promise<void>;
}

export async function startListeningProxy(upstream: string): Promise<ListeningProxy> {
  const traceparents = new Map<string, string | undefined>();
  const server = createServer((incoming, answer) => {
    const { method, url = "/", headers } = incoming;
    traceparents.set(String(headers["x-request-id"] ?? url), headers["traceparent"] as string | undefined);
    const to = forward(new URL(url, upstream), { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    to.once("error", () => answer.destroy());
    incoming.pipe(to);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    traceparents,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
