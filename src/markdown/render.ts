import MarkdownIt from 'markdown-it';

/** Where a link may lead. @see endpoints companion D.2 */
const SCHEMES = new Set(
  (
    'http https ftp file bitcoin geo im irc ircs magnet mailto matrix mms news nntp openpgp4fpr sip sms smsto ssh tel ' +
    'urn webcal wtai xmpp'
  ).split(' '),
);

const markdown = new MarkdownIt('zero', { html: false, breaks: true, linkify: true });
markdown.enable(['paragraph', 'list', 'newline', 'backticks', 'emphasis', 'link', 'entity', 'linkify']);
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });

// Stars alone make emphasis: an underscore is a letter of a name.
markdown.inline.ruler.before('emphasis', 'underscore', (state, silent) => {
  if (state.src[state.pos] !== '_') return false;
  if (!silent) state.pending += '_';
  state.pos += 1;
  return true;
});

const plainNormalise = markdown.normalizeLink.bind(markdown);
markdown.normalizeLink = (url) => plainNormalise(absolute(url.trim()));
markdown.validateLink = (url) => {
  const scheme = schemeOf(url);
  return scheme === undefined ? /^[/#]/.test(url) : SCHEMES.has(scheme);
};

markdown.renderer.rules['text'] = (tokens, i) => escapeText(tokens[i]?.content ?? '');
markdown.renderer.rules['code_inline'] = (tokens, i) => `<code>${escapeText(tokens[i]?.content ?? '')}</code>`;

function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
}

/** A link without a scheme is an e-mail address, a place on this server, or a site. */
function absolute(url: string): string {
  if (url === '' || schemeOf(url) !== undefined || /^[/#]/.test(url)) return url;
  return url.includes('@') ? `mailto:${url}` : `http://${url}`;
}

/** Quotes stay as they are outside of attributes. @see endpoints companion D */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Flavoured Markdown as HTML: paragraphs, lists, emphasis, code and links. No HTML of the source gets through, and no
 * link leads where a script could run.
 *
 * @param source At most a message long; the work is linear in it.
 * @returns Block elements joined by newlines; "" for an empty source.
 * @see endpoints companion D
 */
export function renderMarkdown(source: string): string {
  return markdown.render(source).trimEnd();
}
