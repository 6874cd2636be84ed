/** Fields of forms: a label, something to fill in, and a hint. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon";

interface Framed {
  label: string;
  hint?: ComponentChildren;
}

interface Filled extends Framed {
  value: string;
  onInput: (value: string) => void;
  placeholder?: string;
  required?: boolean;
  disabled?: boolean;
  maxLength?: number;
}

interface Line extends Filled {
  type?: "text" | "password" | "number" | "date" | "datetime-local";
  autoComplete?: "off" | "current-password";
  /** What a number may be. */
  min?: number;
  step?: number | "any";
}

/** One line of text. */
export function Field({ label, hint, type = "text", onInput, ...rest }: Line) {
  const id = useId();
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {label}
      </label>
      <input
        {...rest}
        // The types of attributes know one kind of field at a time.
        type={type as "text"}
        id={id}
        class="input"
        aria-describedby={hint ? `${id}-hint` : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {hint && (
        <div class="field-hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
    </div>
  );
}

/** Several lines of text; with `focused`, whoever asked for the field can write at once. */
export function TextArea({ label, hint, rows = 4, focused = false, onInput, ...rest }: Filled & { rows?: number; focused?: boolean }) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (focused) area.current?.focus();
  }, []);
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {label}
      </label>
      <textarea
        {...rest}
        ref={area}
        rows={rows}
        id={id}
        class="input"
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {hint && <div class="field-hint">{hint}</div>}
    </div>
  );
}

interface Choosing extends Framed {
  value: string;
  options: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
}

/** One of several. */
export function Select({ label, hint, value, options, onChange }: Choosing) {
  const id = useId();
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {label}
      </label>
      <select id={id} class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {hint && <div class="field-hint">{hint}</div>}
    </div>
  );
}

interface Searching {
  label: string;
  value: string;
  onInput: (value: string) => void;
}

/** A field to search with; the key / goes there. */
export function Search({ label, value, onInput }: Searching) {
  return (
    <div class="search">
      <Icon name="search" />
      <input
        type="search"
        class="input"
        data-slash
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}
