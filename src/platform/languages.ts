const NAMES = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });

/** A language's name in English; undefined for a code that is none: "pt-br", "Brazilian Portuguese". */
export function languageName(code: string): string | undefined {
  try {
    return NAMES.of(code);
  } catch {
    // It has not even the form of a code.
    return undefined;
  }
}

/** Whether the code is that of a language. Texts of ours are in English; clients come with their own in others. */
export const isLanguage = (code: string): boolean => languageName(code) !== undefined;
