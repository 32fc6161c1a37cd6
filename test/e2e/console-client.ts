// A browser of the console, for its API only: it keeps cookies and sends its origin. Each success must match the table
// of routes.
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
  // Closed: a member outside the description is a mistake, even if clients would ignore it.
  check: answer && z.fromJSONSchema(z.toJSONSchema(answer, { io: "output" })),
}));

/** @throws Error if a success differs from the table of routes in any member */
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
