// ceilDiv is integer division that rounds up: the only rounding of money.

/** Returns the smallest integer q with q * divisor >= value. @throws RangeError unless value >= 0 and divisor > 0. */
export function ceilDiv(value: bigint, divisor: bigint): bigint {
  if (value < 0n || divisor <= 0n) throw new RangeError("ceilDiv wants value >= 0 and divisor > 0");
  return (value + divisor - 1n) / divisor;
}
