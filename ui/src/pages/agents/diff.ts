/** How two texts differ, line by line. Pure. */

/** Lines beside a change that are shown with it. */
const AROUND = 3;

/** Two texts as a diff of their lines; empty when they are the same. */
export function lineDiff(old: string, young: string): string {
  const lines = compared(old.split("\n"), young.split("\n"));
  const near = (at: number) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => !line.startsWith(" "));
  const shown: string[] = [];
  let left = false;
  lines.forEach((line, at) => {
    if (near(at)) {
      if (left && shown.length > 0) shown.push("@@");
      shown.push(line);
      left = false;
    } else left = true;
  });
  return shown.join("\n");
}

/** The longest lines in common keep their place; the others are taken away or added. */
function compared(before: readonly string[], after: readonly string[]): string[] {
  const longest = table(before, after);
  const lines: string[] = [];
  let [one, other] = [0, 0];
  while (one < before.length || other < after.length) {
    if (one < before.length && before[one] === after[other]) {
      lines.push(` ${before[one]}`);
      one += 1;
      other += 1;
    } else if (other >= after.length || (one < before.length && longest[one + 1]![other]! >= longest[one]![other + 1]!)) {
      lines.push(`-${before[one]}`);
      one += 1;
    } else {
      lines.push(`+${after[other]}`);
      other += 1;
    }
  }
  return lines;
}

/** How many lines are in common from each pair of places on. */
function table(before: readonly string[], after: readonly string[]): Uint32Array[] {
  const longest = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let one = before.length - 1; one >= 0; one -= 1) {
    for (let other = after.length - 1; other >= 0; other -= 1) {
      const same = before[one] === after[other];
      longest[one]![other] = same ? longest[one + 1]![other + 1]! + 1 : Math.max(longest[one + 1]![other]!, longest[one]![other + 1]!);
    }
  }
  return longest;
}
