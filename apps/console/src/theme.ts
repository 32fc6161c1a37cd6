// The theme owns the look of the application. Fonts are the system's: nothing is fetched from other hosts.
import {
  Anchor,
  Badge,
  CloseButton,
  type CSSVariablesResolver,
  createTheme,
  DEFAULT_THEME,
  TableScrollContainer,
} from "@mantine/core";

const CLOSE = { "aria-label": "Close" };

export const theme = createTheme({
  primaryColor: "teal",
  primaryShade: 9,
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  headings: { fontWeight: "650" },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // The button shows a cross and needs a name.
    CloseButton: CloseButton.extend({ defaultProps: { ...CLOSE } }),
    // A word of state is read as a whole: the narrow column of a phone is scrolled, and does not cut it.
    Badge: Badge.extend({ styles: { root: { minWidth: "max-content" } } }),
    // A link is seen without its colour, and a wide table is scrolled by keys.
    Anchor: Anchor.extend({ defaultProps: { underline: "always" } }),
    TableScrollContainer: TableScrollContainer.extend({ defaultProps: { type: "native", tabIndex: 0 } }),
  },
});

/** Small grey text, and text on tinted ground, with the contrast that everybody can read. */
export const readableColors: CSSVariablesResolver = () => {
  const onTint = (text: string) =>
    Object.fromEntries(
      Object.keys(DEFAULT_THEME.colors).map((color) => [`--mantine-color-${color}-light-color`, text]),
    );
  return {
    variables: {},
    light: {
      "--mantine-color-dimmed": "var(--mantine-color-gray-7)",
      "--mantine-color-placeholder": "var(--mantine-color-gray-7)",
      ...onTint("var(--mantine-color-dark-8)"),
    },
    dark: {
      "--mantine-color-dimmed": "var(--mantine-color-dark-1)",
      "--mantine-color-placeholder": "var(--mantine-color-dark-1)",
      ...onTint("var(--mantine-color-gray-1)"),
    },
  };
};
