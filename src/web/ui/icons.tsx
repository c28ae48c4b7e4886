import type { ReactNode } from 'react';

const SHAPES = {
  back: <path d="M17 10H4M9 5l-5 5 5 5" />,
  menu: <path d="M3 5h14M3 10h14M3 15h14" />,
  inbox: <path d="M3 11h4l1.5 3h3L13 11h4M3 11l2-7h10l2 7v5H3z" />,
  at: <path d="M13 10a3 3 0 1 1-6 0 3 3 0 0 1 6 0zm0 0v1.5a2 2 0 0 0 4 0V10a7 7 0 1 0-3 5.7" />,
  star: <path d="m10 3 2.2 4.5 5 .7-3.6 3.5.8 4.9-4.4-2.3-4.4 2.3.8-4.9L2.800 8.200l5-.7z" />,
  all: <path d="M4 5h12M4 9h12M4 13h8" />,
  hash: <path d="M7.500 3 6 17M14 3l-1.500 14M3.500 7.500h13M3 12.500h13" />,
  lock: <path d="M5 9h10v8H5zM7 9V6.500a3 3 0 0 1 6 0V9" />,
  globe: (
    <path d="M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM3 10h14M10 3c2.500 2 2.500 12 0 14M10 3c-2.500 2-2.500 12 0 14" />
  ),
  pin: <path d="M8 3h4l-.5 5 3 3h-9l3-3zM10 11v6" />,
  muted: <path d="M4 8v4h3l4 3V5L7 8zM14 8l4 4M18 8l-4 4" />,
  check: <path d="m4 10.500 4 4 8-9" />,
  send: <path d="m3 10 14-6-5 13-3-5.500zM9 11.500 17 4" />,
  down: <path d="M10 4v12M5 11l5 5 5-5" />,
  sun: (
    <path d="M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2v2M10 16v2M2 10h2M16 10h2M4.300 4.300l1.400 1.400M14.300 14.300l1.400 1.400M15.700 4.300l-1.400 1.400M5.700 14.300l-1.400 1.400" />
  ),
  moon: <path d="M16 12A7 7 0 0 1 8 4a7 7 0 1 0 8 8z" />,
  half: <path d="M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14" />,
  close: <path d="M5 5l10 10M15 5 5 15" />,
  plus: <path d="M10 4v12M4 10h12" />,
  people: (
    <path d="M8 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.500 17c0-3.500 2.500-5.500 5.500-5.500s5.500 2 5.500 5.500M13 3.500a3 3 0 0 1 0 5.300M15.500 12.500c1.300.9 2 2.400 2 4.500" />
  ),
  settings: (
    <path d="M3 6h6M13 6h4M3 14h4M11 14h6M11 4a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM9 12a2 2 0 1 0 0 4 2 2 0 0 0 0-4z" />
  ),
  status: <path d="M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM7 8v.500M13 8v.500M7 12c1.500 2 4.500 2 6 0" />,
  up: <path d="M10 16V4M5 9l5-5 5 5" />,
  more: <path d="M4.500 10h.01M10 10h.01M15.500 10h.01" strokeWidth={2.6} />,
  smile: (
    <path d="M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM7 11.500c1.300 2.300 4.700 2.300 6 0M7.500 8h.01M12.500 8h.01" />
  ),
  clip: (
    <path d="m15.500 9.500-5.800 5.800a3.500 3.500 0 0 1-5-5l6.300-6.300a2.300 2.300 0 0 1 3.300 3.300l-6 6a1.100 1.100 0 0 1-1.600-1.600l5.300-5.300" />
  ),
  edit: <path d="m4 16 .7-3.200L13.500 4 16 6.500 7.200 15.300zM12 5.500 14.500 8" />,
  trash: <path d="M4 6h12M8 6V4h4v2M6 6l.7 11h6.600L14 6M8.500 9v5M11.500 9v5" />,
  move: <path d="M3 10h11M10 5l5 5-5 5M17 4v12" />,
  link: (
    <path d="M8.500 11.500a3 3 0 0 0 4.300 0l2.700-2.700a3 3 0 0 0-4.300-4.300l-1 1M11.500 8.500a3 3 0 0 0-4.300 0l-2.700 2.700a3 3 0 0 0 4.300 4.300l1-1" />
  ),
  eye: (
    <path d="M2 10c2-3.300 4.700-5 8-5s6 1.700 8 5c-2 3.300-4.700 5-8 5s-6-1.700-8-5zM10 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4z" />
  ),
  flag: <path d="M5 17V3.500M5 4h9.500L12.500 7.500l2 3.500H5" />,
  history: <path d="M4 5v3.500h3.500M4.300 8a6.500 6.500 0 1 1-.8 3M10 6.500V10l2.500 1.500" />,
  unread: <path d="M3 5h14v10H3zM3 6l7 5 7-5" />,
  bell: <path d="M5 13.500V9a5 5 0 0 1 10 0v4.500l1 1H4zM8.500 17h3" />,
  search: <path d="M9 3.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM13 13l4 4" />,
  reply: <path d="M8 5 3 10l5 5M3 10h9a5 5 0 0 1 5 5" />,
  copy: <path d="M7 7h9v10H7zM13 7V3H4v10h3" />,
  alert: <path d="M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6.500v4.500M10 13.500v.010" />,
  open: <path d="m4 7 6 6 6-6" strokeWidth={2.2} />,
  fold: <path d="m4 13 6-6 6 6" strokeWidth={2.2} />,
  shut: <path d="m7 4 6 6-6 6" strokeWidth={2.2} />,
  list: <path d="M4 5h.01M4 10h.01M4 15h.01M8 5h9M8 10h9M8 15h9" />,
  keyboard: (
    <path d="M2.500 5.500h15v9h-15zM5.500 8.500h.01M8.500 8.500h.01M11.500 8.500h.01M14.500 8.500h.01M6.500 11.500h7" />
  ),
  bold: <path d="M6 4h5a3 3 0 0 1 0 6H6zM6 10h6a3 3 0 0 1 0 6H6z" strokeWidth={2} />,
  italic: <path d="M8 4h7M5 16h7M12 4 8 16" />,
  strike: (
    <path d="M3 10h14M14 6.500C13.500 4.800 12 4 10 4 7.500 4 6 5.200 6 7s1.500 2.600 4 3M6 13.500C6.500 15.200 8 16 10 16c2.500 0 4-1.200 4-3" />
  ),
  code: <path d="m7 6-4 4 4 4M13 6l4 4-4 4" />,
  quote: <path d="M4 4v12M8 6h9M8 10h9M8 14h6" />,
  spoiler: (
    <path d="M3 3l14 14M8.200 5.200A8.500 8.500 0 0 1 10 5c3.300 0 6 1.700 8 5a13 13 0 0 1-2.300 2.800M13 14.300A7.300 7.300 0 0 1 10 15c-3.300 0-6-1.700-8-5a13 13 0 0 1 3.300-3.500" />
  ),
  math: <path d="M15 6V4H5l5.500 6L5 16h10v-2" />,
  format: <path d="M2.500 15.500 6.500 5l4 10.500M4 12h5M17 10v5.500M17 12.800a2.300 2.700 0 1 0 0 .100z" />,
  clock: <path d="M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4l3 2" />,
  snippet: <path d="M5 3h7l3 3v11H5zM12 3v3h3M7.500 10h5M7.500 13h5" />,
  out: <path d="M8 4H4v12h4M12 6l4 4-4 4M16 10H8" />,
} as const satisfies Record<string, ReactNode>;

export type IconName = keyof typeof SHAPES;

/** An icon. Screen readers ignore it, so its meaning must be in the text beside it or in the label of its button. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" width={size} height={size} aria-hidden="true" focusable="false">
      {SHAPES[name]}
    </svg>
  );
}
