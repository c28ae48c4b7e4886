/** Small and capital letters of Latin, Greek, Cyrillic and Armenian, without those that NFKD decomposes. */
const SMALL =
  'a-z\\u00df\\u00e6\\u00f0\\u00f8\\u00fe\\u0111\\u0127\\u0131\\u0142\\u014b\\u0153\\u0167\\u03b1-\\u03c9\\u0430-\\u045f\\u0561-\\u0587';
const CAPITAL =
  'A-Z\\u00c6\\u00d0\\u00d8\\u00de\\u0110\\u0126\\u0141\\u014a\\u0152\\u0166\\u0391-\\u03a9\\u0400-\\u042f\\u0531-\\u0556';
const ACCENTS = '[\\u0300-\\u036f]*';
/**
 * Matches a letter behind which a word begins because of the case of the next letter: a small letter before a capital one
 * ("deckWinch"), and a capital letter before a capital and a small one ("HTTPServer"). The text must be in the form NFKD.
 */
export const CASE_CHANGES = new RegExp(
  `[${SMALL}]${ACCENTS}(?=[${CAPITAL}])|[${CAPITAL}]${ACCENTS}(?=[${CAPITAL}]${ACCENTS}[${SMALL}])`,
  'gu',
);
