/** Charts in plain SVG; the table beside each says the same. */

import { tokens } from "../../parts/amount";
import { barsOf, ceilingOf, type Row } from "./books";

const HIGH = 160;
const STEP = 20;
/** With few days, slimmer bars: a block says no more than a bar. */
const FEW = 10;

/** A bar for each day: read below, written above. */
export function Days({ rows }: { rows: readonly Row[] }) {
  const most = Math.max(...rows.map((row) => row.total_tokens));
  const top = ceilingOf(most);
  const scale = (most / top) * HIGH;
  const wide = rows.length <= FEW ? STEP / 3 : STEP * 0.7;
  const inset = (STEP - wide) / 2;
  return (
    <figure class="chart">
      <div class="chart-scale soft small" aria-hidden="true">
        <span>{tokens(top)}</span>
        <span>{tokens(top / 2)}</span>
        <span>0</span>
      </div>
      <svg class="chart-bars" viewBox={`0 0 ${rows.length * STEP} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label={spoken(rows)}>
        {[0, 0.5].map((part) => (
          <line key={part} class="chart-line" x1="0" x2={rows.length * STEP} y1={part * HIGH} y2={part * HIGH} />
        ))}
        {barsOf(rows).map((bar, index) => (
          <g key={bar.key}>
            <title>{said(rows[index]!)}</title>
            <rect class="chart-hit" x={index * STEP} y={0} width={STEP} height={HIGH} />
            <rect class="chart-read" x={index * STEP + inset} y={HIGH - bar.input * scale} width={wide} height={bar.input * scale} />
            <rect
              class="chart-written"
              x={index * STEP + inset}
              y={HIGH - (bar.input + bar.output) * scale}
              width={wide}
              height={bar.output * scale}
            />
          </g>
        ))}
      </svg>
      <div class="chart-ends soft small" aria-hidden="true">
        <span>{rows[0]?.label}</span>
        <span>{rows.at(-1)?.label}</span>
      </div>
      <figcaption class="chart-key soft small">
        <span class="key-read">Tokens read</span>
        <span class="key-written">Tokens written</span>
      </figcaption>
    </figure>
  );
}

function said(row: Row): string {
  return `${row.label}: ${tokens(row.input_tokens)} read, ${tokens(row.output_tokens)} written`;
}

function spoken(rows: readonly Row[]): string {
  const best = [...rows].sort((one, other) => other.total_tokens - one.total_tokens)[0];
  return `Tokens by day over ${rows.length} days. Most on ${best?.label ?? "no day"}: ${tokens(best?.total_tokens ?? 0)}.`;
}

const SHOWN = 8;

/** A lying bar for each of the largest rows. */
export function Shares({ rows }: { rows: readonly Row[] }) {
  if (rows.length < 2) return null;
  return (
    <ul class="shares" aria-hidden="true">
      {barsOf(rows.slice(0, SHOWN)).map((bar, index) => (
        <li key={bar.key}>
          <span class="clip small">{bar.label}</span>
          <svg class="share-bar" viewBox="0 0 1000 10" preserveAspectRatio="none">
            <rect class="chart-read" x={0} y={0} width={bar.input * 1000} height={10} />
            <rect class="chart-written" x={bar.input * 1000} y={0} width={bar.output * 1000} height={10} />
          </svg>
          <span class="soft small share-count">{tokens(rows[index]?.total_tokens ?? 0)}</span>
        </li>
      ))}
    </ul>
  );
}
