/** Icons: lines on a grid of 24, drawn in the colour of the text. */

const PATHS = {
  chat: "M4 5h16v11H9l-5 4z",
  agent: "M6 9h12v9H6zM12 9V5M10 5h4M9.5 13h.01M14.5 13h.01M3 12v3M21 12v3",
  work: "M6 21V4h12l-3 4.5 3 4.5H6",
  tasks: "M4 6l1.5 1.5L8 5M4 12l1.5 1.5L8 11M4 18l1.5 1.5L8 17M11 6h9M11 12h9M11 18h9",
  memory: "M6 4h12v16l-6-4-6 4z",
  tools: "M14.5 5.5a4 4 0 0 0-5 5L4 16v4h4l5.5-5.5a4 4 0 0 0 5-5L16 12l-4-4z",
  usage: "M4 20h16M7 16v-5M12 16V5M17 16V9",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  files: "M4 6h6l2 2h8v11H4z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  approvals: "M12 3l8 3v6c0 4.5-3.2 7.5-8 9-4.8-1.5-8-4.5-8-9V6zM9 12l2 2 4-4",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M13 7a2 2 0 1 0 4 0 2 2 0 1 0-4 0M7 17a2 2 0 1 0 4 0 2 2 0 1 0-4 0",
  context: "M4 5h16v14H4zM4 10h16M9 10v9",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 1 0 0-13M15.5 15.5L20 20",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  retry: "M4 12a8 8 0 1 0 2.5-5.8M4 4v5h5",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  fork: "M6 5v6a4 4 0 0 0 4 4h8M6 19v-8M15 12l3 3-3 3",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  download: "M12 4v11M7 10l5 5 5-5M4 20h16",
  upload: "M12 15V4M7 9l5-5 5 5M4 20h16",
  power: "M12 3v8M7 6a8 8 0 1 0 10 0",
  clip: "M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.3 3.3 0 0 1 4.7 4.7L9.5 17a1.6 1.6 0 0 1-2.3-2.3L15 7",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  more: "M4 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0M11 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0M18 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0",
  warning: "M12 4l9 16H3zM12 10v4M12 17h.01",
  info: "M12 3a9 9 0 1 0 0 18 9 9 0 1 0 0-18M12 11v5M12 8h.01",
  spinner: "M12 3a9 9 0 1 0 9 9",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 1 0 0-18M12 7v5l3.5 2",
  user: "M12 4a4 4 0 1 0 0 8 4 4 0 1 0 0-8M4 20c1-4 4-5.5 8-5.5s7 1.5 8 5.5",
  leave: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 1 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  keyboard: "M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M7 14h10",
  spark: "M12 3v6M12 15v6M3 12h6M15 12h6",
  circle: "M12 5a7 7 0 1 0 0 14 7 7 0 1 0 0-14",
  box: "M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8",
} as const;

/** The icons there are. */
export type IconName = keyof typeof PATHS;

/** An icon beside words, or alone on a button that has a name of its own. */
export function Icon({ name, spin = false }: { name: IconName; spin?: boolean }) {
  return (
    <svg class={spin ? "icon icon-spin" : "icon"} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
