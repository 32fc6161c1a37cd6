// The JSON API of the console: what the web application calls and services/console answers. One table of routes, which
// both read: the server checks roles, queries and bodies by it, the application takes its types from it.
export * from "./account-records.ts";
export type { ConsoleAccess, ConsoleRoute } from "./console-route.ts";
export * from "./console-routes.ts";
export * from "./fields.ts";
export * from "./operator-records.ts";
export * from "./people.ts";
export * from "./request-records.ts";
export * from "./roles.ts";
export * from "./router-records.ts";
export * from "./usage-records.ts";
