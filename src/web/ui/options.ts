/** Returns the offered values of a setting. If the current value is not one of them, it is appended. */
export const withCurrent = <T>(offered: readonly T[], current: T): readonly T[] =>
  offered.includes(current) ? offered : [...offered, current];

/**
 * Returns the options of a setting. If no option has the current value, an option with this value is appended.
 *
 * @param nameOf Returns the name of the appended option.
 */
export const withCurrentOption = <T extends string>(
  options: readonly (readonly [value: T, name: string])[],
  current: T,
  nameOf: (value: T) => string = String,
): readonly (readonly [value: T, name: string])[] =>
  options.some(([value]) => value === current) ? options : [...options, [current, nameOf(current)]];

/** Returns the name of a language in that language. For an unknown code, returns the code. */
export function nameOfLanguage(code: string): string {
  try {
    return new Intl.DisplayNames([code], { type: 'language' }).of(code) ?? code;
  } catch {
    return code;
  }
}

/** The languages that settings offer, with their names. */
export const LANGUAGES = [
  ...['en', 'de', 'es', 'fr', 'it', 'ja', 'ko', 'nl', 'pl', 'pt-br', 'ru', 'sv', 'tr', 'uk', 'zh-hans'],
].map((code) => [code, nameOfLanguage(code)] as const);
