// The router maps addresses to pages. Filters are search parameters of the address, so a page can be shared by its
// link. The entries of the menus are in `layout/account-frame.tsx` and `layout/operator-frame.tsx`.
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { PublicFrame } from "./layout/public-frame.tsx";
import "./parts/forms/issuer-answer.ts";
import { PageFailure, PageMissing, PageWaiting } from "./parts/lists/page-states.tsx";
import { rememberAccount, sessionQuery, usualAccount } from "./session.ts";

interface Context {
  readonly queries: QueryClient;
}

/** Accepted search parameters of a page; others are dropped. */
type Search<Name extends string> = { [Key in Name]?: string };
function searchOf<Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>): Search<Name> => {
    const known: Search<Name> = {};
    for (const name of names) {
      const value = search[name];
      if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
        known[name] = String(value);
      }
    }
    return known;
  };
}

/** Loads the styles of all components beside a page that is no first one. */
async function withStyles<Module>(page: Promise<Module>): Promise<Module> {
  return (await Promise.all([page, import("./later-styles.ts")]))[0];
}

const root = createRootRouteWithContext<Context>()({ notFoundComponent: PageMissing });

const start = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: async ({ context: { queries } }) => {
    const session = await queries.ensureQueryData(sessionQuery);
    if (session.person === null) throw redirect({ to: "/sign-in" });
    const account = usualAccount(session);
    if (account === undefined) throw redirect({ to: session.is_operator ? "/operator" : "/new-account" });
    throw redirect({ to: "/accounts/$account", params: { account } });
  },
});

const publicPages = createRoute({ getParentRoute: () => root, id: "public", component: PublicFrame });
const open = <Path extends string>(
  path: Path,
  title: string,
  component: ReturnType<typeof lazyRouteComponent>,
) =>
  createRoute({
    getParentRoute: () => publicPages,
    path,
    component,
    validateSearch: searchOf("back", "ended"),
    staticData: { title },
  });

const signIn = lazyRouteComponent(() => import("./pages/sign-in/sign-in.tsx"), "SignIn");
const signUp = lazyRouteComponent(() => withStyles(import("./pages/sign-in/sign-up.tsx")), "SignUp");
const forgotPassword = lazyRouteComponent(
  () => withStyles(import("./pages/sign-in/passwords.tsx")),
  "ForgotPassword",
);
const resetPassword = lazyRouteComponent(
  () => withStyles(import("./pages/sign-in/passwords.tsx")),
  "ResetPassword",
);
const verifyEmail = lazyRouteComponent(() => withStyles(import("./pages/sign-in/links.tsx")), "VerifyEmail");
const invitation = lazyRouteComponent(
  () => withStyles(import("./pages/sign-in/links.tsx")),
  "AcceptInvitation",
);
const newAccount = lazyRouteComponent(
  () => withStyles(import("./pages/account/new-account.tsx")),
  "NewAccount",
);

const models = createRoute({
  getParentRoute: () => publicPages,
  path: "/models",
  beforeLoad: async ({ context: { queries }, location }) => {
    // Also without a console behind the page, the catalogue is shown.
    const session = await queries.ensureQueryData(sessionQuery).catch(() => undefined);
    const account = session?.person && usualAccount(session);
    // The menu and the account remain around the page.
    if (account) throw redirect({ href: `/accounts/${account}${location.href}`, replace: true });
  },
});
const catalogue = createRoute({
  getParentRoute: () => models,
  path: "/",
  component: lazyRouteComponent(() => withStyles(import("./pages/models/models.tsx")), "Models"),
  validateSearch: searchOf("type", "name", "provider", "free", "sort"),
  staticData: { title: "Models" },
});
const model = createRoute({
  getParentRoute: () => models,
  path: "$",
  component: lazyRouteComponent(() => withStyles(import("./pages/models/model.tsx")), "ModelPage"),
  staticData: { title: "Model" },
});

