// WebhookReceiver is a customer's server: it records each message, and answers as the test decides.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Any parsed JSON. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface WebhookReceiver {
  readonly origin: string;
  readonly received: Received[];
  /** Status of further answers; a promise delays them. */
  status: number | Promise<number>;
  close(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    receiver.received.push({ path: request.url ?? "", headers, text, body: JSON.parse(text) });
    const status = await receiver.status;
    // A redirect to a second request, which must not follow.
    response
      .writeHead(status, status === 302 ? { location: `${receiver.origin}/elsewhere` } : {})
      .end("thanks");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: WebhookReceiver = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    status: 200,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return receiver;
}
