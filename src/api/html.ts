import { createHash } from 'node:crypto';
import { html as escaped, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

/** Text that is HTML already. */
export type Html = HtmlEscapedString;

type Part = string | number | Html | readonly Part[] | undefined;

/** An HTML template: what is put in is escaped, unless it is HTML itself. Lists are joined; undefined is nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  // A promise comes only of parts that are one.
  return escaped(strings, ...parts) as Html;
}

/** A sentence with names in it, which stand in backticks. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** `text` as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Dark and light are two sets of the same names; every pair of text and ground has a contrast of at least 4.5. */
const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fbfaf8; --card: #ffffff; --line: #e2ded7; --text: #1f2328; --soft: #5b6169; --accent: #0b6e4f;
  --code: #f3f1ec; --on-accent: #ffffff; --notice: #e7f4ee;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171a; --card: #1c2024; --line: #343a40; --text: #e8e6e3; --soft: #a7adb4; --accent: #5fd3a6;
    --code: #101316; --on-accent: #08241a; --notice: #16302a;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; overflow-wrap: anywhere;
}
main, header.top, footer { max-width: 64rem; margin: 0 auto; padding: 0 1.25rem; }
header.top { padding-top: 3rem; }
h1 { font-size: clamp(1.75rem, 6vw, 2.5rem); line-height: 1.15; letter-spacing: -0.02em; margin: 0 0 0.75rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 0.75rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: 0 0 1rem; }
.lead { font-size: 1.125rem; color: var(--soft); max-width: 44rem; }
.soft { color: var(--soft); }
a { color: var(--accent); text-underline-offset: 0.15em; }
a:focus-visible, button:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px;
}
code, pre { font: 0.875rem/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { background: var(--code); padding: 0.1em 0.35em; border-radius: 4px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.25rem; margin: 0 0 1.25rem; }
.card > :last-child { margin-bottom: 0; }
.notice { background: var(--notice); border-color: var(--accent); }
.snippet { position: relative; margin: 0.75rem 0 1rem; }
.snippet pre {
  margin: 0; padding: 0.9rem 1rem; padding-right: 5.25rem; background: var(--code); border: 1px solid var(--line);
  border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere;
}
.snippet code { background: none; padding: 0; }
.snippet button {
  position: absolute; top: 0.5rem; right: 0.5rem; font-family: inherit; font-size: 0.8125rem; font-weight: 600;
  min-height: 2rem; padding: 0 0.75rem; color: var(--on-accent); background: var(--accent); border: 0;
  border-radius: 6px; cursor: pointer;
}
@media (max-width: 32rem) { .snippet pre { padding-top: 3rem; padding-right: 1rem; } }
.links { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); padding: 0; list-style: none; }
.links li { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.25rem; }
.links a { font-weight: 600; }
.links span { display: block; color: var(--soft); font-size: 0.9375rem; }
footer { color: var(--soft); font-size: 0.9375rem; padding-top: 2rem; padding-bottom: 3rem; }
.method { font: 700 0.75rem/1 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--accent);
  border: 1px solid currentColor; border-radius: 4px; padding: 0.25em 0.45em; margin-right: 0.5em; }
.index { columns: 22rem; padding: 0; list-style: none; }
.index li { break-inside: avoid; padding: 0.2rem 0; }
.index a { text-decoration: none; }
.index a:hover { text-decoration: underline; }
.path { background: none; padding: 0; font-weight: 600; }
dl { margin: 0.5rem 0 1rem; }
dt { margin-top: 0.6rem; }
dd { margin: 0 0 0 1rem; }
.tag { color: var(--soft); font-size: 0.875rem; }
`;

const SCRIPT = `
document.addEventListener('click', async ({ target }) => {
  if (!(target instanceof HTMLButtonElement) || !target.dataset.copy) return;
  const code = target.parentElement.querySelector('code');
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    // Without a secure origin there is no clipboard: the old way, through the selection.
    getSelection().selectAllChildren(code);
    document.execCommand('copy');
  }
  target.textContent = 'Copied';
  setTimeout(() => { target.textContent = 'Copy'; }, 1500);
});
`;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** What a page does besides being read. */
interface Doings {
  /** Whether its form comes back to this server. */
  readonly hasForm?: boolean;
  /** A script of its own, as `page` is given it; it may ask this server. */
  readonly script?: string;
}

/** Nothing from another host, nothing inline but the texts above and the page's own script, and nothing kept. */
export const pageHeaders = ({ hasForm = false, script }: Doings = {}): Record<string, string> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${[SCRIPT, script].flatMap((text) => (text === undefined ? [] : [hashOf(text)])).join(' ')}`,
    ...(script === undefined ? [] : ["connect-src 'self'"]),
    'img-src data:',
    "base-uri 'none'",
    `form-action ${hasForm ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ].join('; '),
  'Cache-Control': 'private, no-store',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
});

/** A speech bubble, drawn here: a browser asks for an icon, and would ask for /favicon.ico otherwise. */
const ICON =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E%3Cpath fill=%22%230b6e4f%22 ' +
  'd=%22M3 1h10a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H7l-4 4v-4a2 2 0 0 1-2-2V3a2 2 0 0 1 2-2z%22/%3E%3C/svg%3E';

/** A whole page. @param script Its own, besides the one all pages have. */
export function page(title: string, content: Html, script?: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${raw(ICON)}">
<style>${raw(STYLE)}</style>
</head>
<body>
${content}
<script>${raw(SCRIPT)}</script>${
    script === undefined
      ? undefined
      : html`
<script>${raw(script)}</script>`
  }
</body>
</html>
`.toString();
}

/** A piece of shell to copy. @param about What it does, for those who hear the page. */
export function snippet(code: string, about: string): Html {
  return html`<div class="snippet" role="group" aria-label="${about}"><pre><code>${code}</code></pre>
<button type="button" data-copy="1" aria-live="polite">Copy</button></div>`;
}
