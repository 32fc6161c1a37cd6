// Program names are short names of browsers and systems for the list of sessions, from the header that a browser sends.

/** The first match is the name: most browsers also name the ones that they resemble. */
const BROWSERS = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
] as const;
const SYSTEMS = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
] as const;
const MOST_CHARACTERS = 40;

/** Returns "Chrome on macOS"; other programs are shown by the beginning of their header. */
export function programName(userAgent: string | null): string {
  if (userAgent === null || userAgent === "") return "Unknown program";
  const nameIn = (table: readonly (readonly [RegExp, string])[]) =>
    table.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)];
  if (browser === undefined) return userAgent.slice(0, MOST_CHARACTERS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
