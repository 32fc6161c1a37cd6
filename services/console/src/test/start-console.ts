// startConsole starts the console as a process with its own ports and its own database, without peers, because no peer
// has a part in sign-ins. Browsers call it as through the gateway: with their cookies, from a page of the console.
import { randomUUID } from "node:crypto";
import type { Role } from "@gr/console-api";
import { ConsoleOperatorService } from "@gr/proto/console";
import {
  createRemoteTransport,
  createServiceClient,
  type Environment,
  PRINCIPAL_HEADER,
  signPrincipal,
  startProcess,
} from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { consoleModule } from "../module.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "./console-database.ts";

const SECRET = "internal-secret-of-the-console-tests-012345";
const NOBODY = "http://127.0.0.1:9";
/** Address of its pages. */
export const ORIGIN = "http://console.localhost:8080";

export interface ConsoleUnderTest extends ConsoleDatabase {
  readonly clock: ManualClock;
  readonly accountId: string;
  browser(): Browser;
  /** Ends the process and keeps the database. */
  stopProcess(): Promise<void>;
  /** Returns a signed-in person, by a link of the operator; with a role, a member of the account. */
  signedIn(email: string, role?: Role): Promise<Browser>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON of any shape. */
  readonly body: ReturnType<typeof JSON.parse>;
}

type Send = (path: string, init: RequestInit & { headers: Record<string, string> }) => Promise<Response>;

/** Keeps cookies. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** @param gone ends the connection, as an impatient client does */
  async ask(method: string, path: string, body?: unknown, gone?: AbortSignal): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.#send(`/console/api/${path}`, {
      method,
      headers: { cookie, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(gone === undefined ? {} : { signal: gone }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
  }

  get(path: string): Promise<Answer> {
    return this.ask("GET", path);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.ask("POST", path, body);
  }

  /** Returns the address of the signed-in person. */
  async who(): Promise<string | undefined> {
    return (await this.get("session")).body.person?.email;
  }
}

/** @param settings more of the environment */
export async function startConsole(settings: Environment = {}): Promise<ConsoleUnderTest> {
  const database = await startConsoleDatabase();
  const clock = new ManualClock(Date.now());
  const running = await startProcess([consoleModule], {
    env: {
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: "4",
      CONSOLE_URL: ORIGIN,
      CONSOLE_SECRET: "secret-of-the-console-tests-0123456789",
      INTERNAL_AUTH_SECRET: SECRET,
      KEYS_RPC_URL: NOBODY,
      BILLING_RPC_URL: NOBODY,
      CATALOG_RPC_URL: NOBODY,
      MEDIA_GENERATION_RPC_URL: NOBODY,
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
      ...settings,
    },
    clock,
  });
  const operator = createServiceClient(
    ConsoleOperatorService,
    "console",
    createRemoteTransport(`http://127.0.0.1:${running.rpcPort}`, SECRET, clock),
  );
  const browser = () =>
    new Browser((path, { headers, ...init }) =>
      fetch(`http://127.0.0.1:${running.httpPort}${path}`, {
        ...init,
        headers: {
          ...headers,
          [PRINCIPAL_HEADER]: signPrincipal(SECRET, "console", null, clock),
          "x-client-network": "192.0.2.1",
          origin: ORIGIN,
        },
      }),
    );
  const accountId = randomUUID();
  await database.store.addAccount(accountId, "An account");
  return {
    ...database,
    clock,
    accountId,
    browser,
    signedIn: async (email, role) => {
      const { personId } = await operator.addOperator({ email });
      await operator.removeOperator({ email });
      if (role !== undefined) await database.store.addMember(accountId, personId, role);
      const { url } = await operator.createSignInLink({ email });
      const session = browser();
      await session.post("sign-in/link", {
        token: decodeURIComponent(new URL(url).hash.replace("#token=", "")),
      });
      return session;
    },
    stopProcess: () => running.stop(),
    stop: async () => {
      await running.stop();
      await database.stop();
    },
  };
}
