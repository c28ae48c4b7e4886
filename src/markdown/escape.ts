/** Escapes source text for the content of an element, such as a paragraph or an inline code span. Quotes are not escaped. */
export function escapeText(text: string): string {
  return /[&<>]/.test(text) ? text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') : text;
}

/** Escapes text for the value of an HTML attribute in double quotes. */
export function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', '&quot;');
}

/** Escapes text for a code block. Also escapes both kinds of quotes. */
export function escapeCode(text: string): string {
  return escapeAttribute(text).replaceAll("'", '&#39;');
}

/** Escapes TeX source, which is shown if a formula cannot be rendered. */
export function escapeTex(text: string): string {
  return escapeAttribute(text).replaceAll("'", '&#x27;');
}
