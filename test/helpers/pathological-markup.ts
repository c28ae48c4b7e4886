/** Maximum length of a message, in characters. */
const LENGTH = 10_000;

const of = (piece: string) => piece.repeat(Math.ceil(LENGTH / piece.length)).slice(0, LENGTH);
const between = (open: string, piece: string, close: string) =>
  open + of(piece).slice(0, LENGTH - open.length - close.length) + close;
/** Concatenates the texts that `piece` returns for 1, 2, 3 and so on, up to `LENGTH` characters. */
const growing = (piece: (i: number) => string) => {
  let text = '';
  for (let i = 1; text.length < LENGTH; i++) text += piece(i);
  return text.slice(0, LENGTH);
};
const halves = (open: string, close: string) => {
  const count = Math.floor(LENGTH / (open.length + close.length));
  return open.repeat(count) + close.repeat(count);
};

/** Texts of 10,000 characters that are slow for a parser that reads characters repeatedly. Keyed by their content. */
export const PATHOLOGICAL: Readonly<Record<string, string>> = {
  'one word': of('a'),
  stars: of('*'),
  'strong that is not closed': of('**a '),
  'stars in threes': of('***a*'),
  'strong in emphasis': halves('*a **a ', ' a** a*'),
  'longer and longer runs of back-ticks': growing((i) => `${'`'.repeat(i)} `),
  'back-ticks and letters': of('`a``b'),
  'tildes that are not closed': of('~~a'),
  brackets: of('['),
  'nested brackets': halves('[', ']'),
  'links that are not closed': of('[a]('),
  'nested links': halves('[a](', ')'),
  'nested links with titles': halves('[a](b "', '")'),
  'media that are not closed': of('![a]('),
  'marks of media': of('!['),
  'nested media': halves('![a](', ')'),
  'media in labels': halves('![', '](/user_uploads/2/sea.png)'),
  'many sounds': of('![](/user_uploads/2/song.mp3)'),
  'many videos': of('[](/user_uploads/2/clip.mp4) '),
  'links in brackets': halves('[', '](a'),
  'parentheses of an address': of('http://a.b/('),
  'addresses without hosts': of('http://'),
  'one long domain': of('a.b.'),
  'domains with commas': of('a.com,'),
  'e-mail addresses that are none': of('a@'),
  'apostrophes before a domain': between('', ".'a", '.org'),
  'unspaced letters and apostrophes before a domain': between('', "灯灯'", '.com'),
  'digits in the host of an address': between('a@x.', '1', '.com'),
  'underscores before a domain': between('', "_'", 'a.org'),
  'one long e-mail address': between('', 'a.', '@a.com'),
  'times that are not closed': of('<time:'),
  'times that are none': of('<time:1 2>'),
  'mentions that are not closed': of('@**a'),
  'mentions of nobody': of('@**a** '),
  'groups that are not closed': of('@*a @_*'),
  'topics that are not closed': of('#**a>b'),
  'dollar signs': of('$'),
  'formulas that are not closed': of(' $$a\\$'),
  'many formulas': of('$$x^2$$ '),
  'one long formula': between('$$', 'x^2+', 'x$$'),
  'deep fractions': between('```math\n', '\\frac{1}{', '\n```'),
  'definitions in a formula': between('$$\\def\\a#1{\\b{#1#1}}\\def\\b#1{\\a{#1#1}}', '\\a{x}', '$$'),
  'wide matrices': of(`$$\\begin{matrix}${'&'.repeat(1_900)}\\end{matrix}$$ `),
  'ampersands of no entity': of('&a'),
  'numbers of no entity': of('&#1'),
  colons: of(':'),
  'names of no emoji': of(':a'),
  emoji: of('👍'),
  'emoji joined without end': of('👍\u200d'),
  'flags without end': of('🇺'),
  'quotes in a line': of('>'),
  'quotes in a line, with spaces': of('> '),
  'lines of empty quotes': of('>\n'),
  'deeper and deeper quotes': growing((i) => `${'>'.repeat(i)} a\n`),
  'lists in a line': of('* '),
  'deeper and deeper lists': growing((i) => `${' '.repeat(2 * i)}* a\n`),
  'numbers in a line': of('1. '),
  'items with blank lines': of('* a\n\n  b\n\n'),
  'fenced quotes that are not closed': of('```quote\n'),
  'spoilers in spoilers': growing((i) => `${'`'.repeat(3 + (i % 90))}spoiler a\n`),
  'fences of every length': growing((i) => `${'~'.repeat(2 + i)}\n`),
  'one wide table': `${of('|a').slice(0, 4_998)}|\n${of('|-').slice(0, 4_998)}|`,
  'short rows of a wide table': `${'|a'.repeat(500)}|\n${'|-'.repeat(500)}|\n${of('a\n').slice(0, 7_990)}`,
  'many tables': of('a|b\n-|-\n\n'),
  'code of one word': between('```ts\n', 'a', '\n```'),
  'code of short lines': between('```csharp\n', 'A A\n', '\n```'),
  'code of blank lines': between('```haskell\nx', '\n', 'x\n```'),
  'code of brackets': between('```js\n', '((((((((((((((((((((((((((((((((((((((((\n', '\n```'),
  'many languages': growing(
    (i) => `\`\`\`${['py', 'js', 'ts', 'java', 'c', 'cs', 'php', 'sql'][i % 8]}\na("b${i}")\n\`\`\`\n`,
  ),
  'blank lines': between('a', '\n', 'b'),
  spaces: between('a', ' ', 'b'),
  'short lines': of('a\n'),
  'hashes in a line': between('# a', '#', ' b'),
  'rules that are none': of('- - -a\n'),
};

/** Letters of scripts with and without spaces, their punctuation, emoji, and joining, combining or invisible characters. */
const LETTERS = [
  '灯',
  'ก',
  'ひ',
  '한',
  '。',
  '，',
  'a',
  'é',
  'я',
  'ع',
  'अ',
  'e\u0301',
  '👩‍💻',
  '🇩🇪',
  '1️⃣',
  '\u0301',
  '\u200b',
];
/** Tokens for which a parser may search from every character. */
const ENDS = [
  ...[
    '.comx',
    '@x',
    '@x.comx',
    '.x',
    '/',
    '://',
    '**',
    '~~',
    '`',
    '|',
    '](',
    '](a)',
    '![',
    '<time:',
    '$$',
    '#**',
    '@**',
  ],
  ...['@*', ':', '>'],
];
const PUNCTUATION = [...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'];

/**
 * Texts of 10,000 characters that repeat one token, repeat a sequence of two tokens, or repeat one token and end with another.
 */
export const REPEATED: Readonly<Record<string, readonly string[]>> = {
  'a script up to an end': LETTERS.flatMap((letter) => ENDS.map((end) => between('', letter, end))),
  // Formulas are limited by cost, not by number of characters.
  'a script with ends': LETTERS.flatMap((letter) => ENDS.filter((end) => end !== '$$').map((end) => of(letter + end))),
  'two scripts up to an end': LETTERS.flatMap((one) => LETTERS.map((other) => between('', one + other, '.comx'))),
  'labels of two scripts': ['灯灯.', 'a灯灯.', '灯a灯.', '灯+灯灯', 'a灯灯+a', '灯灯..', 'a.灯灯@'].flatMap((labels) =>
    ['comx', 'com', '@x', '_'].map((end) => between('', labels, end)),
  ),
  punctuation: PUNCTUATION.flatMap((mark) => ['', 'a', ' ', '\n', '灯'].map((letter) => of(mark + letter))),
  'punctuation in pairs': PUNCTUATION.flatMap((one) => PUNCTUATION.map((other) => of(`${one}${other} `))),
};
