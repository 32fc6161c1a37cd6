// Addresses of the console's routes, as the build writes them into the application.
import { consoleRoutes } from "@gr/console-api";

export const addresses = Object.fromEntries(
  Object.entries(consoleRoutes).map(([name, { method, path }]) => [name, { method, path }]),
);
