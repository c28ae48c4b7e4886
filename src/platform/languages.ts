const NAMES = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });

/** Returns the English name of a language code ("pt-br": "Brazilian Portuguese"). Undefined if the code is unknown. */
export function languageName(code: string): string | undefined {
  try {
    return NAMES.of(code);
  } catch {
    // `of` throws if the code is malformed.
    return undefined;
  }
}

/**
 * Returns whether `code` is the code of a known language. The service's own texts are in English; clients bring translations.
 */
export const isLanguage = (code: string): boolean => languageName(code) !== undefined;
