/** Maximum length of a link, in UTF-16 code units: more than users type or paste. A longer text is not a link. */
const MAX_LENGTH = 2_048;
const ABSOLUTE = /^(?:https?|ftps?):\/\/[^\s\p{Cc}]+$/iu;

/** Returns whether the text is an absolute URL with the scheme http, https, ftp or ftps. */
export function isLink(text: string): boolean {
  if (text.length > MAX_LENGTH || !ABSOLUTE.test(text)) return false;
  return URL.canParse(text) && new URL(text).hostname !== '';
}
