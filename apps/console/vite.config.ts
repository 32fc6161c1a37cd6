// How the web application is built: into dist/, which the gateway serves. Everything is in the build, nothing is fetched
// from elsewhere. Style tags carry a nonce, for which the server puts a fresh value in place of the word below.
import { consoleRoutes } from "@gr/console-api";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const ROUTER = "http://127.0.0.1:8080";

/** The addresses of the console's API, without the schemas, which would make the first load a sixth larger. */
function consoleAddresses(): Plugin {
  const name = "virtual:console-addresses";
  return {
    name,
    resolveId: (id) => (id === name ? name : undefined),
    load: (id) => {
      if (id !== name) return undefined;
      const addresses = Object.entries(consoleRoutes).map(([route, { method, path }]) => [
        route,
        { method, path },
      ]);
      return `export const addresses = ${JSON.stringify(Object.fromEntries(addresses))};`;
    },
  };
}

export default defineConfig({
  plugins: [react(), consoleAddresses()],
  html: { cspNonce: "__CSP_NONCE__" },
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  // `npx vite` in this folder shows the source as it is edited, beside a router that runs.
  server: { proxy: { "/console/api": ROUTER, "/v1": ROUTER, "/media": ROUTER, "/openapi.json": ROUTER } },
});
