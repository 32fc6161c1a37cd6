// A browser of the console, as far as its API goes: keeps cookies, says where it comes from. And a mail server that keeps
// what it is given.

import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { type Answer, call } from "./http.ts";
import type { Router } from "./topology.ts";

export class Browser {
  readonly #router: Router;
  readonly cookies = new Map<string, string>();
  /** Set-Cookie headers of the last answer. */
  lastCookies: readonly string[] = [];

  constructor(router: Router) {
    this.#router = router;
  }

  async ask(
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await call(this.#router, method, path.startsWith("/") ? path : `/console/api/${path}`, {
      key: null,
      ...(body === undefined ? {} : { body }),
      headers: {
        ...(cookie === "" ? {} : { cookie }),
        ...(method === "GET" ? {} : { origin: this.#router.baseUrl, "sec-fetch-site": "same-origin" }),
        ...headers,
      },
    });
    this.lastCookies = answer.headers.getSetCookie();
    for (const line of this.lastCookies) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  get(path: string): Promise<Answer> {
    return this.ask("GET", path);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.ask("POST", path, { body });
  }
}

export function tokenOf(link: string): string {
  return decodeURIComponent(new URL(link).hash.replace("#token=", ""));
}

export interface MailServer {
  readonly url: string;
  /** The link in the newest mail to this address that arrived after those that were asked for before. */
  linkTo(address: string): Promise<string>;
  close(): Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const mails: { readonly to: string; readonly text: string }[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((socket) =>
    receive(socket, (mail) => {
      mails.push(mail);
      for (const wake of waiting.splice(0)) wake();
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}/?ignoreTLS=true`,
    linkTo: async (address) => {
      for (;;) {
        const index = mails.findLastIndex(({ to }) => to === address);
        const [mail] = index < 0 ? [] : mails.splice(index, 1);
        const link = mail && /^https?:\/\/\S+$/m.exec(mail.text)?.[0];
        if (link !== undefined) return link;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** As much of SMTP as a client needs that is in no hurry: one command, one answer. */
function receive(socket: Socket, keep: (mail: { to: string; text: string }) => void): void {
  let buffered = "";
  let to = "";
  let isBody = false;
  socket.on("error", () => socket.destroy());
  socket.write("220 here\r\n");
  socket.on("data", (chunk) => {
    buffered += chunk.toString();
    for (;;) {
      const end = buffered.indexOf(isBody ? "\r\n.\r\n" : "\r\n");
      if (end < 0) return;
      const part = buffered.slice(0, end);
      buffered = buffered.slice(end + (isBody ? 5 : 2));
      if (isBody) {
        isBody = false;
        // Long lines are folded as quoted-printable does it.
        keep({ to, text: part.replaceAll("=\r\n", "").replaceAll("=3D", "=").replaceAll("\r\n", "\n") });
        socket.write("250 kept\r\n");
        continue;
      }
      to = /^RCPT TO:<([^>]*)>/i.exec(part)?.[1] ?? to;
      isBody = /^DATA$/i.test(part);
      if (/^QUIT$/i.test(part)) socket.end("221 bye\r\n");
      else socket.write(isBody ? "354 go on\r\n" : "250 ok\r\n");
    }
  });
}
