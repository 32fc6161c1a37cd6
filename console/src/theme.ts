// How the application looks. Fonts are the system's: nothing is fetched from elsewhere.
import { type CSSVariablesResolver, createTheme, DEFAULT_THEME } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "teal",
  primaryShade: { light: 9, dark: 8 },
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  headings: { fontWeight: "650" },
  cursorType: "pointer",
  respectReducedMotion: true,
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
      ...onTint("var(--mantine-color-dark-8)"),
    },
    dark: {
      "--mantine-color-dimmed": "var(--mantine-color-dark-1)",
      ...onTint("var(--mantine-color-gray-1)"),
    },
  };
};
