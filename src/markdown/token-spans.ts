/** CSS classes in rendered code. The keys are the classes that the highlighter writes, without the prefix `hljs-`. */
const CLASSES: Readonly<Record<string, string>> = {
  keyword: 'k',
  literal: 'kc',
  type: 'kt',
  built_in: 'nb',
  symbol: 'ss',
  regexp: 'sr',
  'char escape_': 'se',
  operator: 'o',
  punctuation: 'p',
  title: 'nf',
  'title function_': 'nf',
  'title function_ invoke__': 'nf',
  'title class_': 'nc',
  'title class_ inherited__': 'nc',
  'variable constant_': 'no',
  'variable language_': 'bp',
  variable: 'nv',
  'template-variable': 'nv',
  property: 'n',
  attr: 'na',
  attribute: 'na',
  name: 'nt',
  'selector-tag': 'nt',
  'selector-id': 'nf',
  'selector-class': 'nc',
  'selector-attr': 'na',
  'selector-pseudo': 'nd',
  meta: 'cp',
  'meta prompt_': 'gp',
  'template-tag': 'cp',
  section: 'gh',
  emphasis: 'ge',
  strong: 'gs',
  addition: 'gi',
  deletion: 'gd',
  doctag: 'cs',
};

/** Classes of the highlighter that are ignored. Their text is treated like the code around them. */
const TRANSPARENT: ReadonlySet<string> = new Set(['params', 'subst', 'function', 'class', 'tag', 'meta-string']);

/**
 * Splits escaped code that no rule of the grammar matched into names (`n`), operators (`o`), punctuation (`p`), and the rest.
 */
const LEXEMES =
  /(?<n>[\p{L}_$@][\p{L}\p{N}_$]*)|(?<o>(?:::|:=|&lt;|&gt;|&amp;|[-+*/%=!^~|?])+)|(?<p>[()[\]{};,.:]+)|&[#\w]+;|\s+|./gu;

/**
 * Converts the highlighter's HTML to HTML with the CSS classes of rendered code. The spans of the highlighter can be nested,
 * the spans in the result are not.
 *
 * @param html Text and spans. In the text, `& < > " '` are escaped.
 * @param options `isCode` is true for a language in which the text between tokens consists of names and operators.
 */
export function tokenSpans(html: string, { isCode }: { isCode: boolean }): string {
  const open: (string | undefined)[] = [];
  let result = '';
  for (const [part, scope] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (scope !== undefined) open.push(kindOf(scope, open.at(-1)));
    else if (part === '</span>') open.pop();
    else result += textSpans(part.replaceAll('&#x27;', '&#39;'), open.at(-1), isCode);
  }
  return result;
}

/**
 * Returns how the content of a highlighter's span is rendered: a CSS class, "string", "number" or "comment". Undefined for code
 * without a class.
 */
function kindOf(scope: string, outer: string | undefined): string | undefined {
  const name = scope.replaceAll('hljs-', '');
  // The highlighter's classes of embedded languages have no prefix.
  if (TRANSPARENT.has(name) || scope.startsWith('language-')) return undefined;
  return CLASSES[name] ?? (/^(?:string|number|comment)$/.test(name) ? name : outer);
}

function textSpans(text: string, kind: string | undefined, isCode: boolean): string {
  if (kind !== undefined) return span(classOf(kind, text), text);
  if (!isCode) return text;
  let result = '';
  for (const { 0: lexeme, groups } of text.matchAll(LEXEMES)) {
    const name = Object.entries(groups ?? {}).find(([, value]) => value !== undefined)?.[0];
    result += name === undefined ? lexeme : span(name, lexeme);
  }
  return result;
}

const span = (name: string, text: string) => `<span class="${name}">${text}</span>`;

function classOf(kind: string, text: string): string {
  switch (kind) {
    case 'string':
      return text.startsWith('&#39;') ? 's1' : 's2';
    case 'number':
      return numberClass(text);
    case 'comment':
      return text.startsWith('/*') ? 'cm' : 'c1';
    default:
      return kind;
  }
}

function numberClass(text: string): string {
  if (/^0x/i.test(text)) return 'mh';
  return /^\d[\d_]*$/.test(text) ? 'mi' : 'mf';
}
