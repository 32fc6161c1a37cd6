// Parts of the gateway that tests outside of it read or build by themselves: the table of routes, and the memory of keys.
// The gateway itself is behind the other two doors; no program imports this one.

export { VerifiedKeys } from "./callers/verified-keys.ts";
export { REFERENCE_PATHS } from "./description/api-reference.ts";
export { routeTable, rowOf } from "./routes.ts";
