/** Source text as it stands in a paragraph or an inline code span: quotes stay as they are. */
export function escapeText(text: string): string {
  return /[&<>]/.test(text) ? text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') : text;
}

/** Text as the value of an attribute, which stands in double quotes. */
export function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', '&quot;');
}

/** Text as it stands in a code block. */
export function escapeCode(text: string): string {
  return escapeAttribute(text).replaceAll("'", '&#39;');
}

/** TeX source, as it stands where a formula cannot be shown. */
export function escapeTex(text: string): string {
  return escapeAttribute(text).replaceAll("'", '&#x27;');
}
