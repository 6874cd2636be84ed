/** Amounts in words. Pure. */

/** A count of tokens: "812", "5.2k", "1.3M". */
export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${trimmed(count / 1000)}k`;
  return `${trimmed(count / 1_000_000)}M`;
}

/** US dollars; small ones keep the digits that say something. */
export function money(dollars: number): string {
  if (dollars === 0) return "$0";
  if (dollars < 0.01) return `$${dollars.toPrecision(2)}`;
  return `$${dollars.toFixed(2)}`;
}

/** Bytes: "120 B", "4.1 kB", "3 MB". */
export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${trimmed(count / 1000)} kB`;
  return `${trimmed(count / 1_000_000)} MB`;
}

function trimmed(number: number): string {
  return number >= 100 ? String(Math.round(number)) : number.toFixed(1).replace(/\.0$/, "");
}
