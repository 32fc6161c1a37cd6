// A browser of the console, as far as its API goes: keeps cookies, says where it comes from. And a mail server that keeps
// what it is given. Each success must be as the table of routes describes it.
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type ConsoleRoute, consoleRoutes } from "@gr/console-api";
import { z } from "zod";
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
    checkAnswer(method, path, answer);
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

const described = Object.values<ConsoleRoute>(consoleRoutes).map(({ method, path, answer, status }) => ({
  method,
  status: status ?? 200,
  path: new RegExp(`^${path.replaceAll(/:\w+/g, "[^/?]+")}(\\?.*)?$`),
  // Closed: a member that nobody described is a mistake, whatever a client would make of it.
  check: answer && z.fromJSONSchema(z.toJSONSchema(answer, { io: "output" })),
}));

/** @throws Error when a success is not as the table of routes has it, to the last member */
function checkAnswer(method: string, path: string, { status, body }: Answer): void {
  if (status >= 300) return;
  const whole = path.startsWith("/") ? path : `/console/api/${path}`;
  const route = described.find((one) => one.method === method && one.path.test(whole));
  if (route?.check === undefined) return;
  const { error } = route.check.safeParse(body);
  if (error !== undefined || status !== route.status) {
    throw new Error(`${method} ${path} has answered ${status}, not as described: ${error?.message}`);
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
