/** A meter: words, and a bar when there is a bound. */

const HIGH = 0.85;

export function Meter(props: { label: string; value?: number; most?: number | null; title?: string }) {
  const { label, value = 0, most = null, title } = props;
  const high = most !== null && value > most * HIGH;
  return (
    <span class={high ? "meter meter-high" : "meter"} title={title}>
      {most !== null && <progress value={value} max={most} aria-label={title ?? label} />}
      <span>{label}</span>
    </span>
  );
}
