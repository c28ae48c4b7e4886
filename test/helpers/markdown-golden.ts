import type { Directory, DirectoryUpload, RenderedMessage, RenderOptions } from '../../src/markdown/types.ts';

/** A test case of the Markdown dialect: the source and the expected HTML. */
export interface Golden {
  /** Category and construct that the case tests, such as "blocks: quote". */
  readonly row: string;
  readonly source: string;
  readonly html: string;
  readonly options?: RenderOptions;
  /** Expected results other than the HTML, such as mentioned users. Absent keys must have their default value. */
  readonly does?: Partial<Omit<RenderedMessage, 'html'>>;
}

const users = [
  { id: 31, fullName: 'Full Name', isActive: true },
  { id: 32, fullName: 'Full Name', isActive: true },
  { id: 33, fullName: "O'Hara & <Sons>", isActive: true },
  { id: 34, fullName: 'Gone Person', isActive: false },
];
const groups = [
  { id: 17, name: 'group', displayName: 'group', isActive: true },
  { id: 19, name: 'tide*x', displayName: 'tide*x', isActive: true },
  { id: 18, name: 'old', displayName: 'old', isActive: false },
  { id: 6, name: 'role:administrators', displayName: 'Administrators', isActive: true },
];
const channels = [
  { id: 9, name: 'channel' },
  { id: 10, name: 'R. and D. (v1) ü' },
];
const latest = new Map([
  ['9 topic', 1234],
  ['9 ', 1234],
]);

const uploaded = (id: number, name: string, mediaType: string, image?: Partial<DirectoryUpload['image']>) => ({
  ...{ id, url: `/user_uploads/2/${name}`, name, mediaType },
  image: image
    ? { url: `/user_uploads/thumbnail/2/${name}/840x560.webp`, width: 600, height: 400, isAnimated: false, ...image }
    : null,
});
const uploads = [
  uploaded(1, 'sea.png', 'image/png', {}),
  uploaded(2, 'waves.gif', 'image/gif', { isAnimated: true }),
  uploaded(3, 'clip.mp4', 'video/mp4'),
  uploaded(4, 'clip.webm', 'video/webm'),
  uploaded(5, 'song.mp3', 'audio/mpeg'),
  ...['aac', 'flac', 'mp4', 'ogg', 'wav'].map((type, i) => uploaded(6 + i, `song.${type}`, `audio/${type}`)),
  uploaded(11, 'notes.txt', 'text/plain'),
  uploaded(12, 'broken.png', 'image/png'),
  uploaded(13, 'clip.mov', 'video/quicktime'),
  // The content decides, not the name.
  uploaded(14, 'movie.mp4', 'application/octet-stream'),
  uploaded(15, 'movie.txt', 'video/mp4'),
];

/** The users, groups, channels and uploaded files to which the golden texts refer. */
export const directory: Directory = {
  organizationUrl: 'https://chat.example.org',
  emptyTopicName: 'general chat',
  userNamed: (name) => users.find(({ fullName }) => fullName.toLowerCase() === name.toLowerCase()),
  userWithId: (userId) => users.find(({ id }) => id === userId),
  groupNamed: (name) => groups.find((group) => group.name.toLowerCase() === name.toLowerCase()),
  channelNamed: (name) => channels.find((channel) => channel.name === name),
  latestMessageId: (channelId, topic) => latest.get(`${channelId} ${topic.toLowerCase()}`),
  customEmoji: (name) => (name === 'party_duck' ? { url: '/emoji/2.gif' } : undefined),
  upload: (url) => uploads.find((one) => one.url === `/${url.replace(/^\//, '').split(/[?#]/, 1)[0]}`),
};

const row = (
  row: string,
  source: string,
  html: string,
  { options, ...does }: Golden['does'] & { options?: RenderOptions } = {},
): Golden => ({ row, source, html, ...(options && { options }), does });

const p = (html: string) => `<p>${html}</p>`;
const code = (html: string, attribute = '') =>
  `<div class="codehilite"${attribute}><pre><span></span><code>${html}\n</code></pre></div>`;
const inLanguage = (name: string) => ` data-code-language="${name}"`;
const emoji = (name: string, codePoints: string, label = name.replaceAll('_', ' ')) =>
  `<span aria-label="${label}" class="emoji emoji-${codePoints}" role="img" title="${label}">:${name}:</span>`;
/** Returns the address from which an image of a website is loaded. */
export const imageAddress = (url: string): string => `/external_content/${Buffer.from(url).toString('hex')}`;
const preview = (url: string, title = '') =>
  `<div class="message_inline_image"><a href="${url}"${title && ` title="${title}"`}><img src="${imageAddress(url)}"></a></div>`;
const link = (url: string, text = url) => `<a href="${url}">${text}</a>`;

/** The output of the math engine for "x". */
const MATH_X =
  '<semantics><mrow><mi>x</mi></mrow><annotation encoding="application/x-tex">x</annotation></semantics></math></span>' +
  '<span class="katex-html" aria-hidden="true"><span class="katex-base"><span class="katex-strut" style="height:0.4306em;">' +
  '</span><span class="mord mathnormal">x</span></span></span></span>';
const MATH = '<span class="katex"><span class="katex-mathml"><math xmlns="http://www.w3.org/1998/Math/MathML"';
const INLINE_X = `${MATH}>${MATH_X}`;
const DISPLAY_X = `<span class="katex-display">${MATH} display="block">${MATH_X}</span>`;

const file = (name: string) => `/user_uploads/2/${name}`;
const video = (name: string, href = file(name)) =>
  `<div class="message_inline_image message_inline_video"><a href="${href}">` +
  `<video preload="metadata" src="${file(name)}"></video></a></div>`;
const audio = (name: string, title = name) =>
  `<audio controls preload="metadata" src="${file(name)}" title="${title}"></audio>`;
const original = (type: string) => ` data-original-dimensions="600x400" data-original-content-type="image/${type}"`;
const thumbnail = (name: string) => `src="/user_uploads/thumbnail/2/${name}/840x560.webp"`;
const sea = (alt: string) =>
  `<img alt="${alt}" class="inline-image"${original('png')} data-original-src="${file('sea.png')}" ${thumbnail('sea.png')}>`;
const seaPreview = `<div class="message_inline_image"><a href="${file('sea.png')}" title="sea"><img${original('png')} ${thumbnail('sea.png')}></a></div>`;
/** Properties of a text with uploaded files: it has them, but no link. */
const files = (...ids: number[]) => ({ hasAttachment: true, attachmentIds: ids });
const linked = (...ids: number[]) => ({ hasLink: true, ...files(...ids) });

const LINKS: Golden['does'] = { hasLink: true };
const IMAGE = { ...LINKS, hasImage: true, options: { imageAddress } };

/**
 * Cases of every construct of the dialect with its HTML, at least one each. Comments state the chosen behavior where clients
 * leave it undefined.
 */
