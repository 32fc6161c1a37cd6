// Vite builds the web application into dist/, which the gateway serves. The build is complete: nothing is fetched from
// other hosts. Style tags carry a nonce; the server replaces the placeholder below with a fresh value.
import { consoleRoutes } from "@gr/console-api";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { CODE_GROUPS } from "./code-groups.ts";
import { firstLoad } from "./first-load.ts";
import { slimParts } from "./slim-parts.ts";

const ROUTER = "http://127.0.0.1:8080";

/** Addresses of the console's API, without the schemas, which would enlarge the first load by a sixth. */
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
  plugins: [react(), consoleAddresses(), firstLoad(), slimParts()],
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Files of each source, for the tests of the size of a first load. The gateway does not serve hidden files.
    manifest: ".manifest.json",
    rolldownOptions: { output: { codeSplitting: { groups: CODE_GROUPS } } },
    // Browsers with light-dark(): its replacement for older ones needs color-scheme in our own styles.
    cssTarget: ["chrome123", "edge123", "firefox120", "safari17.5"],
  },
  // `npx vite` in this folder shows the source as it is edited, beside a router that runs.
  server: { proxy: { "/console/api": ROUTER, "/v1": ROUTER, "/media": ROUTER, "/openapi.json": ROUTER } },
});
