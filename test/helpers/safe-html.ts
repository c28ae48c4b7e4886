import { html as names, parseFragment, serialize, type DefaultTreeAdapterTypes as Tree } from 'parse5';

/** Allowed attributes of an element, with the pattern of their values. */
type Attributes = Readonly<Record<string, RegExp>>;

const URL =
  /^(?:(?:https?|ftp|file|bitcoin|geo|im|irc|ircs|magnet|mailto|matrix|mms|news|nntp|openpgp4fpr|sip|sms|smsto|ssh|tel|urn|webcal|wtai|xmpp):|\/|#|user_uploads\/)/i;
/** Path of an uploaded file. It has no other segments, so that it leads to no other address of the service. */
const UPLOAD = /^\/user_uploads\/(?:thumbnail\/)?[\w-]+(?:\/[\w-][\w.-]*)+$/;
const ANY = /^/;
const NUMBER = /^[1-9]\d*$/;

/** Allowed elements of rendered text, with their attributes. */
const ELEMENTS: Readonly<Record<string, Attributes>> = {
  a: { href: URL, title: ANY, class: /^(?:stream|stream-topic|message-link)$/, 'data-stream-id': NUMBER },
  audio: { controls: /^$/, preload: /^metadata$/, src: UPLOAD, title: /./ },
  blockquote: {},
  br: {},
  code: {},
  del: {},
  div: {
    class:
      /^(?:codehilite|spoiler-block|spoiler-header|spoiler-content|message_inline_image(?: message_inline_video)?)$/,
    'aria-hidden': /^true$/,
    'data-code-language': ANY,
  },
  em: {},
  h1: {},
  h2: {},
  h3: {},
  h4: {},
  h5: {},
  h6: {},
  hr: {},
  img: {
    src: new RegExp(`^/external_content/[0-9a-f]+$|^/emoji/|${UPLOAD.source}`),
    alt: ANY,
    class: /^(?:emoji|inline-image)$/,
    title: ANY,
    'data-original-dimensions': /^[1-9]\d*x[1-9]\d*$/,
    'data-original-content-type': /^image\/[a-z]+$/,
    'data-original-src': UPLOAD,
    'data-animated': /^true$/,
  },
  li: {},
  ol: { start: /^\d{1,9}$/ },
  p: {},
  pre: {},
  span: {
    class:
      /^(?:(?:user-mention(?: channel-wildcard-mention)?|topic-mention|user-group-mention)(?: silent)?|emoji emoji-[0-9a-f-]+|tex-error|katex|katex-display|[a-z][a-z0-9]{0,2})$/,
    'data-user-id': /^(?:[1-9]\d*|\*)$/,
    'data-user-group-id': NUMBER,
    'aria-label': ANY,
    role: /^img$/,
    title: ANY,
  },
  strong: {},
  table: {},
  tbody: {},
  td: { style: /^text-align: (?:left|center|right);$/ },
  th: { style: /^text-align: (?:left|center|right);$/ },
  thead: {},
  time: { datetime: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/ },
  tr: {},
  ul: {},
  video: { preload: /^metadata$/, src: UPLOAD },
};

/** Matches styles with lengths, colors and keywords, but no styles that load or execute something, or cover other content. */
const FORMULA_STYLE =
  /^(?:(?:height|width|min-width|top|bottom|left|vertical-align|margin-(?:left|right)|padding-left|border-(?:bottom|right|top)-width|border-(?:top|right|bottom|left)|color|background-color|border-color|position|font-size|transform|border(?:-style|-width)?):[ #\w.%()-]{1,40};)*$/;
const WORD = /^[\w .#%+-]*$/;

/** Allowed elements and attributes within formulas: MathML, SVG and the spans of the math engine. */
const FORMULA_ELEMENTS: ReadonlySet<string> = new Set(
  (
    'span svg path line annotation math menclose merror mfrac mi mlabeledtr mn mo mover mpadded mphantom mroot mrow ms ' +
    'mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover semantics'
  ).split(' '),
);
const FORMULA_ATTRIBUTES: Attributes = {
  class: /^[\w -]*$/,
  style: FORMULA_STYLE,
  'aria-hidden': /^true$/,
  encoding: /^application\/x-tex$/,
  xmlns: /^http:\/\/www\.w3\.org\/(?:1998\/Math\/MathML|2000\/svg)$/,
  d: /^[MmLlHhVvCcSsQqTtAaZz\d\s.,-]*$/,
  viewBox: WORD,
  preserveAspectRatio: WORD,
  ...Object.fromEntries(
    (
      'accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form height href-none ' +
      'linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation ' +
      'rowalign rowlines rowspacing rspace scriptlevel separator side stretchy stroke-width symmetric voffset width x1 x2 y1 y2'
    )
      .split(' ')
      .map((name) => [name, WORD]),
  ),
};

/** Parse errors that do not affect markup. Browsers correct them silently, and texts can contain any character. */
const HARMLESS: ReadonlySet<string> = new Set([
  'control-character-in-input-stream',
  'noncharacter-in-input-stream',
  'control-character-reference',
  'noncharacter-character-reference',
  'unexpected-null-character',
]);

/**
 * Parses HTML as a browser does, independently of the renderer, and reports parts that rendered text must not contain.
 *
 * @returns One line for each violation: an element, attribute or address that is not allowed, HTML that is not
 * well-formed, or HTML that a browser parses differently after serializing it.
 */
export function violationsOf(html: string): string[] {
  const violations: string[] = [];
  const onParseError = ({ code }: { code: string }) => {
    if (!HARMLESS.has(code)) violations.push(`not well-formed: ${code}`);
  };
  const tree = parseFragment(html, { onParseError });
  for (const node of tree.childNodes) check(node, { violations, isFormula: false, isLink: false });
  if (outlineOf(tree.childNodes) !== tagsOf(html)) violations.push('not well-formed: tags that do not nest');
  const written = serialize(tree);
  if (serialize(parseFragment(written)) !== written) violations.push('read differently the second time');
  return violations;
}

interface Where {
  readonly violations: string[];
  readonly isFormula: boolean;
  readonly isLink: boolean;
}

function check(node: Tree.ChildNode, where: Where): void {
  if (node.nodeName === '#text') return;
  if (!('tagName' in node)) {
    where.violations.push(`a node ${node.nodeName}`);
    return;
  }
  const { tagName } = node;
  const isFormula = where.isFormula || (tagName === 'span' && /^katex/.test(attribute(node, 'class')));
  const attributes = isFormula ? FORMULA_ATTRIBUTES : ELEMENTS[tagName];
  if (attributes === undefined || (isFormula && !FORMULA_ELEMENTS.has(tagName))) {
    where.violations.push(`an element <${tagName}>`);
  }
  if (!isFormula && node.namespaceURI !== names.NS.HTML) where.violations.push(`<${tagName}> of ${node.namespaceURI}`);
  if (tagName === 'a' && where.isLink) where.violations.push('a link in a link');
  if (tagName === 'img' && /^\/external_content/.test(attribute(node, 'src')) && !where.isLink)
    where.violations.push('an image outside of a link');
  for (const { name, value } of node.attrs) {
    if (attributes !== undefined && !(Object.hasOwn(attributes, name) && attributes[name]?.test(value))) {
      where.violations.push(`<${tagName} ${name}="${value}">`);
    }
  }
  for (const child of node.childNodes) check(child, { ...where, isFormula, isLink: where.isLink || tagName === 'a' });
}

const attribute = (element: Tree.Element, name: string) => element.attrs.find((a) => a.name === name)?.value ?? '';

/** Returns the nesting of elements: "<p<br><em>>". */
function outlineOf(nodes: readonly Tree.ChildNode[]): string {
  return nodes.map((node) => ('tagName' in node ? `<${node.tagName}${outlineOf(node.childNodes)}>` : '')).join('');
}

const TAG = /<(\/?)([a-zA-Z][^\s/>]*)(?:[^"'>]|"[^"]*"|'[^']*')*?(\/?)>/g;
const VOID: ReadonlySet<string> = new Set(['br', 'hr', 'img']);

/**
 * Returns the nesting of the tags as written. If it differs from the nesting in the parsed tree, the browser corrected the
 * tags.
 */
function tagsOf(html: string): string {
  return [...html.matchAll(TAG)]
    .map(([, slash, name = '', selfClosing]) => {
      if (slash === '/') return '>';
      return VOID.has(name) || selfClosing === '/' ? `<${name}>` : `<${name}`;
    })
    .join('');
}