export const GOLDEN: readonly Golden[] = [
  row('text: empty', '', ''),
  row('text: blocks', 'a\n\n\nb', '<p>a</p>\n<p>b</p>'),
  row('text: escaping', '<b title="x">\'&</b>', p('&lt;b title="x"&gt;\'&amp;&lt;/b&gt;')),
  row('text: escaping', '`<b title="x">\'&amp;`', p('<code>&lt;b title="x"&gt;\'&amp;amp;</code>')),
  row('text: escaping', '```\n<b title="x">\'&\n```', code('&lt;b title=&quot;x&quot;&gt;&#39;&amp;')),

  // blocks
  row('blocks: paragraph', 'a\nb', '<p>a<br>\nb</p>'),
  row('blocks: paragraph', 'a  \nb ', '<p>a  <br>\nb </p>'),
  // Indentation is kept on later lines, and removed from the first line.
  row('blocks: paragraph', '  a\n   b', '<p>a<br>\n   b</p>'),
  ...[1, 2, 3, 4, 5, 6].map((n) => row('blocks: heading', `${'#'.repeat(n)} H *i*`, `<h${n}>H <em>i</em></h${n}>`)),
  row('blocks: heading', '#H', p('#H')),
  // Only line feeds end a line. Other separators are spaces.
  ...['\u2028', '\u2029', '\v', '\f', '\u0085'].map((separator) =>
    row('blocks: heading', `# H${separator}*i*`, `<h1>H${separator}<em>i</em></h1>`),
  ),
  // A heading mark without text is a paragraph.
  row('blocks: heading', '# ', p('# ')),
  row('blocks: heading', '## H ##', '<h2>H</h2>'),
  row('blocks: heading', '####### H', p('####### H')),
  row('blocks: heading', 'H\n===', '<p>H<br>\n===</p>'),
  row('blocks: heading', 'a\n# H\nb', '<p>a</p>\n<h1>H</h1>\n<p>b</p>'),
  row('blocks: list', '* x', '<ul>\n<li>x</li>\n</ul>'),
  row('blocks: list', '* x\n- y\n+ z', '<ul>\n<li>x</li>\n<li>y</li>\n<li>z</li>\n</ul>'),
  row('blocks: list', 'text\n- x', '<p>text</p>\n<ul>\n<li>x</li>\n</ul>'),
  row('blocks: list', '*x\n-', '<p>*x<br>\n-</p>'),
  row('blocks: nested list', '* outer\n  * inner', '<ul>\n<li>outer<ul>\n<li>inner</li>\n</ul>\n</li>\n</ul>'),
  row('blocks: nested list', '1. a\n  - b', '<ol>\n<li>a<ul>\n<li>b</li>\n</ul>\n</li>\n</ol>'),
  row('blocks: continuation', '* outer\n  text', '<ul>\n<li>outer<br>\n  text</li>\n</ul>'),
  row('blocks: loose list', '* x\n\n* y', '<ul>\n<li>\n<p>x</p>\n</li>\n<li>\n<p>y</p>\n</li>\n</ul>'),
  row('blocks: loose list', '* x\ny', '<ul>\n<li>x<br>\ny</li>\n</ul>'),
  row('blocks: loose list', '* x\n\n  y', '<ul>\n<li>\n<p>x</p>\n<p>y</p>\n</li>\n</ul>'),
  row('blocks: numbered list', '1. x\n1. y', '<ol>\n<li>x</li>\n<li>y</li>\n</ol>'),
  row('blocks: numbered list', '3. x\n9. y', '<ol start="3">\n<li>x</li>\n<li>y</li>\n</ol>'),
  row(
    'blocks: numbered list',
    '1. x\n   4. y\n2. z',
    '<ol>\n<li>x<ol start="4">\n<li>y</li>\n</ol>\n</li>\n<li>z</li>\n</ol>',
  ),
  // Bullets and numbers never share a list.
  row('blocks: numbered list', '1. x\n* y', '<ol>\n<li>x</li>\n</ol>\n<ul>\n<li>y</li>\n</ul>'),
  // A one-digit number starts a list within a paragraph, a year does not.
  row('blocks: numbered list', 'It was\n1984. So', '<p>It was<br>\n1984. So</p>'),
  row('blocks: quote', '> x', '<blockquote>\n<p>x</p>\n</blockquote>'),
  row('blocks: quote', '> x\ny', '<blockquote>\n<p>x<br>\ny</p>\n</blockquote>'),
  row('blocks: quote', '> x\n\n> y', '<blockquote>\n<p>x</p>\n</blockquote>\n<blockquote>\n<p>y</p>\n</blockquote>'),
  row('blocks: quote', '>', p('&gt;')),
  row('blocks: quote', '>>\n>', '<p>&gt;&gt;<br>\n&gt;</p>'),
  // An empty quoted line separates two paragraphs of one quote.
  row('blocks: quote', '> x\n>\n> y', '<blockquote>\n<p>x</p>\n<p>y</p>\n</blockquote>'),
  row('blocks: quote fence', '```quote\n*x*\n```\ny', '<blockquote>\n<p><em>x</em></p>\n</blockquote>\n<p>y</p>'),
  row('blocks: quote fence', '~~~ quoted\nx', '<blockquote>\n<p>x</p>\n</blockquote>'),
  row(
    'blocks: quote fence',
    '````quote\n```quote\nx\n```\ny\n````',
    '<blockquote>\n<blockquote>\n<p>x</p>\n</blockquote>\n<p>y</p>\n</blockquote>',
  ),
  row(
    'blocks: quote fence',
    '```quote\n~~~\n```\n~~~\nx\n```\ny',
    `<blockquote>\n${code('```')}\n<p>x</p>\n</blockquote>\n<p>y</p>`,
  ),
  row('blocks: fence', '```\ntext\n```', code('text')),
  row('blocks: fence', '~~~~\n~~~\ntext', code('~~~\ntext')),
  row('blocks: fence', '```\ntext\n````\n```', code('text\n````')),
  row('blocks: fence', '```\n\n\n  text  \n\n\n```', code('  text')),
  row('blocks: fence', 'a\n```\n*x* :heart: @**Full Name**\n```', `<p>a</p>\n${code('*x* :heart: @**Full Name**')}`),
  row('blocks: fence', '``\nx\n``', p('<code>\nx\n</code>')),
  row(
    'blocks: fence with language',
    '```python\ndef f(n):\n    return "a" + 1\n```',
    code(
      '<span class="k">def</span> <span class="nf">f</span><span class="p">(</span><span class="n">n</span>' +
        '<span class="p">):</span>\n    <span class="k">return</span> <span class="s2">&quot;a&quot;</span> ' +
        '<span class="o">+</span> <span class="mi">1</span>',
      inLanguage('Python'),
    ),
  ),
  row('blocks: fence with language', '``` {.py}\nx\n```', code('<span class="n">x</span>', inLanguage('Python'))),
  row('blocks: fence with language', '```JS\nx\n```', code('<span class="n">x</span>', inLanguage('JavaScript'))),
  row(
    'blocks: fence with language',
    '```javascript\nx\n```',
    code('<span class="n">x</span>', inLanguage('JavaScript')),
  ),
  row('blocks: fence with language', '```latex\nx\n```', code('x', inLanguage('TeX'))),
  row('blocks: fence with language', '```FooBar\n<x>\n```', code('&lt;x&gt;', inLanguage('foobar'))),
  row('blocks: fence with language', '```\nx\n```', code('<span class="n">x</span>', inLanguage('Python')), {
    options: { defaultCodeLanguage: 'python' },
  }),
  row('blocks: indented code', '    a <b>\n\n      b', code('a &lt;b&gt;\n\n  b')),
  row('blocks: indented code', '    a', code('a'), { options: { defaultCodeLanguage: 'python' } }),
  row('blocks: indented code', '  a', p('a')),
  row('blocks: math', '```math\nx\n```', p(DISPLAY_X)),
  row('blocks: math', '```math\nx\n\nx\n```', `<p>${DISPLAY_X}</p>\n<p>${DISPLAY_X}</p>`),
  row('blocks: math', "```math\n\\frac{a'<\n```", p('<span class="tex-error">\\frac{a&#x27;&lt;</span>')),
  row(
    'blocks: spoiler',
    '```spoiler Header\ncontent\n```',
    '<div class="spoiler-block"><div class="spoiler-header">\n<p>Header</p>\n</div>' +
      '<div class="spoiler-content" aria-hidden="true">\n<p>content</p>\n</div></div>',
  ),
  row(
    'blocks: spoiler',
    '``` spoiler **H**\n* x\n```',
    '<div class="spoiler-block"><div class="spoiler-header">\n<p><strong>H</strong></p>\n</div>' +
      '<div class="spoiler-content" aria-hidden="true">\n<ul>\n<li>x</li>\n</ul>\n</div></div>',
  ),
  row(
    'blocks: spoiler',
    '```spoiler\ncontent\n```',
    '<div class="spoiler-block"><div class="spoiler-header">\n</div>' +
      '<div class="spoiler-content" aria-hidden="true">\n<p>content</p>\n</div></div>',
  ),
  row('blocks: spoiler', '```spoiler H~\ncontent', p('```spoiler H~<br>\ncontent')),
  // A pipe within code does not end a cell.
  row(
    'blocks: table',
    '| `a|b` | c |\n|-|-|\n| ``x`|y`` | `1\\|2` |',
    '<table>\n<thead>\n<tr>\n<th><code>a|b</code></th>\n<th>c</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>x`|y</code></td>\n' +
      '<td><code>1|2</code></td>\n</tr>\n</tbody>\n</table>',
  ),
  // Within a mention, a link or a formula, a pipe does not end a cell.
  ...(
    [
      [
        '@**Full Name|32**',
        '<span class="user-mention" data-user-id="32">@Full Name</span>',
        { mentionedUserIds: [32] },
      ],
      ['@_**|31**', '<span class="user-mention silent" data-user-id="31">Full Name</span>'],
      ['#**x|y**', '#**x|y**'],
      [
        '#**channel>a|b**',
        '<a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-channel/topic/a.7Cb">#channel &gt; a|b</a>',
        LINKS,
      ],
      ['[x|y](http://u.org/a|b "c|d")', '<a href="http://u.org/a|b" title="c|d">x|y</a>', LINKS],
      ['$$_x|y$$', '$$_x', undefined, 'y$$'],
      ['@**Full Name | 3**', '@**Full Name', undefined, '3**'],
      ['[x|y]', '[x', undefined, 'y]'],
      ['[x](u.org |', `[x](${link('http://u.org', 'u.org')}`, LINKS, ''],
    ] as [string, string, Golden['does']?, string?][]
  ).map(([cell, first, does, second = 'z']) =>
    row(
      'blocks: table',
      `|a|b|\n|-|-|\n|${cell}|z|`,
      '<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n' +
        `<tbody>\n<tr>\n<td>${first}</td>\n<td>${second}</td>\n</tr>\n</tbody>\n</table>`,
      does,
    ),
  ),
  row(
    'blocks: table',
    '| a | b |\n|---|---|\n| 1 | *2* |',
    '<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n' +
      '<tbody>\n<tr>\n<td>1</td>\n<td><em>2</em></td>\n</tr>\n</tbody>\n</table>',
  ),
  row(
    'blocks: table',
    'a|b|c\n:--|:-:|--:\n1|2|3',
    '<table>\n<thead>\n<tr>\n<th style="text-align: left;">a</th>\n<th style="text-align: center;">b</th>\n' +
      '<th style="text-align: right;">c</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td style="text-align: left;">1</td>\n' +
      '<td style="text-align: center;">2</td>\n<td style="text-align: right;">3</td>\n</tr>\n</tbody>\n</table>',
  ),
  // A table without rows still has a body.
  row(
    'blocks: table',
    '| a |\n|---|',
    '<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n</tbody>\n</table>',
  ),
  ...['---', '***', '___'].map((rule) => row('blocks: rule', `a\n${rule}\nb`, '<p>a</p>\n<hr>\n<p>b</p>')),
  row('blocks: task list', '- [ ] x\n- [x] y', '<ul>\n<li>[ ] x</li>\n<li>[x] y</li>\n</ul>'),
  row('blocks: /me', '/me *waves*', p('/me <em>waves</em>')),
  row('blocks: /poll', '/poll Q\na', '<p>/poll Q<br>\na</p>'),
  row('blocks: /todo', '/todo T\na: b', '<p>/todo T<br>\na: b</p>'),
  row('blocks: unsupported', '[a]: http://b.c\n[a]', `<p>[a]: ${link('http://b.c')}<br>\n[a]</p>`, LINKS),
  row('blocks: unsupported', '<div>\n*x*\n</div>', '<p>&lt;div&gt;<br>\n<em>x</em><br>\n&lt;/div&gt;</p>'),
  row('blocks: unsupported', '\\*x\\* _x_ __x__', p('\\<em>x\\</em> _x_ __x__')),

  // inline
  row('inline: code', '`c`', p('<code>c</code>')),
  row('inline: code', '`` c`*c* ``', p('<code> c`*c* </code>')),
  row('inline: code', '`c ``', p('`c ``')),
  row('inline: strong emphasis', '***x***', p('<strong><em>x</em></strong>')),
  row('inline: math', '$$x$$', p(INLINE_X)),
  row('inline: math', 'a$$x$$ $$x$$a $$$x$$ $$_x$$', p('a$$x$$ $$x$$a $$$x$$ $$_x$$')),
  row(
    'inline: math',
    '$$\\text{\\$}$$',
    p(
      `${MATH}><semantics><mrow><mtext>$</mtext></mrow>
    <annotation encoding="application/x-tex">\\text{\\$}</annotation></semantics></math></span>
    <span class="katex-html" aria-hidden="true"><span class="katex-base">
    <span class="katex-strut" style="height:0.8056em;vertical-align:-0.0556em;"></span>
    <span class="mord text"><span class="mord">$</span></span></span></span></span>`.replace(/\n\s*/g, ''),
    ),
  ),
  row('inline: math', "$$\\frac{a'$$", p('<span class="tex-error">$$\\frac{a\'$$</span>')),
  row(
    'inline: time',
    '<time:2024-01-02T03:04:05+01:00>',
    p('<time datetime="2024-01-02T02:04:05Z">2024-01-02T03:04:05+01:00</time>'),
  ),
  row('inline: time', '<time:1704161045>', p('<time datetime="2024-01-02T02:04:05Z">1704161045</time>')),
  row(
    'inline: time',
    '<time:Jan 2, 2024 3:04 PM>',
    p('<time datetime="2024-01-02T15:04:00Z">Jan 2, 2024 3:04 PM</time>'),
  ),
  row('inline: time', '<time:2024-01-02 03:04>', p('<time datetime="2024-01-02T03:04:00Z">2024-01-02 03:04</time>')),
  row('inline: time', '<time:26 Nov 2026 10 am>', p('<time datetime="2026-11-26T10:00:00Z">26 Nov 2026 10 am</time>')),
  row('inline: time', '<time:Feb 30, 2024>', p('&lt;time:Feb 30, 2024&gt;')),
  row('inline: time', '<time:Mon, 27 Nov 2026>', p('&lt;time:Mon, 27 Nov 2026&gt;')),
  row('inline: time', '<time:soon & *x*>', p('&lt;time:soon &amp; *x*&gt;')),
  row(
    'inline: link',
    '[t](http://u.org/?a=1&b="2")',
    p('<a href="http://u.org/?a=1&amp;b=&quot;2&quot;">t</a>'),
    LINKS,
  ),
  row('inline: link', '[t](url.org "title")', p('<a href="http://url.org" title="title">t</a>'), LINKS),
  row(
    'inline: link',
    '[](https://u.org) [ ](https://u.org)',
    p(`${link('https://u.org')} ${link('https://u.org')}`),
    LINKS,
  ),
  // A label without visible characters counts as blank.
  ...['\u200b', '`\u200b`', '&nbsp;', '\u2800&#8203;'].map((label) =>
    row('inline: link', `[${label}](http://u.org)`, p(link('http://u.org')), LINKS),
  ),
  row(
    'inline: link',
    '[t](a@u.org) [t](/x) [t](#x)',
    p(`${link('mailto:a@u.org', 't')} ${link('/x', 't')} ${link('#x', 't')}`),
    LINKS,
  ),
  row('inline: link', '[t](javascript:x)', p('[t](javascript:x)')),
  row(
    'inline: link',
    '[`c` **b** :heart: u.org](geo:1,2)',
    p('<a href="geo:1,2"><code>c</code> **b** :heart: u.org</a>'),
    LINKS,
  ),
  row('inline: link', '[t](https://chat.example.org/#narrow/dm/1)', p(link('#narrow/dm/1', 't')), LINKS),
  row(
    'inline: bare link',
    'https://chat.example.org/user_uploads/2/a.txt',
    p(link('user_uploads/2/a.txt', 'https://chat.example.org/user_uploads/2/a.txt')),
    LINKS,
  ),
  // Brackets that already contain a link are not the label of another link.
  row(
    'inline: link',
    '[a #**channel**](u.org)',
    p(
      '[a <a class="stream" data-stream-id="9" href="/#narrow/channel/9-channel">#channel</a>](<a href="http://u.org">u.org</a>)',
    ),
    LINKS,
  ),
  row('inline: bare link', 'https://u.org/a?b=1&c=2', p(link('https://u.org/a?b=1&amp;c=2')), LINKS),
  row(
    'inline: bare link',
    'u.org, (u.org/x). <u.org>',
    p(
      `${link('http://u.org', 'u.org')}, (${link('http://u.org/x', 'u.org/x')}). &lt;${link('http://u.org', 'u.org')}&gt;`,
    ),
    LINKS,
  ),
  row('inline: bare link', 'a.b-c@u.org!', p(`${link('mailto:a.b-c@u.org', 'a.b-c@u.org')}!`), LINKS),
  row(
    'inline: bare link',
    'Main.java a.md a.mov a.py a.zip a.nonsense',
    p('Main.java a.md a.mov a.py a.zip a.nonsense'),
  ),
  ...[
    ['**', '<strong>', '</strong>'],
    ['*', '<em>', '</em>'],
    ['~~', '<del>', '</del>'],
  ].map(([mark, open, close]) =>
    row(
      'inline: bare link in marks',
      `${mark}https://u.org/a${mark}`,
      p(`${open}${link('https://u.org/a')}${close}`),
      LINKS,
    ),
  ),
  row('inline: bare link in marks', '[http://u.org/a]', p(`[${link('http://u.org/a')}]`), LINKS),
  row(
    'inline: bare link in marks',
    '**jo@u.org**',
    p(`<strong>${link('mailto:jo@u.org', 'jo@u.org')}</strong>`),
    LINKS,
  ),
  // Text in scripts without spaces, and emoji, can precede or follow an address without a space.
  ...(
    [
      ['请看', 'https://u.org/a', '。然后'],
      ['a请看', 'https://u.org', '然后'],
      ['ดู', 'https://u.org:80/灯塔', '，然后'],
      ['「', 'https://u.org/a', '」'],
      ['“', 'https://u.org/a', '”'],
    ] as const
  ).map(([before, url, after]) =>
    row('inline: bare link in unspaced text', `${before}${url}${after}`, p(`${before}${link(url)}${after}`), LINKS),
  ),
  // If the path is ASCII, the URL ends before the first letter of a script that is written without spaces (Chinese, Thai, …).
  // If the path already has non-ASCII letters, such a letter belongs to the URL.
  ...(
    [
      ['', 'https://u.org/a', '를 보세요'],
      ['', 'https://u.org/a?b=1', 'を見て'],
      ['', 'https://u.org/a_(b)', '里'],
      ['', 'https://u.org/a.html', 'ครับ'],
      ['', 'https://ja.wikipedia.org/wiki/灯台', ''],
      ['', 'https://u.org/灯a灯/b灯', '。'],
      ['', 'https://u.org/a_灯?q=灯台', ''],
      ['', 'https://u.org/café/é', ''],
      ['', 'https://u.org/a', '～'],
      ['', 'https://u.org/a', '…'],
      ['', 'https://u.org/a', '…b'],
      ['', 'https://u.org/a', '\u200b'],
      ['', 'https://u.org/a', '\u2060b'],
      ['', 'https://u.org/a', '\u200d'],
      ['', 'https://u.org/a–b', '—'],
      ['—', 'https://u.org/a', ''],
      ['…', 'https://u.org/a', ''],
      ['x—', 'https://u.org/a', ''],
      ['»', 'https://u.org', '«'],
      ['', 'https://u.org', '—x'],
      ...['؟', '،', '؛', '۔', '।', '։', '።', '’', '›'].map((mark) => ['', 'https://u.org/a', `${mark} x`] as const),
      ['', 'https://u.org/a', 'ལ'],
      ['→', 'https://u.org/a', ''],
      ['★', 'https://u.org/a', ''],
      ['', 'https://उदाहरण.भारत/पथ', '।'],
    ] as const
  ).map(([before, url, after]) =>
    row('inline: bare link in other text', `${before}${url}${after}`, p(`${before}${link(url)}${after}`), LINKS),
  ),
  row(
    'inline: bare link in other text',
    'u.org؟ me@u.org، उदाहरण.भारत me@उदाहरण.भारत',
    p(
      `${link('http://u.org', 'u.org')}؟ ${link('mailto:me@u.org', 'me@u.org')}، ` +
        `${link('http://उदाहरण.भारत', 'उदाहरण.भारत')} ${link('mailto:me@उदाहरण.भारत', 'me@उदाहरण.भारत')}`,
    ),
    LINKS,
  ),
  row(
    'inline: bare link in other text',
    '—u.org… …me@u.org—',
    p(`—${link('http://u.org', 'u.org')}… …${link('mailto:me@u.org', 'me@u.org')}—`),
    LINKS,
  ),
  row(
    'inline: bare link in a list',
    'jo@u.org/al@u.org/x',
    p('jo@u.org/al@u.org/x').replace('jo@u.org', link('mailto:jo@u.org', 'jo@u.org')),
    LINKS,
  ),
  row(
    'inline: bare link in a list',
    'jo@u.example/al@u.example',
    p(['jo', 'al'].map((n) => link(`mailto:${n}@u.example`, `${n}@u.example`)).join('/')),
    LINKS,
  ),
  row(
    'inline: bare link in unspaced text',
    '看u.org然后，联系bo@u.orgへ',
    p(`看${link('http://u.org', 'u.org')}然后，联系${link('mailto:bo@u.org', 'bo@u.org')}へ`),
    LINKS,
  ),
  row(
    'inline: bare link in unspaced text',
    '🚢http://u.org',
    p(`${emoji('ship', '1f6a2')}${link('http://u.org')}`),
    LINKS,
  ),
  row(
    'inline: bare link in unspaced text',
    '❤️http://u.org',
    p(`${emoji('heart', '2764')}${link('http://u.org')}`),
    LINKS,
  ),
  row(
    'inline: bare link in unspaced text',
    'http://u.org/a🚢 http://u.org/🚢',
    p(`${link('http://u.org/a')}${emoji('ship', '1f6a2')} ${link('http://u.org/🚢')}`),
    LINKS,
  ),
  row(
    'inline: bare link in unspaced text',
    '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}http://u.org',
    p(`${emoji('england', '1f3f4-e0067-e0062-e0065-e006e-e0067-e007f')}${link('http://u.org')}`),
    LINKS,
  ),
  row(
    'inline: bare link in marks',
    '看**http://u.org/a**看',
    p(`看<strong>${link('http://u.org/a')}</strong>看`),
    LINKS,
  ),
  row('inline: bare link', "o'brien@u.org", p(link("mailto:o'brien@u.org", "o'brien@u.org")), LINKS),
  row('inline: bare link', "'jo@u.org'", p(`'${link('mailto:jo@u.org', 'jo@u.org')}'`), LINKS),
  row(
    'inline: bare link in a list',
    'jo@u.org,al@u.org',
    p(['jo', 'al'].map((n) => link(`mailto:${n}@u.org`, `${n}@u.org`)).join(',')),
    LINKS,
  ),
  row(
    'inline: bare link in a list',
    'http://u.org/a,http://u.org/b',
    p([link('http://u.org/a'), link('http://u.org/b')].join(',')),
    LINKS,
  ),
  row(
    'inline: bare link in a list',
    'u.org;v.org',
    p([link('http://u.org', 'u.org'), link('http://v.org', 'v.org')].join(';')),
    LINKS,
  ),
  row('inline: bare link', '`c`http://u.org', p(`<code>c</code>${link('http://u.org')}`), LINKS),
  row('inline: bare link', '[t](u.org)http://u.org', p(`${link('http://u.org', 't')}${link('http://u.org')}`), LINKS),
  row('inline: bare link', 'http://u.org/a(1', p(link('http://u.org/a(1')), LINKS),
  row(
    'inline: bare link',
    '(http://u.org/a(1) http://u.org/b((',
    p(`(${link('http://u.org/a(1)')} ${link('http://u.org/b')}((`),
    LINKS,
  ),
  ...[
    'quay-js@2.6.11',
    'a@1.0.0-beta.rc',
    'x@v2.5.1',
    'lodash@4.x',
    'icon@2x.png',
    'pkg@next.js',
    'pkg@next.rc1',
    'a@b.c.TSX',
    'xhttp://u.org',
    'u=http://u.org',
  ].map((text) => row('inline: no bare link', text, p(text))),
  row('inline: bare link', 'me@163.com', p(link('mailto:me@163.com', 'me@163.com')), LINKS),
  row('inline: bare link', 'http://u.org/a_(b_(c))/d', p(link('http://u.org/a_(b_(c))/d')), LINKS),
  row('inline: bare link', 'x/u.org', p('x/u.org')),
  // Emphasis marks after a URL are not part of the URL.
  row('inline: bare link', '**see http://u.org/x**', p(`<strong>see ${link('http://u.org/x')}</strong>`), LINKS),
  row('inline: entity', '&amp; &#60; &lt;b&gt; &nonsense; &', p('&amp; &#60; &lt;b&gt; &amp;nonsense; &amp;')),
  row(
    'inline: strong',
    '**b *i* `c`** ** x **',
    p('<strong>b <em>i</em> <code>c</code></strong> <strong> x </strong>'),
  ),
  row('inline: strong', '**b\nb**', '<p>**b<br>\nb**</p>'),
  row('inline: emphasis', '*i* * i* *i * *i^i* 2*3*4', p('<em>i</em> * i* *i * *i^i* 2<em>3</em>4')),
  row('inline: deleted', '~~s s~~ ~s~ ~~~s~~', p('<del>s s</del> ~s~ ~~~s~~')),
  row('inline: emoji', ':heart_eyes: :thumbs_up:', p(`${emoji('heart_eyes', '1f60d')} ${emoji('thumbs_up', '1f44d')}`)),
  row('inline: emoji', ':nonsense: 10:30:45 :x_y:heart:', p(`:nonsense: 10:30:45 :x_y${emoji('heart', '2764')}`)),
  row(
    'inline: emoji',
    ':party_duck:',
    p('<img alt=":party_duck:" class="emoji" src="/emoji/2.gif" title="party duck">'),
  ),
  row('inline: emoticon', ':) <3', p(':) &lt;3')),
  row(
    'inline: emoticon',
    ':) (: :( <3 :| :/ ;) :D :o :O :p :P',
    p(
      [
        ...['slight_smile 1f642', 'slight_smile 1f642', 'frown 1f641', 'heart 2764', 'neutral 1f610', 'confused 1f615'],
        ...['wink 1f609', 'smile 1f642', 'open_mouth 1f62e', 'open_mouth 1f62e'],
        ...['stuck_out_tongue 1f61b', 'stuck_out_tongue 1f61b'],
      ]
        .map((face) => face.split(' '))
        .map(([name = '', codePoint = '']) => emoji(name, codePoint))
        .join(' '),
    ),
    { options: { translateEmoticons: true } },
  ),
  row('inline: emoticon', 'a:) :pa 4:D (:) `:)`', p(`a:) :pa 4:D ${emoji('slight_smile', '1f642')}) <code>:)</code>`), {
    options: { translateEmoticons: true },
  }),
  row('inline: Unicode emoji', '😍 👍', p(`${emoji('heart_eyes', '1f60d')} ${emoji('thumbs_up', '1f44d')}`)),
  row('inline: Unicode emoji', '❤ ❤️ © 1 →', p(`❤ ${emoji('heart', '2764')} © 1 →`)),
  row('inline: Unicode emoji', '👍🏽', p('👍🏽')),

  // mentions
  row('mentions: user', 'Hi @**Full Name**!', p('Hi <span class="user-mention" data-user-id="31">@Full Name</span>!'), {
    mentionedUserIds: [31],
  }),
  row('mentions: user', '@**full NAME**', p('<span class="user-mention" data-user-id="31">@Full Name</span>'), {
    mentionedUserIds: [31],
  }),
  row('mentions: user', '@**Full Name|32**', p('<span class="user-mention" data-user-id="32">@Full Name</span>'), {
    mentionedUserIds: [32],
  }),
  row('mentions: user', '@**|31**', p('<span class="user-mention" data-user-id="31">@Full Name</span>'), {
    mentionedUserIds: [31],
  }),
  row('mentions: user', '@**Full Name|33** @**Full Name|99**', p('@**Full Name|33** @**Full Name|99**')),
  row(
    'mentions: user',
    '@**|33**',
    p('<span class="user-mention" data-user-id="33">@O\'Hara &amp; &lt;Sons&gt;</span>'),
    {
      mentionedUserIds: [33],
    },
  ),
  row(
    'mentions: silent user',
    '@_**Full Name**',
    p('<span class="user-mention silent" data-user-id="31">Full Name</span>'),
  ),
  row(
    'mentions: silent user',
    '@_**Full Name|32**',
    p('<span class="user-mention silent" data-user-id="32">Full Name</span>'),
  ),
  ...['all', 'everyone', 'channel', 'stream'].map((word) =>
    row(
      'mentions: channel wildcard',
      `@**${word}**`,
      p(`<span class="user-mention channel-wildcard-mention" data-user-id="*">@${word}</span>`),
      { channelWildcard: true },
    ),
  ),
  row('mentions: channel wildcard', '@**All**', p('@**All**')),
  row('mentions: topic wildcard', '@**topic**', p('<span class="topic-mention">@topic</span>'), {
    topicWildcard: true,
  }),
  row(
    'mentions: silent wildcard',
    '@_**all** @_**topic**',
    p(
      '<span class="user-mention channel-wildcard-mention silent" data-user-id="*">all</span> ' +
        '<span class="topic-mention silent">topic</span>',
    ),
  ),
  row('mentions: group', '@*Group*', p('<span class="user-group-mention" data-user-group-id="17">@group</span>'), {
    mentionedGroupIds: [17],
  }),
  row(
    'mentions: silent group',
    '@_*group*',
    p('<span class="user-group-mention silent" data-user-group-id="17">group</span>'),
  ),
  row(
    'mentions: role group',
    '@*role:administrators*',
    p('<span class="user-group-mention" data-user-group-id="6">@Administrators</span>'),
    { mentionedGroupIds: [6] },
  ),
  // Unknown mentions are literal text. No other construct is parsed within them.
  row('mentions: unknown', '@**Nobody** @_**Nobody** @*nobody*', p('@**Nobody** @_**Nobody** @*nobody*')),
  row('mentions: unknown', '@*<time:\u2028> *', p('@*&lt;time:\u2028&gt; *')),
  row('mentions: unknown', '@*no\u2029body*', p('@*no\u2029body*')),
  // No name can be that long. A construct at its beginning is kept.
  ...(
    [
      ['`x`', '<code>x</code>'],
      ['<time:x>', '&lt;time:x&gt;'],
      ['#**channel**', '<a class="stream" data-stream-id="9" href="/#narrow/channel/9-channel">#channel</a>', LINKS],
    ] as [string, string, Golden['does']?][]
  ).map(([start, html, does]) =>
    row('mentions: unknown', `@*${start}${'y'.repeat(250)}*`, p(`@*${html}${'y'.repeat(250)}*`), does),
  ),
  row(
    'mentions: start',
    '\'@**|31** "@**|31** (@**|31** {@**|31** [@**|31** /@**|31** <@**|31**',
    p(
      ["'", '"', '(', '{', '[', '/', '&lt;']
        .map((mark) => `${mark}<span class="user-mention" data-user-id="31">@Full Name</span>`)
        .join(' '),
    ),
    { mentionedUserIds: [31] },
  ),
  ...(
    [
      ['请', '看'],
      ['，', '。'],
      ['~~', '~~', '<del>', '</del>'],
      ['*', '*', '<em>', '</em>'],
      ['**', '**', '<strong>', '</strong>'],
      ['«', '»'],
    ] as const
  ).map(([before, after, open = before, close = after]) =>
    row(
      'mentions: start',
      `${before}@**Full Name**${after}`,
      p(`${open}<span class="user-mention" data-user-id="31">@Full Name</span>${close}`),
      { mentionedUserIds: [31] },
    ),
  ),
  // A mention is ignored only within a word.
  ...(
    [
      ...['hi,', 'cc:', '…', '—', '•', '¿', '|', '>>', 'x)', 'x.', '&', '\\'].map((before) => [before, before]),
      ['`x`', '<code>x</code>'],
      ['[x](http://u.org)', link('http://u.org', 'x'), LINKS],
      ['http://u.org ', `${link('http://u.org')} `, LINKS],
      [':ship:', emoji('ship', '1f6a2')],
      ['❤️', emoji('heart', '2764')],
    ] as [string, string, Golden['does']?][]
  ).map(([before, html, does]) =>
    row(
      'mentions: start',
      `a ${before}@**Full Name**,@_**|31**.@*group*;#**channel**`,
      p(
        `a ${html.replaceAll('&', '&amp;').replaceAll('>>', '&gt;&gt;')}` +
          '<span class="user-mention" data-user-id="31">@Full Name</span>,' +
          '<span class="user-mention silent" data-user-id="31">Full Name</span>.' +
          '<span class="user-group-mention" data-user-group-id="17">@group</span>;' +
          '<a class="stream" data-stream-id="9" href="/#narrow/channel/9-channel">#channel</a>',
      ),
      { ...LINKS, ...does, mentionedUserIds: [31], mentionedGroupIds: [17] },
    ),
  ),
  ...['a', 'é', 'e\u0301', 'я', '1', '_', '@'].map((before) =>
    row('mentions: start', `${before}@*group*#*`, p(`${before}@<em>group</em>#*`)),
  ),
  row(
    'mentions: start',
    '🚢@*group*',
    p(`${emoji('ship', '1f6a2')}<span class="user-group-mention" data-user-group-id="17">@group</span>`),
    {
      mentionedGroupIds: [17],
    },
  ),
  row(
    'mentions: start',
    '看#**channel**',
    p('看<a class="stream" data-stream-id="9" href="/#narrow/channel/9-channel">#channel</a>'),
    LINKS,
  ),
  // The longest matching group name is used. Names can contain stars.
  row(
    'mentions: group',
    '@*tide*x* *y*',
    p('<span class="user-group-mention" data-user-group-id="19">@tide*x</span> <em>y</em>'),
    {
      mentionedGroupIds: [19],
    },
  ),
  row('mentions: start', 'a@**Full Name**', p('a@<strong>Full Name</strong>')),
  row(
    'mentions: deactivated',
    '@**Gone Person** @*old*',
    p(
      '<span class="user-mention silent" data-user-id="34">Gone Person</span> ' +
        '<span class="user-group-mention silent" data-user-group-id="18">old</span>',
    ),
  ),
  row(
    'mentions: quoted',
    '> @**Full Name** @**all** @**topic** @*group*',
    '<blockquote>\n<p><span class="user-mention silent" data-user-id="31">Full Name</span> ' +
      '<span class="user-mention channel-wildcard-mention silent" data-user-id="*">all</span> ' +
      '<span class="topic-mention silent">topic</span> ' +
      '<span class="user-group-mention silent" data-user-group-id="17">group</span></p>\n</blockquote>',
  ),
  row(
    'mentions: quoted',
    '```quote\n@**Full Name**\n```\n@**Full Name|32**',
    '<blockquote>\n<p><span class="user-mention silent" data-user-id="31">Full Name</span></p>\n</blockquote>\n' +
      '<p><span class="user-mention" data-user-id="32">@Full Name</span></p>',
    { mentionedUserIds: [32] },
  ),
  row('mentions: code', '`@**Full Name**` `#**channel**`', p('<code>@**Full Name**</code> <code>#**channel**</code>')),

  // places
  row(
    'places: channel',
    '#**channel**',
    p('<a class="stream" data-stream-id="9" href="/#narrow/channel/9-channel">#channel</a>'),
    LINKS,
  ),
  row(
    'places: topic',
    '#**channel>topic**',
    p(
      '<a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-channel/topic/topic/with/1234">#channel &gt; topic</a>',
    ),
    LINKS,
  ),
  row(
    'places: topic',
    '#**channel>new & (50%) a.b**',
    p(
      '<a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-channel/topic/new.20.26.20.2850.25.29.20a.2Eb">' +
        '#channel &gt; new &amp; (50%) a.b</a>',
    ),
    LINKS,
  ),
  row(
    'places: empty topic',
    '#**channel>**',
    p(
      '<a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-channel/topic//with/1234">' +
        '#channel &gt; <em>general chat</em></a>',
    ),
    LINKS,
  ),
  row(
    'places: empty topic',
    '#**R. and D. (v1) ü>**',
    p(
      '<a class="stream-topic" data-stream-id="10" href="/#narrow/channel/10-R.2E-and-D.2E-.28v1.29-.C3.BC/topic/">' +
        '#R. and D. (v1) ü &gt; <em>general chat</em></a>',
    ),
    LINKS,
  ),
  row(
    'places: message',
    '#**channel>topic@1234**',
    p('<a class="message-link" href="/#narrow/channel/9-channel/topic/topic/near/1234">#channel &gt; topic @ 💬</a>'),
    LINKS,
  ),
  row(
    'places: message',
    '#**channel>@1234**',
    p(
      '<a class="message-link" href="/#narrow/channel/9-channel/topic//near/1234">#channel &gt; <em>general chat</em> @ 💬</a>',
    ),
    LINKS,
  ),
  row(
    'places: unknown',
    '#**Channel** #**secret>topic** #**secret>t@1**',
    p('#**Channel** #**secret>topic** #**secret>t@1**'.replaceAll('>', '&gt;')),
  ),
  row(
    'places: encoded',
    '[#channel > a&#96;b](#narrow/channel/9/topic/a.60b)',
    p('<a href="#narrow/channel/9/topic/a.60b">#channel &gt; a&#96;b</a>'),
    LINKS,
  ),

  // pictures
  row('pictures: image', 'https://u.org/a.png', preview('https://u.org/a.png'), IMAGE),
  row('pictures: image', 'https://u.org/a.png', p(link('https://u.org/a.png')), LINKS),
  row(
    'pictures: image',
    'see u.org/a.JPG',
    `<p>see ${link('http://u.org/a.JPG', 'u.org/a.JPG')}</p>\n${preview('http://u.org/a.JPG')}`,
    IMAGE,
  ),
  row(
    'pictures: image',
    '[text](https://u.org/a.gif)',
    `<p>${link('https://u.org/a.gif', 'text')}</p>\n${preview('https://u.org/a.gif', 'text')}`,
    IMAGE,
  ),
  row(
    'pictures: once',
    'https://u.org/a.png\n\nhttps://u.org/a.png',
    `${preview('https://u.org/a.png')}\n<p>${link('https://u.org/a.png')}</p>`,
    IMAGE,
  ),
  row(
    'pictures: quote',
    '> https://u.org/a.png\n\n`https://u.org/a.png`',
    `<blockquote>\n<p>${link('https://u.org/a.png')}</p>\n</blockquote>\n<p><code>https://u.org/a.png</code></p>`,
    { ...LINKS, options: { imageAddress } },
  ),
  row(
    'pictures: block',
    '* https://u.org/a.png\n* b',
    `<ul>\n<li>${link('https://u.org/a.png')}\n${preview('https://u.org/a.png')}\n</li>\n<li>b</li>\n</ul>`,
    IMAGE,
  ),

  // players
  row(
    'videos: upload',
    `[clip](${file('clip.mp4')})`,
    `${p(link(file('clip.mp4'), 'clip'))}\n${video('clip.mp4')}`,
    linked(3),
  ),
  // A link to the organization's own host is relative. A bare link is replaced by the preview.
  row(
    'videos: upload',
    'https://chat.example.org/user_uploads/2/clip.webm',
    video('clip.webm', 'user_uploads/2/clip.webm'),
    linked(4),
  ),
  row(
    'videos: once',
    `[a](${file('clip.mp4')})\n\n[b](${file('clip.mp4')})`,
    `${p(link(file('clip.mp4'), 'a'))}\n${video('clip.mp4')}\n${p(link(file('clip.mp4'), 'b'))}`,
    linked(3),
  ),
  row(
    'videos: quote',
    `> [a](${file('clip.mp4')})`,
    `<blockquote>\n${p(link(file('clip.mp4'), 'a'))}\n</blockquote>`,
    linked(3),
  ),
  row('videos: code', `\`[a](${file('clip.mp4')})\``, p(`<code>[a](${file('clip.mp4')})</code>`)),
  row(
    'videos: block',
    `# [a](${file('clip.mp4')})\n* [b](${file('clip.webm')})`,
    `<h1>${link(file('clip.mp4'), 'a')}</h1>\n${video('clip.mp4')}\n` +
      `<ul>\n<li>${link(file('clip.webm'), 'b')}\n${video('clip.webm')}\n</li>\n</ul>`,
    linked(3, 4),
  ),
  row(
    'videos: with images',
    `[sea](${file('sea.png')}) [clip](${file('clip.mp4')})`,
    `${p(`${link(file('sea.png'), 'sea')} ${link(file('clip.mp4'), 'clip')}`)}\n${seaPreview}\n${video('clip.mp4')}`,
    { ...linked(1, 3), hasImage: true },
  ),
  // The media type is that of the content. Files of other types, and files of other websites, are links.
  row(
    'videos: type',
    `[a](${file('movie.txt')})`,
    `${p(link(file('movie.txt'), 'a'))}\n${video('movie.txt')}`,
    linked(15),
  ),
  row(
    'videos: type',
    ['clip.mov', 'movie.mp4', 'notes.txt'].map((name) => `[a](${file(name)})`).join(' '),
    p(['clip.mov', 'movie.mp4', 'notes.txt'].map((name) => link(file(name), 'a')).join(' ')),
    linked(13, 14, 11),
  ),
  row('videos: website', 'https://u.org/a.mp4', p(link('https://u.org/a.mp4')), {
    ...LINKS,
    options: { imageAddress },
  }),
  ...['mp3', 'aac', 'flac', 'mp4', 'ogg', 'wav'].map((ending, i) =>
    row('sounds: media', `![](${file(`song.${ending}`)})`, p(audio(`song.${ending}`)), files(5 + i)),
  ),
  row(
    'sounds: media',
    `Hear ![my "song" &amp; <b>](${file('song.mp3')} "x")!`,
    p(`Hear ${audio('song.mp3', 'my &quot;song&quot; &amp; &lt;b&gt;')}!`),
    files(5),
  ),
  row('sounds: link', `[song](${file('song.mp3')})`, p(link(file('song.mp3'), 'song')), linked(5)),
  row('images: media', `![the\nsea](${file('sea.png')})`, p(sea('the sea')), { ...files(1), hasImage: true }),
  row('images: media', `**![](https://chat.example.org/user_uploads/2/sea.png)**`, p(`<strong>${sea('')}</strong>`), {
    ...files(1),
    hasImage: true,
  }),
  row(
    'images: media',
    `![](${file('waves.gif')})`,
    p(
      `<img alt="" class="inline-image"${original('gif')} data-animated="true" data-original-src="${file('waves.gif')}" ${thumbnail('waves.gif')}>`,
    ),
    { ...files(2), hasImage: true },
  ),
  row(
    'images: media in blocks',
    `# ![a](${file('sea.png')})\n* ![b](${file('sea.png')})\n\n|![c](${file('sea.png')})|\n|-|\n|![d](${file('song.mp3')})|`,
    `<h1>${sea('a')}</h1>\n<ul>\n<li>${sea('b')}</li>\n</ul>\n<table>\n<thead>\n<tr>\n<th>${sea('c')}</th>\n</tr>\n</thead>\n` +
      `<tbody>\n<tr>\n<td>${audio('song.mp3', 'd')}</td>\n</tr>\n</tbody>\n</table>`,
    { ...files(1, 5), hasImage: true },
  ),
  row(
    'images: media in blocks',
    `\`\`\`spoiler ![a](${file('sea.png')})\n![b](${file('song.mp3')})\n\`\`\``,
    `<div class="spoiler-block"><div class="spoiler-header">\n${p(sea('a'))}\n</div>` +
      `<div class="spoiler-content" aria-hidden="true">\n${p(audio('song.mp3', 'b'))}\n</div></div>`,
    { ...files(1, 5), hasImage: true },
  ),
  // In a quote, media are links.
  row(
    'images: media in a quote',
    `> ![a](${file('sea.png')}) ![b](${file('song.mp3')})`,
    `<blockquote>\n${p(`${link(file('sea.png'), 'a')} ${link(file('song.mp3'), 'b')}`)}\n</blockquote>`,
    linked(1, 5),
  ),
  // All other targets are links, also files of websites and images that could not be read.
  row(
    'images: media of other types',
    `![a](${file('notes.txt')}) ![b](${file('broken.png')}) ![c](/user_uploads/2/none.png) ![d](https://u.org/a.mp3) ![e](javascript:x)`,
    p(
      `!${link(file('notes.txt'), 'a')} !${link(file('broken.png'), 'b')} !${link('/user_uploads/2/none.png', 'c')} ` +
        `!${link('https://u.org/a.mp3', 'd')} ![e](javascript:x)`,
    ),
    linked(11, 12),
  ),
  row(
    'images: media of other types',
    `![a](${file('clip.mp4')})`,
    `${p(`!${link(file('clip.mp4'), 'a')}`)}\n${video('clip.mp4')}`,
    linked(3),
  ),
  // A label with a construct is that of a link: an image could not show a mention.
  row(
    'images: media with a construct',
    `![\`a\`](${file('sea.png')})`,
    `${p(`!<a href="${file('sea.png')}"><code>a</code></a>`)}\n${seaPreview.replace('title="sea"', 'title="`a`"')}`,
    { ...linked(1), hasImage: true },
  ),
  // The label of a link has no media.
  row(
    'images: media in a link',
    `[![a](${file('sea.png')})](https://u.org)`,
    p(link('https://u.org', `![a](${file('sea.png')})`)),
    LINKS,
  ),
  row(
    'images: media in a link',
    `![![a](${file('sea.png')})](${file('sea.png')})`,
    p(sea(`![a](${file('sea.png')})`)),
    {
      ...files(1),
      hasImage: true,
    },
  ),
];

/** The text of the message that the service sends to moderators about a reported message. */
export const REPORT: Golden = row(
  '4.10',
  '@_**Full Name|31** reported a message sent by @_**Full Name|32** at <time:2024-01-02T02:04:05Z>.\n' +
    '```quote\n**Spam**. It is *one*\n```\n\n' +
    '```` spoiler Original message at #**channel>topic@1234**\n```\n@**all** <b>\n```\n````',
  '<p><span class="user-mention silent" data-user-id="31">Full Name</span> reported a message sent by ' +
    '<span class="user-mention silent" data-user-id="32">Full Name</span> at ' +
    '<time datetime="2024-01-02T02:04:05Z">2024-01-02T02:04:05Z</time>.</p>\n' +
    '<blockquote>\n<p><strong>Spam</strong>. It is <em>one</em></p>\n</blockquote>\n' +
    '<div class="spoiler-block"><div class="spoiler-header">\n<p>Original message at ' +
    '<a class="message-link" href="/#narrow/channel/9-channel/topic/topic/near/1234">#channel &gt; topic @ 💬</a></p>\n' +
    '</div><div class="spoiler-content" aria-hidden="true">\n' +
    `${code('@**all** &lt;b&gt;')}\n</div></div>`,
  LINKS,
);
