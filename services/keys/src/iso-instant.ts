// Reads an instant as ISO 8601 writes it: date and time with a zone, in the extended or the basic format; the date by
// month, week or day of the year. What names no instant that exists is refused, leap seconds to come among it.

const INSTANT = new RegExp(
  "^(?<year>\\d{4})(?<dash>-?)" +
    "(?:(?<month>\\d\\d)\\k<dash>(?<day>\\d\\d)|W(?<week>\\d\\d)\\k<dash>(?<weekday>[1-7])|(?<dayOfYear>\\d{3}))" +
    "T(?<hour>\\d\\d)(?:(?<colon>:?)(?<minute>\\d\\d)(?:\\k<colon>(?<second>\\d\\d))?)?(?:[.,](?<fraction>\\d+))?" +
    "(?:Z|(?<sign>[+-])(?<zoneHour>\\d\\d)(?::?(?<zoneMinute>\\d\\d))?)$",
  "i",
);

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const FRACTION_DIGITS = 9;

type Fields = Readonly<Record<string, string | undefined>>;

/** Unix milliseconds, digits beyond them cut; undefined for what is no instant. */
export function readIsoInstant(text: string): number | undefined {
  const fields = INSTANT.exec(text)?.groups;
  if (fields === undefined) return undefined;
  const day = dayOf(fields);
  const time = timeOf(fields);
  const zone = zoneOf(fields);
  return day === undefined || time === undefined || zone === undefined ? undefined : day + time - zone;
}

/** Midnight of the date, as if it were in UTC. */
function dayOf(fields: Fields): number | undefined {
  const year = numberOf(fields["year"]);
  if (fields["month"] !== undefined) {
    const month = numberOf(fields["month"]) - 1;
    const at = midnight(year, month, numberOf(fields["day"]));
    return new Date(at).getUTCMonth() === month ? at : undefined;
  }
  if (fields["dayOfYear"] !== undefined) {
    const at = midnight(year, 0, numberOf(fields["dayOfYear"]));
    return new Date(at).getUTCFullYear() === year ? at : undefined;
  }
  // The 4th of January is in week 1, and a week is in the year in which its Thursday is.
  const fourth = midnight(year, 0, 4);
  const firstMonday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS;
  const monday = firstMonday + (numberOf(fields["week"]) - 1) * 7 * DAY_MS;
  if (new Date(monday + 3 * DAY_MS).getUTCFullYear() !== year) return undefined;
  return monday + (numberOf(fields["weekday"]) - 1) * DAY_MS;
}

/** Milliseconds since midnight; 24:00 is the end of the day. */
function timeOf({ hour, minute, second, fraction = "" }: Fields): number | undefined {
  if (numberOf(minute) > 59 || numberOf(second) > 59) return undefined;
  const whole = numberOf(hour) * HOUR_MS + numberOf(minute) * MINUTE_MS + numberOf(second) * SECOND_MS;
  // A fraction is one of the last unit that is there.
  const unit = second !== undefined ? SECOND_MS : minute !== undefined ? MINUTE_MS : HOUR_MS;
  const part = numberOf(fraction.slice(0, FRACTION_DIGITS).padEnd(FRACTION_DIGITS, "0"));
  const time = whole + Math.floor((part * unit) / 10 ** FRACTION_DIGITS);
  return time <= DAY_MS ? time : undefined;
}

/** Milliseconds that clocks in the zone are ahead of UTC. */
function zoneOf({ sign, zoneHour, zoneMinute }: Fields): number | undefined {
  if (numberOf(zoneHour) > 23 || numberOf(zoneMinute) > 59) return undefined;
  const size = numberOf(zoneHour) * HOUR_MS + numberOf(zoneMinute) * MINUTE_MS;
  return sign === "-" ? -size : size;
}

/** Unlike Date.UTC, takes a year below 100 as it is. */
function midnight(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month, day);
}

/** Of digits; nothing counts as zero. */
function numberOf(digits: string | undefined): number {
  return Number(digits ?? 0);
}
