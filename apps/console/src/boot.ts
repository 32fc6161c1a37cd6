// Boot loads the application: the styles of the first pages, the chosen colours, the code of the wanted page beside the code of all
// pages, and the first answers of the server. The page shows the waiting page of index.html until then.
import { askEarly, homeUrl, SESSION_URL } from "./api/early-answers.ts";

/** Name under which Mantine stores the choice of a person. */
const scheme = localStorage.getItem("mantine-color-scheme-value");
if (scheme === "light" || scheme === "dark") document.documentElement.dataset["mantineColorScheme"] = scheme;

const { pathname } = window.location;
const [, account] = /^\/accounts\/([^/]+)/.exec(pathname) ?? [];
askEarly(SESSION_URL);
if (account !== undefined) askEarly(homeUrl(account));
void Promise.all([import("./main.tsx"), import("./first-styles.ts")]).then(([{ start }]) => start());
if (account !== undefined) void import("./layout/account-frame.tsx");
if (/^\/accounts\/[^/]+\/?$/.test(pathname)) void import("./pages/account/home/home.tsx");
if (pathname === "/sign-in") void import("./pages/sign-in/sign-in.tsx");
