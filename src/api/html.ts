import { createHash } from 'node:crypto';
import { html as escaped, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

/** Text that is already HTML. */
export type Html = HtmlEscapedString;

type Part = string | number | Html | readonly Part[] | undefined;

/**
 * Renders an HTML template. Values are escaped unless they are HTML already. Lists are joined without separator, and undefined
 * is rendered as nothing.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  // `escaped` returns a promise only if one of the parts is a promise, which `Part` excludes.
  return escaped(strings, ...parts) as Html;
}

/** Renders a sentence as HTML. Text in backticks becomes `<code>`. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** Quotes `text` as a single word of a shell command. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * The style sheet of all pages. Light and dark mode define the same variables. Every pair of text and background has a contrast
 * of at least 4.5.
 */
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
h3 { font-size: 1rem; margin: 0 0 0.35rem; }
h4 { font-size: 0.9375rem; margin: 1rem 0 0; }
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
.fields { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); align-items: end; margin: 0 0 1rem; }
label { display: block; color: var(--soft); font-size: 0.875rem; }
input {
  display: block; width: 100%; min-height: 2.5rem; padding: 0 0.6rem; font: inherit; color: var(--text); background: var(--code);
  border: 1px solid var(--soft); border-radius: 6px;
}
input::placeholder { color: var(--soft); opacity: 1; }
input:focus-visible, summary:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.fields button, a.button {
  min-height: 2.5rem; padding: 0 1.25rem; font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent);
  border: 0; border-radius: 6px; cursor: pointer;
}
a.button {
  display: block; padding: 0.45rem 1rem; margin: 0 0 0.75rem; text-align: center; text-decoration: none; color: var(--text);
  background: var(--code); border: 1px solid var(--soft);
}
.one-form { max-width: 28rem; padding-top: clamp(1.25rem, 10vh, 6rem); }
.one-form h1 { font-size: 1.5rem; }
.one-form .fields { grid-template-columns: minmax(0, 1fr); }
.one-form .fields > p { margin: 0; }
.one-form a:not(.button) { display: inline-block; padding: 0.25rem 0; }
.one-form [role="alert"] { padding: 0.6rem 0.8rem; border: 1px solid currentColor; border-radius: 6px; }
.pages { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none; padding: 0; margin: 0 0 1rem; }
summary { cursor: pointer; color: var(--accent); font-weight: 600; padding: 0.35rem 0; }
details { margin: 0 0 0.75rem; }
.features { display: grid; gap: 0 2rem; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); align-items: start; }
.features .index { columns: auto; }
details.feature { margin: 0; border-bottom: 1px solid var(--line); }
.reply { margin: 0; padding: 0.9rem 1rem; background: var(--code); border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere; }
.reply code { background: none; padding: 0; }
.search { margin: 0 0 1rem; }
[hidden] { display: none !important; }
.columns { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); }
.events { list-style: none; margin: 0.5rem 0 0; padding: 0; }
.events li { background: var(--code); border-radius: 8px; padding: 0.5rem 0.75rem; margin: 0 0 0.5rem; }
.events p { margin: 0; }
`;

const SCRIPT = `
document.addEventListener('click', async ({ target }) => {
  if (!(target instanceof HTMLButtonElement) || !target.dataset.copy) return;
  const code = target.parentElement.querySelector('code');
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    // Without a secure origin there is no clipboard API: copies through the selection.
    getSelection().selectAllChildren(code);
    document.execCommand('copy');
  }
  target.textContent = 'Copied';
  setTimeout(() => { target.textContent = 'Copy'; }, 1500);
});
`;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Properties of a page that determine its headers. */
interface PageProperties {
  /** Whether the page has a form that submits to this server. Otherwise forms are blocked. */
  readonly hasForm?: boolean;
  /** The page's own script, as passed to `page`. If given, scripts of the page can send requests to this server. */
  readonly script?: string;
  /**
   * Whether the page contains a secret beside text that a visitor can choose. Such a page must not be compressed: the length of
   * the compressed page would reveal the secret letter by letter.
   */
  readonly hasSecret?: boolean;
}

const INLINE_SCRIPT = /<script>([\s\S]*?)<\/script>/g;

/** Headers of every page, except its content security policy. They prevent framing, referrers and access from other origins. */
export const ISOLATION_HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

/**
 * Returns the headers of an application page, without those for caching. The page can load scripts, styles, fonts and workers
 * only from this server. Inline scripts are allowed only if they are in `page` itself. Requests and sockets can connect only to
 * this server.
 *
 * `style` attributes are allowed, because rendered formulas need them for lengths. Images can be created by the page (`data:`,
 * `blob:`). Images of other hosts are blocked: if a message contained one, the browser of each reader would send a request to
 * that host.
 *
 * @param page The page as HTML, which must not contain any input of a visitor. Otherwise the policy would allow scripts in that
 *   input.
 */
export const applicationHeaders = (page: string): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    ["script-src 'self'", ...[...page.matchAll(INLINE_SCRIPT)].map(([, text = '']) => hashOf(text))].join(' '),
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "media-src 'self' blob:",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  ...ISOLATION_HEADERS,
});

/**
 * Returns the headers of a page that is not cached and loads nothing from other hosts. The only inline styles and scripts that
 * the browser accepts are `STYLE`, `SCRIPT` and `script`.
 */
export const pageHeaders = ({
  hasForm = false,
  script,
  hasSecret = false,
}: PageProperties = {}): Record<string, string> => ({
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
  'Cache-Control': `private, no-store${hasSecret ? ', no-transform' : ''}`,
  ...ISOLATION_HEADERS,
});

/** An SVG icon: a speech bubble. */
export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0b6e4f" ' +
  'd="M3 1h10a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H7l-4 4v-4a2 2 0 0 1-2-2V3a2 2 0 0 1 2-2z"/></svg>\n';
export const ICON_PATH = '/favicon.svg';
/** A `<link>` element with the icon as a data URL, for the head of every page. A data URL saves a request. */
export const ICON_LINK = `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">`;

/** Renders a whole page. @param script A script for this page, in addition to the script of all pages. */
export function page(title: string, content: Html, script?: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${raw(ICON_LINK)}
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

/** Renders a shell command with a copy button. @param about Describes the effect of the command, for screen readers. */
export function snippet(code: string, about: string): Html {
  return html`<div class="snippet" role="group" aria-label="${about}"><pre><code>${code}</code></pre>
<button type="button" data-copy="1" aria-live="polite">Copy</button></div>`;
}
