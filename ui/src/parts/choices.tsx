/** One of a few, side by side: a filter that shows all it can do. */

interface Shape {
  /** What is chosen here. */
  label: string;
  options: readonly { value: string; label: string; count?: number }[];
  chosen: string;
  onChoose: (value: string) => void;
}

export function Choices({ label, options, chosen, onChoose }: Shape) {
  return (
    <div class="choices" role="group" aria-label={label}>
      {options.map(({ value, label: words, count }) => (
        <button
          key={value}
          type="button"
          class="choice"
          aria-pressed={value === chosen}
          onClick={() => onChoose(value)}
        >
          {words}
          {count !== undefined && <span class="choice-count">{count}</span>}
        </button>
      ))}
    </div>
  );
}
