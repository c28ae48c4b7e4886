/** Maximum length of a message, in code points. A longer message is not sent. */
const MAX_LENGTH = 10_000;
const NUMBER = new Intl.NumberFormat('en');

/** Returns an error message if a text is too long to be sent, otherwise undefined. Too long text is refused, never cut off. */
export function excessOf(text: string): string | undefined {
  if (text.length <= MAX_LENGTH) return undefined;
  const { length } = [...text.trim()];
  if (length <= MAX_LENGTH) return undefined;
  const [has, may] = [length, MAX_LENGTH].map((number) => NUMBER.format(number));
  return `The message has ${has} characters. The maximum is ${may}.`;
}
