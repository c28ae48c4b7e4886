/** Matches text in the form of a time zone's name, such as "Europe/Berlin". Excludes offsets, which `Intl` accepts too. */
const NAME = /^[a-z][a-z0-9_+-]*(\/[a-z0-9_+-]+)*$/i;
const MAX_LENGTH = 64;

/**
 * Returns whether a text is a current or former name of a time zone, ignoring case.
 *
 * Callers store the name that the client sent, because `Intl` would replace many names by older names.
 */
export function isTimeZone(name: string): boolean {
  if (name.length > MAX_LENGTH || !NAME.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
