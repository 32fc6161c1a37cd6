// Slim parts replace modules of packages that would bring code for abilities that the console does not use.
import { createRequire } from "node:module";
import type { Plugin } from "vite";

interface SlimPart {
  /** Module as its importers name it. */
  readonly module: RegExp;
  /** Files that get the replacement; others get the module. */
  readonly importers: RegExp;
  readonly code: string;
}

const { resolve } = createRequire(createRequire(import.meta.url).resolve("@mantine/core/styles.css"));
/** The frame of pages needs the names of two classes of the package that stops scrolling behind dialogs. */
const SCROLL_CLASSES = createRequire(resolve("react-remove-scroll")).resolve(
  "react-remove-scroll-bar/constants",
);

const PARTS: readonly SlimPart[] = [
  {
    // Mantine's scroll area merges refs by a function of the package that places popovers.
    module: /^@floating-ui\/react$/,
    importers: /\/ScrollArea\.mjs$/,
    code: 'import { useMergedRef } from "@mantine/hooks"; export const useMergeRefs = (refs) => useMergedRef(...refs);',
  },
  {
    module: /^react-remove-scroll$/,
    importers: /\/AppShell\w+\.mjs$/,
    code: `import { zeroRightClassName as zeroRight } from ${JSON.stringify(SCROLL_CLASSES)}; export const RemoveScroll = { classNames: { zeroRight } };`,
  },
  {
    // Nobody resizes the menu.
    module: /\/AppShellResizeHandle\.mjs$/,
    importers: /\/AppShell\w+\.mjs$/,
    code: "export const AppShellResizeHandle = () => null;",
  },
];

const PREFIX = "virtual:slim-part-";

export function slimParts(): Plugin {
  return {
    name: "slim-parts",
    enforce: "pre",
    resolveId: (id, importer = "") => {
      if (id.startsWith(PREFIX)) return id;
      const found = PARTS.findIndex(({ module, importers }) => module.test(id) && importers.test(importer));
      return found < 0 ? undefined : `${PREFIX}${found}`;
    },
    load: (id) => (id.startsWith(PREFIX) ? PARTS[Number(id.slice(PREFIX.length))]?.code : undefined),
  };
}
