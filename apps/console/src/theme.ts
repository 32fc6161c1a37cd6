// The theme owns the look of the application. Fonts are part of the build: nothing is fetched from other hosts.
import {
  type CSSVariablesResolver,
  createTheme,
  type MantineColorsTuple,
  type MantineTheme,
} from "@mantine/core";

const CLOSE = { "aria-label": "Close" };

const BRAND: MantineColorsTuple = [
  ...(["#e3f4f1", "#c6e9e3", "#97d8ce", "#4fd0c0", "#2bb3a4"] as const),
  ...(["#1b9a8c", "#12897d", "#0c7168", "#0a5f58", "#074a45"] as const),
];
/** Light surfaces and lines from 0, text from 6. */
const GRAY: MantineColorsTuple = [
  ...(["#fafbfb", "#f4f5f6", "#eef0f2", "#e5e8ea", "#d5d9dd"] as const),
  ...(["#98a1ab", "#656d78", "#59616b", "#363d46", "#16191d"] as const),
];
/** Dark text from 0, lines and surfaces from 3. */
const DARK: MantineColorsTuple = [
  ...(["#eceef0", "#a4acb5", "#8c959f", "#363d44", "#262b30"] as const),
  ...(["#1d2125", "#16191c", "#16191c", "#0f1113", "#0c0e10"] as const),
];

/** Filled buttons by colour, with a contrast of at least 4.5 to 1. */
const FILLED: Readonly<Record<string, Readonly<Record<`--button-${string}`, string>>>> = {
  brand: { "--button-color": "var(--on-brand)" },
  red: { "--button-bg": "#b42331", "--button-hover": "#9b1c29", "--button-color": "#ffffff" },
};

interface ButtonLook {
  readonly variant?: string;
  readonly color?: string;
}

/** Names of components are texts: the first load does not contain the components of later pages. */
export const theme = createTheme({
  primaryColor: "brand",
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  luminanceThreshold: 0.3,
  colors: { brand: BRAND, gray: GRAY, dark: DARK },
  black: "#16191d",
  defaultRadius: "md",
  radius: { xs: "4px", sm: "6px", md: "8px", lg: "12px", xl: "14px" },
  spacing: { xs: "8px", sm: "12px", md: "16px", lg: "20px", xl: "28px" },
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "'JetBrains Mono', ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "25px" },
  lineHeights: { xs: "16px", sm: "18px", md: "20px", lg: "24px", xl: "31px" },
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: "22px", lineHeight: "28px" },
      h2: { fontSize: "22px", lineHeight: "28px" },
      h3: { fontSize: "16px", lineHeight: "22px" },
      h4: { fontSize: "14px", lineHeight: "20px" },
    },
  },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // The button shows a cross and needs a name.
    CloseButton: { defaultProps: { ...CLOSE } },
    // The narrow column of a phone scrolls and does not cut the word of a state.
    Badge: {
      defaultProps: { variant: "light", radius: "sm", tt: "none", fw: 500 },
      styles: { root: { minWidth: "max-content" } },
    },
    // The automatic contrast uses the light shade in both schemes.
    Button: {
      defaultProps: { fw: 500 },
      vars: (_theme: MantineTheme, { variant = "filled", color = "brand" }: ButtonLook) => ({
        root: variant === "filled" ? (FILLED[color] ?? {}) : {},
      }),
    },
    Card: { defaultProps: { withBorder: true, radius: "lg", padding: "lg" } },
    Modal: { defaultProps: { radius: "xl", size: 520, yOffset: 72 } },
    Table: { defaultProps: { verticalSpacing: 10, horizontalSpacing: 12 } },
    // A link is seen without its colour, and a wide table is scrolled by keys.
    Anchor: { defaultProps: { underline: "always" } },
    TableScrollContainer: { defaultProps: { type: "native", tabIndex: 0 } },
  },
});

/** Grounds and texts of states and of the brand, by colour and scheme. */
const TINTS: Readonly<
  Record<string, readonly [light: string, text: string, dark: string, darkText: string]>
> = {
  brand: ["#e3f4f1", "#0a6a62", "#12312e", "#4fd0c0"],
  green: ["#e3f5ea", "#146c43", "#13301f", "#63d39b"],
  yellow: ["#fdf1d9", "#7d4b00", "#35280f", "#f2bd5c"],
  orange: ["#fdf1d9", "#7d4b00", "#35280f", "#f2bd5c"],
  red: ["#fdeaec", "#b42331", "#3a171c", "#ff8f98"],
  blue: ["#e5f0fb", "#22609f", "#14283d", "#85bdf5"],
  gray: ["#eef0f2", "#59616b", "#23282d", "#a4acb5"],
};

function tintsOf(scheme: "light" | "dark"): Record<string, string> {
  const tints = Object.entries(TINTS).flatMap(([color, [light, text, dark, darkText]]) => [
    [`--mantine-color-${color}-light`, scheme === "light" ? light : dark],
    [`--mantine-color-${color}-light-color`, scheme === "light" ? text : darkText],
  ]);
  return Object.fromEntries(tints);
}

/** Small grey text, and text on tinted ground, with a contrast of at least 4.5 to 1. */
export const readableColors: CSSVariablesResolver = () => {
  return {
    variables: {},
    light: {
      "--mantine-color-dimmed": "#656d78",
      "--mantine-color-placeholder": "#656d78",
      "--mantine-color-anchor": "#0a6a62",
      "--page-ground": "#fafbfb",
      "--side-ground": "#f5f6f7",
      "--hairline": "#e5e8ea",
      "--on-brand": "#ffffff",
      ...tintsOf("light"),
    },
    dark: {
      "--mantine-color-body": "#16191c",
      "--combobox-chevron-color": "#8c959f",
      "--mantine-color-disabled": "#262b30",
      "--mantine-color-disabled-color": "#8c959f",
      "--mantine-color-dimmed": "#a4acb5",
      "--mantine-color-placeholder": "#8c959f",
      "--mantine-color-anchor": "#4fd0c0",
      "--page-ground": "#0f1113",
      "--side-ground": "#0c0e10",
      "--hairline": "#262b30",
      "--on-brand": "#04211e",
      ...tintsOf("dark"),
    },
  };
};
