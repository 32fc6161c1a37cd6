// The console API is the JSON API between the web application and services/console, as one table of routes.
// The server checks roles, queries and bodies by it; the application derives its types from it.
export * from "./account-records.ts";
export * from "./alert-records.ts";
export * from "./budget-records.ts";
export type { ConsoleAccess, ConsoleRoute } from "./console-route.ts";
export * from "./console-routes.ts";
export * from "./fields.ts";
export * from "./operator/health-records.ts";
export * from "./operator/operator-records.ts";
export * from "./operator/router-records.ts";
export * from "./people.ts";
export * from "./request-records.ts";
export * from "./roles.ts";
export * from "./top-up-records.ts";
export * from "./usage-records.ts";
