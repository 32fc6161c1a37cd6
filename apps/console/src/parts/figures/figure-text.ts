// Figure text formats money, times and audit events. Money is a decimal string and never becomes a number.

/** Formats two decimals, or all four if the last two are not zero. @param usd such as "12.3400" or "-0.0012" */
export function moneyText(usd: string): string {
  const sign = usd.startsWith("-") ? "−" : "";
  const [whole = "0", fraction = ""] = usd.replace("-", "").split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const decimals = fraction.padEnd(4, "0").replace(/00$/, "");
  return `${sign}$${grouped}.${decimals}`;
}

/** Formats the amount of one request: always four decimals, rounded up. @param usd with any number of decimals */
export function requestMoneyText(usd: string): string {
  const [whole = "0", fraction = ""] = roundedUpUsd(usd).split(".");
  return `$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${fraction}`;
}

/** Rounds up to four decimals, as charges are. @param usd at least zero, with any number of decimals */
export function roundedUpUsd(usd: string): string {
  return sumUsd([usd]);
}

/** Sums amounts, each rounded up to four decimals. @param amounts USD at least zero */
export function sumUsd(amounts: readonly string[]): string {
  const credits = amounts.reduce((sum, usd) => sum + creditsOf(usd), 0n);
  const digits = String(credits).padStart(5, "0");
  return `${digits.slice(0, -4)}.${digits.slice(-4)}`;
}

/** Units of 1e-4 USD. */
function creditsOf(usd: string): bigint {
  const [whole = "0", fraction = ""] = usd.split(".");
  const isRounded = /[1-9]/.test(fraction.slice(4));
  return BigInt(whole + fraction.slice(0, 4).padEnd(4, "0")) + (isRounded ? 1n : 0n);
}

/** Formats an exact amount: at least two decimals, at most twelve, without zeros at the end. */
export function exactMoneyText(usd: string): string {
  const sign = usd.startsWith("-") ? "−" : "";
  const [whole = "0", fraction = ""] = shortDecimal(usd.replace("-", "")).split(".");
  return `${sign}$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${fraction.padEnd(2, "0")}`;
}

/** Formats a change of a balance: its sign, and always four decimals. */
export function signedMoneyText(usd: string): string {
  const isNegative = usd.startsWith("-");
  return `${isNegative ? "−" : "+"}${requestMoneyText(usd.replace("-", ""))}`;
}

const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 12, useGrouping: false });

/** Writes a number of JSON as a decimal without an exponent. */
export function decimalText(number: number): string {
  return PLAIN.format(number);
}

/** Formats two decimals; a smaller rest is cut, so a balance never looks larger than it is. */
export function wholeCentsText(usd: string): string {
  const text = moneyText(usd);
  return text.slice(0, text.indexOf(".") + 3);
}

/** Removes the zeros at the end of a fraction: "1.5000" becomes "1.5", "2.0000" becomes "2". */
export function shortDecimal(decimal: string): string {
  if (!decimal.includes(".")) return decimal;
  let end = decimal.length;
  while (decimal[end - 1] === "0") end -= 1;
  return decimal.slice(0, decimal[end - 1] === "." ? end - 1 : end);
}

/** 1234567 as "1,234,567". */
export function countText(count: number | string): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Two decimals; four below a dollar, where cents would be too coarse. */
export function spendText(usd: number, whole = usd): string {
  return moneyText(usd.toFixed(whole < 1 ? 4 : 2));
}

/** Value of an axis. @param decimals of all its values */
export function spendTick(usd: number, decimals: number): string {
  if (usd === 0) return "$0";
  // Money has two decimals or more.
  return decimals === 0 ? `$${compactText(usd)}` : `$${usd.toFixed(Math.max(decimals, 2))}`;
}

/** 41_800_000 as "41.8 M". */
export function compactText(count: number): string {
  for (const [size, sign] of [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (count < size) continue;
    const shown = (count / size).toFixed(count / size < 100 ? 1 : 0).replace(/\.0$/, "");
    return `${shown} ${sign}`;
  }
  return String(count);
}

/** "820 ms", "6.42 s", "14.2 s" or "1 m 12 s". */
export function secondsText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(ms < 9_995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} m ${seconds % 60} s`;
}

/** "in 3 hours", "2 days ago". @param now Unix milliseconds */
export function fromNow(at: string, now = Date.now(), locale?: string): string {
  const seconds = Math.round((Date.parse(at) - now) / 1_000);
  const steps = [
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
  ] as const;
  const words = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  for (const [size, unit] of steps) {
    if (Math.abs(seconds) >= size) return words.format(Math.trunc(seconds / size), unit);
  }
  return words.format(seconds, "second");
}

/** "member.role_changed" as "Member role changed". */
export function actionText(action: string): string {
  const words = action.replace(/[._]/g, " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
