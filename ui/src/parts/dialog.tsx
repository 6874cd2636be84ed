/** A dialog: the browser's own, so that focus, Esc and screen readers are right. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./button";

interface Shown {
  title: string;
  onClose: () => void;
  children?: ComponentChildren;
  /** Buttons at its foot. */
  actions?: ComponentChildren;
}

/** A dialog that is open while it is drawn. */
export function Dialog({ title, onClose, children, actions }: Shown) {
  const box = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const opened = document.activeElement;
    box.current?.showModal();
    return () => {
      if (opened instanceof HTMLElement) opened.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class="dialog"
      aria-labelledby={name}
      onClose={onClose}
      onClick={(event) => event.target === box.current && onClose()}
    >
      <h2 id={name}>{title}</h2>
      <div class="dialog-body">{children}</div>
      {actions && <div class="dialog-foot">{actions}</div>}
    </dialog>
  );
}

interface Question {
  title: string;
  children: ComponentChildren;
  /** What the button that does it says. */
  action: string;
  danger?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** The question whether something shall be done. */
export function Confirm({ title, children, action, danger = false, onConfirm, onClose }: Question) {
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button
        kind={danger ? "danger" : "main"}
        onClick={() => {
          onConfirm();
          onClose();
        }}
      >
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} actions={actions}>
      {children}
    </Dialog>
  );
}
