// Opens the whole application at an address, in a page without a browser, with a fake router behind it.
import { beforeAll } from "@jest/globals";
import { MantineProvider } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { cleanup, configure, render } from "@testing-library/react";
import { forgetTokens } from "../api/public-api.ts";
import { createAppRouter } from "../app-router.tsx";
import { forgetKept } from "../kept-state.ts";
import { Notices } from "../parts/notices/notices.tsx";
import { createQueries } from "../queries.ts";
import { theme } from "../theme.ts";
import { FakeRouter } from "./fake-router.ts";

/** A slow machine may need many times the usual second. */
configure({
  asyncUtilTimeout: 20_000,
  // Without the whole page behind the message.
  getElementError: (message) => new Error(message ?? ""),
});

/** Tests wait for texts as people do, and not for the end of each update. */
beforeAll(() => {
  globalThis.IS_REACT_ACT_ENVIRONMENT = false;
});

/** The page has no fonts; a text area that grows waits for them. */
Object.defineProperty(document, "fonts", { value: new EventTarget() });

export const ACCOUNT = "0192f0c1-0000-7000-8000-000000000001";

/** A session of one member. @param role in the account */
export function sessionOf(role: string, isOperator = false) {
  return {
    person: { id: "person-1", email: "ada@example.com", name: "Ada" },
    accounts: [{ account_id: ACCOUNT, account_name: "Demo", role }],
    invitations: [] as object[],
    is_operator: isOperator,
    has_password: true,
    sign_up: "closed",
    single_sign_on: null,
    takes_passkeys: false,
    takes_payments: true,
  };
}

/** @returns a router with the answers that the frame of each page needs */
export function routerFor(role = "owner", isOperator = false): FakeRouter {
  const account = `/console/api/accounts/${ACCOUNT}`;
  return new FakeRouter()
    .on("GET /console/api/session", () => sessionOf(role, isOperator))
    .on(`GET ${account}/standing`, () => ({ suspension: null }))
    .on(`GET ${account}/home`, () => ({
      ...{ balance: "12.3456", held: "0.0000", deposited: "20.0000", days_left: null },
      spend: { today: "0.0000", last_7_days: "0.0000", last_30_days: "0.0000" },
      first_steps: { has_deposit: true, has_key: true, has_request: true },
      open_alerts: [],
    }));
}

/** @param path of the page; the fake router is made before. */
export function openApp(path: string): void {
  window.happyDOM.setURL(new URL(path, window.location.href).href);
  const queries = createQueries();
  render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={queries}>
        <Notices />
        <RouterProvider router={createAppRouter(queries)} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

/** Removes the page as a reload does: its memory is lost, stored values stay. */
export function reloadApp(): void {
  cleanup();
  const stored = { ...localStorage };
  forgetKept();
  for (const [name, value] of Object.entries(stored)) localStorage.setItem(name, value);
}

/** Removes the page and all that it kept, as a sign-out does. */
export function closeApp(): void {
  cleanup();
  notifications.clean();
  forgetKept();
  forgetTokens();
  localStorage.clear();
}

declare global {
  var IS_REACT_ACT_ENVIRONMENT: boolean;
  interface Window {
    readonly happyDOM: { setURL(url: string): void };
  }
}
