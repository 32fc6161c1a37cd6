// How the web application is built: into dist/, which the gateway serves. Everything is in the build, nothing is fetched
// from elsewhere. Style tags carry a nonce, for which the server puts a fresh value in place of the word below.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const ROUTER = "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  html: { cspNonce: "__CSP_NONCE__" },
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  // `npx vite` in this folder shows the source as it is edited, beside a router that runs.
  server: { proxy: { "/console/api": ROUTER, "/v1": ROUTER, "/media": ROUTER, "/openapi.json": ROUTER } },
});
