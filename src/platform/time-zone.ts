/** Form of names in the time zone database. Excludes offsets, which `Intl` accepts too. */
const NAME = /^[a-z][a-z0-9_+-]*(\/[a-z0-9_+-]+)*$/i;
const MAX_LENGTH = 64;

/**
 * Returns whether a time zone has this name or had it before, ignoring case.
 *
 * The name is stored as the client sent it: `Intl` would replace many names by an older one.
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