const account = createRoute({
  getParentRoute: () => root,
  path: "/accounts/$account",
  component: lazyRouteComponent(() => import("./layout/account-frame.tsx"), "AccountFrame"),
  beforeLoad: async ({ context: { queries }, location, params }) => {
    const session = await queries.ensureQueryData(sessionQuery);
    if (session.person === null) throw redirect({ to: "/sign-in", search: { back: location.href } });
    if (session.accounts.some(({ account_id }) => account_id === params.account))
      rememberAccount(params.account);
  },
});
const accountModels = createRoute({ getParentRoute: () => account, path: "models" });
const accountCatalogue = createRoute({
  getParentRoute: () => accountModels,
  path: "/",
  component: lazyRouteComponent(() => withStyles(import("./pages/models/models.tsx")), "Models"),
  validateSearch: searchOf("type", "name", "provider", "free", "sort"),
  staticData: { title: "Models" },
});
const accountModel = createRoute({
  getParentRoute: () => accountModels,
  path: "$",
  component: lazyRouteComponent(() => withStyles(import("./pages/models/model.tsx")), "ModelPage"),
  staticData: { title: "Model" },
});
const home = createRoute({
  getParentRoute: () => account,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/account/home/home.tsx"), "Home"),
  validateSearch: searchOf("range"),
  staticData: { title: "Home" },
});
const keys = createRoute({
  getParentRoute: () => account,
  path: "keys",
  component: lazyRouteComponent(() => withStyles(import("./pages/keys/keys.tsx")), "Keys"),
  validateSearch: searchOf("kind"),
  staticData: { title: "API keys" },
});
const credits = createRoute({
  getParentRoute: () => account,
  path: "credits",
  component: lazyRouteComponent(() => withStyles(import("./pages/money/credits.tsx")), "Credits"),
  validateSearch: searchOf("view", "payment", "kind", "range", "from", "to"),
  staticData: { title: "Credits" },
});
const usage = createRoute({
  getParentRoute: () => account,
  path: "usage",
  component: lazyRouteComponent(() => withStyles(import("./pages/usage/usage.tsx")), "Usage"),
  validateSearch: searchOf(
    ...(["range", "from", "to", "bucket", "metric", "group_by"] as const),
    ...(["sum", "key_id", "model", "provider"] as const),
  ),
  staticData: { title: "Usage" },
});
const logs = createRoute({
  getParentRoute: () => account,
  path: "logs",
  component: lazyRouteComponent(() => withStyles(import("./pages/logs/logs.tsx")), "Logs"),
  validateSearch: searchOf(
    ...(["request", "view", "kind", "model", "provider", "status"] as const),
    ...(["key_id", "member", "range", "from", "to"] as const),
  ),
  staticData: { title: "Logs" },
});
const playground = createRoute({
  getParentRoute: () => account,
  path: "playground",
  component: lazyRouteComponent(() => withStyles(import("./pages/playground/playground.tsx")), "Playground"),
  validateSearch: searchOf("tab", "model", "prompt", "size", "quality", "seconds", "n"),
  staticData: { title: "Playground" },
});
const team = createRoute({
  getParentRoute: () => account,
  path: "team",
  component: lazyRouteComponent(() => withStyles(import("./pages/account/team.tsx")), "Team"),
  staticData: { title: "Team" },
});
const audit = createRoute({
  getParentRoute: () => account,
  path: "audit",
  component: lazyRouteComponent(() => withStyles(import("./pages/account/audit.tsx")), "Audit"),
  staticData: { title: "Audit log" },
});
const alerts = createRoute({
  getParentRoute: () => account,
  path: "alerts",
  component: lazyRouteComponent(() => withStyles(import("./pages/account/alerts.tsx")), "Alerts"),
  staticData: { title: "Alerts" },
});
const person = createRoute({
  getParentRoute: () => account,
  path: "person",
  component: lazyRouteComponent(() => withStyles(import("./pages/sign-in/person.tsx")), "PersonPage"),
  staticData: { title: "Password and sessions" },
});

const operator = createRoute({
  getParentRoute: () => root,
  path: "/operator",
  component: lazyRouteComponent(() => import("./layout/operator-frame.tsx"), "OperatorFrame"),
  beforeLoad: async ({ context: { queries }, location }) => {
    const session = await queries.ensureQueryData(sessionQuery);
    if (session.person === null) throw redirect({ to: "/sign-in", search: { back: location.href } });
  },
});
const operatorHealth = createRoute({
  getParentRoute: () => operator,
  path: "/",
  component: lazyRouteComponent(() => withStyles(import("./pages/operator/health.tsx")), "Health"),
  validateSearch: searchOf("range"),
  staticData: { title: "Health" },
});
const margins = createRoute({
  getParentRoute: () => operator,
  path: "margin",
  component: lazyRouteComponent(() => withStyles(import("./pages/operator/margins.tsx")), "Margins"),
  validateSearch: searchOf("days"),
  staticData: { title: "Margin" },
});
const reconciliation = createRoute({
  getParentRoute: () => operator,
  path: "reconciliation",
  component: lazyRouteComponent(
    () => withStyles(import("./pages/operator/reconciliation.tsx")),
    "Reconciliation",
  ),
  staticData: { title: "Reconciliation" },
});
const operatorAccounts = createRoute({
  getParentRoute: () => operator,
  path: "accounts",
  component: lazyRouteComponent(() => withStyles(import("./pages/operator/operator.tsx")), "Operator"),
  validateSearch: searchOf("text"),
  staticData: { title: "Accounts" },
});
const operatedAccount = createRoute({
  getParentRoute: () => operator,
  path: "accounts/$id",
  component: lazyRouteComponent(
    () => withStyles(import("./pages/operator/operated-account.tsx")),
    "OperatedAccountPage",
  ),
  validateSearch: searchOf("view"),
  staticData: { title: "Account" },
});

const openRequests = createRoute({
  getParentRoute: () => operator,
  path: "requests",
  component: lazyRouteComponent(() => withStyles(import("./pages/logs/open-requests.tsx")), "OpenRequests"),
  staticData: { title: "Open requests" },
});
const operatorCatalogue = createRoute({
  getParentRoute: () => operator,
  path: "catalogue",
  component: lazyRouteComponent(
    () => withStyles(import("./pages/operator/catalogue.tsx")),
    "OperatorCatalogue",
  ),
  staticData: { title: "Catalogue" },
});

const pages = root.addChildren([
  start,
  publicPages.addChildren([
    open("/sign-in", "Sign in", signIn),
    open("/sign-in/oidc", "Sign in", signIn),
    open("/sign-up", "Sign up", signUp),
    open("/forgot-password", "Forgot password", forgotPassword),
    open("/reset-password", "New password", resetPassword),
    open("/verify-email", "Your e-mail address", verifyEmail),
    open("/invitation", "Invitation", invitation),
    open("/new-account", "New account", newAccount),
    models.addChildren([catalogue, model]),
  ]),
  account.addChildren([
    home,
    accountModels.addChildren([accountCatalogue, accountModel]),
    ...([keys, credits, usage, logs, playground, alerts, team, audit, person] as const),
  ]),
  operator.addChildren([
    ...([operatorHealth, operatorAccounts, operatedAccount, openRequests] as const),
    ...([operatorCatalogue, margins, reconciliation] as const),
  ]),
]);

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: pages,
    context: { queries },
    defaultPendingComponent: PageWaiting,
    defaultErrorComponent: PageFailure,
    defaultPreload: "intent",
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
