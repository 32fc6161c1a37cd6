// The application: look, data and pages.
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, startTransition } from "react";
import { createRoot } from "react-dom/client";
import { createAppRouter } from "./app-router.tsx";
import { Notices } from "./parts/notices/notices.tsx";
import { createQueries } from "./queries.ts";
import { readableColors, theme } from "./theme.ts";

/** Begins once the styles are there. */
export function start(): void {
  const queries = createQueries();
  const router = createAppRouter(queries);

  // Nonce of this answer of the server: without it the browser refuses the style tags of components. The package that
  // stops the page from scrolling behind a dialog expects it under webpack's name.
  const styleNonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
  Object.defineProperty(window, "__webpack_nonce__", { value: styleNonce });

  const root = document.getElementById("root");
  if (root === null) throw new Error("index.html has no element with the id root");
  // React yields to input and painting between the parts of a page that it draws in a transition.
  startTransition(() =>
    createRoot(root).render(
      <StrictMode>
        <MantineProvider
          theme={theme}
          cssVariablesResolver={readableColors}
          defaultColorScheme="auto"
          getStyleNonce={() => styleNonce}
        >
          <QueryClientProvider client={queries}>
            <Notices />
            <RouterProvider router={router} />
          </QueryClientProvider>
        </MantineProvider>
      </StrictMode>,
    ),
  );
}
