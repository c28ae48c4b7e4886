/** As the time zone database forms names: no offset is one, which `Intl` takes too. */
const NAME = /^[a-z][a-z0-9_+-]*(\/[a-z0-9_+-]+)*$/i;
const MAX_LENGTH = 64;

/**
 * Whether there is a time zone of this name, in whatever case: a current one, or one of those it had before.
 *
 * The name stays as the client gave it: `Intl` would put another in the place of many, and an older one at that.
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
