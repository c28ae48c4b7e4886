/** Maximum length of a message, in code points. A longer message is not sent. */
const MAX_LENGTH = 10_000;
const NUMBER = new Intl.NumberFormat('en');

/** Number of characters below the maximum from which on the remaining number is shown. */
const NEAR = 500;

/**
 * Returns the number of code points that can still be written; negative if the text is too long. Undefined if the maximum is
 * far.
 */
export function countOf(text: string): number | undefined {
  if (text.length <= MAX_LENGTH - NEAR) return undefined;
  const left = MAX_LENGTH - [...text.trim()].length;
  return left > NEAR ? undefined : left;
}

/** Returns an error message if a text is too long to be sent, otherwise undefined. Too long text is refused, never cut off. */
export function excessOf(text: string): string | undefined {
  if (text.length <= MAX_LENGTH) return undefined;
  const { length } = [...text.trim()];
  if (length <= MAX_LENGTH) return undefined;
  const [has, may] = [length, MAX_LENGTH].map((number) => NUMBER.format(number));
  return `The message has ${has} characters. The maximum is ${may}.`;
}
