/** Our choice: more than browsers' address bars are used for. */
const MAX_LENGTH = 2_048;
const ABSOLUTE = /^(?:https?|ftps?):\/\/[^\s\p{Cc}]+$/iu;

/** Whether the text is an absolute URL of the web or of file transfer. */
export function isLink(text: string): boolean {
  if (text.length > MAX_LENGTH || !ABSOLUTE.test(text)) return false;
  return URL.canParse(text) && new URL(text).hostname !== '';
}
