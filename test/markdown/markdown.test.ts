import { describe, expect, test } from 'vitest';
import { referencesIn } from '../../src/markdown/references.ts';
import {
  isMeMessage,
  renderMarkdown,
  renderMessage,
  topicLinks,
  UnrenderableError,
} from '../../src/markdown/render.ts';
import { parseTime } from '../../src/markdown/times.ts';
import type { RenderOptions } from '../../src/markdown/types.ts';
import { markdownTrial } from '../faults/markdown.ts';
import { cpuMsOf } from '../helpers/cpu-time.ts';
import { directory, GOLDEN, type Golden, REPORT } from '../helpers/markdown-golden.ts';
import { PATHOLOGICAL, REPEATED } from '../helpers/pathological-markup.ts';
import { violationsOf } from '../helpers/safe-html.ts';

const render = (source: string, options: RenderOptions = {}) => renderMessage(source, directory, options);
const htmlOf = (source: string, options: RenderOptions = {}) => render(source, options).html;

describe('renders as documented', () => {
  const nothing = {
    channelWildcard: false,
    topicWildcard: false,
    hasLink: false,
    hasImage: false,
    hasAttachment: false,
    attachmentIds: [],
  };
  const rows = Map.groupBy<string, Golden>([...GOLDEN, REPORT], ({ row }) => row);

  test.each([...rows])('%s', (_, cases) => {
    for (const { source, html, options, does } of cases) {
      const expected = { ...nothing, mentionedUserIds: [], mentionedGroupIds: [], ...does, html };
      expect(render(source, options), source).toEqual(expected);
      expect(violationsOf(html), source).toEqual([]);
    }
  });

  test('a description contains no mentions, channel links or previews', () => {
    expect(renderMarkdown('*All* of @**Full Name**, @**all**, @*group*, #**channel**')).toBe(
      '<p><em>All</em> of @**Full Name**, @**all**, @*group*, #**channel**</p>',
    );
    expect(renderMarkdown('https://u.org/a.png')).toBe('<p><a href="https://u.org/a.png">https://u.org/a.png</a></p>');
  });

  test('a pipe within a formula does not end a cell', () => {
    expect(htmlOf('|a|b|\n|-|-|\n|$$|x|$$|z|')).toMatch(/class="katex".*\|x\|.*<\/td>\n<td>z<\/td>/s);
  });

  test('a message that starts with "/me " is an action of its sender', () => {
    expect(['/me waves', '/me', '/men wave', ' /me waves', 'a\n/me b'].map(isMeMessage)).toEqual([
      ...[true, false, false, false, false],
    ]);
  });

  test('a message shows at most 24 images', () => {
    const images = (count: number) => Array.from({ length: count }, (_, i) => `[a](https://u.org/${i}.png)`).join(' ');
    const options = { imageAddress: (url: string) => url };
    expect(htmlOf(images(24), options).match(/<img/g)).toHaveLength(24);
    expect(render(images(25), options)).toEqual({ ...render(images(25)), hasImage: false });
  });

  test('times are parsed in many formats, and an invalid date is text', () => {
    const at = '2024-01-02T15:04:05.000Z';
    const forms = [
      ...[
        '1704207845',
        '1704207845.9',
        '2024-01-02T15:04:05Z',
        '2024-01-02 16:04:05+01:00',
        '2024-01-02t15:04:05.123z',
      ],
      ...['2 Jan 2024 15:04:05', 'January 2nd, 2024 at 3:04:05 p.m.', 'Tue Jan 02 2024 16:04:05 GMT+0100 (CET)'],
      ...['1/2/2024 10:04:05 AM EST', 'Tuesday, 2 January 2024 15:04:05 UTC', '2024-01-02 3:04:05 PM'],
      ...['Tues 2024-01-02 15:04:05', 'Wed, 3 Jan 2024 00:04:05 +0900'],
      ...['2-Jan-2024 15:04:05', 'Jan. 2, 2024 3:04:05 pm', '2. Jan 2024 15:04:05', '2 Jan 2024 17:04:05 UTC+2'],
      ...['2024 Jan 2 at 15:04:05', '2024/1/2 20:34:05 +0530', '3:04:05 pm, 2 Jan 2024'],
    ];
    for (const form of forms) expect(parseTime(form)?.toISOString(), form).toBe(at);
    const others = [
      '',
      'soon',
      'may 2',
      '10:30',
      '2024-02-30',
      '2024-13-01',
      'foo 2024-01-02',
      '9'.repeat(13),
      '2024 <b>',
      ...['Feb 30, 2024', '31 April 2024', '29 Feb 2023', '2/30/2024', '13/1/2024', '11-26-2026', '2024-02-30T10:00Z'],
      ...[
        '2 Jan 2024 24:00',
        '2 Jan 2024 10:60',
        '2 Jan 2024 13 pm',
        '2 Jan 2024 0 am',
        '2024-01-02 24:00',
        '2 Jan 24',
      ],
      ...['Mon, 2 Jan 2024', 'Wednesday 1/2/2024', 'Tue 2024-01-03', 'Wed Jan 02 2024 23:30 -0500'],
      ...['30-Feb-2024', '2-Jan-24', '2 Jan 2024 10:00 UTC+25'],
      ...['2 Jan 2024 10:00 11:00', '2 Jan 2024 3 Feb 2024', '2024-01-02T15:04:60Z', 'Jan 2024'],
    ];
    for (const other of others) expect(parseTime(other), other).toBeUndefined();
  });

  test('the links of a topic are its addresses, with a protocol', () => {
    expect(topicLinks('see https://u.org/a_(b), then u.org/c. Or me@u.org, #**channel>x** a.md')).toEqual([
      { text: 'https://u.org/a_(b)', url: 'https://u.org/a_(b)' },
      { text: 'u.org/c', url: 'https://u.org/c' },
    ]);
    expect(topicLinks('nothing here')).toEqual([]);
  });

  test('references are known before rendering, and most texts have none', () => {
    const nobody = {
      userNames: [],
      userIds: [],
      groupNames: [],
      groupNamesLikeUsers: [],
      channelNames: [],
      topics: [],
      wildcards: [],
    };
    const none = { ...nobody, emojiNames: [] };
    expect(referencesIn('*plain* text, a@b.org #1, at https://u.org :)')).toEqual(none);
    expect(referencesIn(':a:b-1: 10:30:15 :Upper: :ends_: :a: :)')).toEqual({
      ...none,
      emojiNames: ['a', 'b-1', '30'],
    });
    expect(referencesIn('hi :) <3', { translateEmoticons: true })).toEqual({
      ...none,
      emojiNames: ['slight_smile', 'heart'],
    });
    const source =
      '@**A B** @_**A B** @**C|5** @**|6** @**all** @*g* #**c** #**c>t** #**d>** #**e>t@7** #**c>t**\n@**topic**';
    expect(referencesIn(source)).toEqual({
      userNames: ['A B'],
      userIds: [5, 6],
      groupNames: ['g', 'g* #', 'g* #*', 'g* #**c', 'g* #**c*', 'g* #**c** #'],
      groupNamesLikeUsers: expect.arrayContaining(['*A B', '*A B*', '*C|5', '*all*']),
      channelNames: ['c', 'd', 'e'],
      topics: [
        { channel: 'c', topic: 't' },
        { channel: 'd', topic: '' },
      ],
      wildcards: ['all', 'topic'],
      emojiNames: [],
    });
    // Markup of blocks, such as quotes and tables, is not part of the text. It can precede a mention or occur within a name.
    const marked = [
      '>@**A**',
      '|@**A**|',
      '|@**B\\|4**|',
      'a@**x @**A**',
      '>#**c**',
      '|#**c>t**|',
      '>@*g*',
      '|#**c\\|d**|',
    ];
    expect(referencesIn(marked.join('\n'))).toEqual({
      userNames: ['A', 'x @'],
      userIds: [4],
      groupNames: ['g'],
      groupNamesLikeUsers: ['*A', '*A*', '*B\\|4', '*B\\|4*', '*x @', '*x @*', '*x @**A', '*x @**A*', '*B|4', '*B|4*'],
      channelNames: ['c', 'c\\|d', 'c|d'],
      topics: [{ channel: 'c', topic: 't' }],
      wildcards: [],
      emojiNames: [],
    });
  });
});

describe('no source text becomes markup of its own', () => {
  test('600 hostile texts render to safe HTML that a parser reads unchanged', async () => {
    const { violations, facts } = await markdownTrial({ texts: 600, seed: 1 });
    expect(violations).toEqual([]);
    expect(facts['without any markup']).toBeLessThan(200);
  });

  test('the checker detects forbidden markup', () => {
    const bad = [
      ...[
        '<script>x</script>',
        '<p onclick="x">a</p>',
        '<a href="javascript:x">a</a>',
        '<a href=" javascript:x">a</a>',
      ],
      ...[
        '<p>a<div>b</div></p>',
        '<em>a',
        '<img src="x">',
        '<img src="https://u.org/a.png">',
        '<svg></svg>',
        '<!-- a -->',
      ],
      ...['<a href="/a"><a href="/b">b</a></a>', '<span class="katex"><script></script></span>', '<p class="a">b</p>'],
      ...['<span class="katex"><span style="background:url(http://u.org)"></span></span>', '<p>a</p></p>', '<p a=b>'],
    ];
    for (const html of bad) expect(violationsOf(html), html).not.toEqual([]);
  });

  test('lone surrogates, null bytes and markers of the renderer are harmless', () => {
    const html = htmlOf('\ud800\ud800 `a` \udfff\0 \ud800\ud801 **\0b** $$\\char"D800$$ $$\\char0$$');
    expect(html.isWellFormed()).toBe(true);
    expect(html).not.toContain('\0');
    expect(html).toContain('<code>a</code>');
  });
});

describe('hostile texts render within limits', () => {
  // The time limit is far above the usual time. A parser that reads characters repeatedly would take minutes.
  test.each(Object.entries(PATHOLOGICAL))('%s', (_, source) => {
    const options = { translateEmoticons: true, imageAddress: (url: string) => url, defaultCodeLanguage: 'python' };
    let html = '';
    const ms = cpuMsOf(() => {
      html = render(source, options).html;
    });
    expect(ms).toBeLessThan(2_000);
    expect(html.length).toBeLessThan(1_000_000);
  });

  // A parser that reads characters repeatedly would take a thousand times as long for these 10,000 characters as for words.
  test.each(Object.entries(REPEATED))('not much slower than words: %s', (_, texts) => {
    const options = { translateEmoticons: true, imageAddress: (url: string) => url };
    const fastest = (source: string, tries: number) =>
      Math.min(...Array.from({ length: tries }, () => cpuMsOf(() => void render(source, options))));
    const words = 'See the report at https://u.org/a. '.padEnd(10_000, 'Some words of a long text, ');
    const limit = 200 * fastest(words, 10);
    const slow = texts.filter((text) => fastest(text, 1) > limit && fastest(text, 3) > limit);
    expect(slow.map((text) => `${text.slice(0, 10)}…${text.slice(-10)}`)).toEqual([]);
  });

  test('a table with more cells than a message can contain is text', () => {
    const table = (rows: number) => `${'|a'.repeat(100)}|\n${'|-'.repeat(100)}|\n${'b\n'.repeat(rows)}`;
    expect(htmlOf(table(90)).match(/<td>/g)).toHaveLength(9_000);
    expect(htmlOf(table(1_000))).not.toContain('<table>');
  });

  test('blocks nested too deeply are text, and nothing is lost', () => {
    for (const mark of ['> ', '* ', '1. ']) {
      const html = htmlOf(`${mark.repeat(200)}end`);
      expect(html.match(/<(?:blockquote|ul|ol)/g)?.length).toBeLessThan(30);
      expect(html).toContain('end');
    }
  });

  test('long code is not highlighted, and long formulas are shown as source', () => {
    const code = (length: number) => `\`\`\`js\n${'let x;\n'.repeat(length / 7)}\`\`\``;
    expect(htmlOf(code(4_900))).toContain('class="k"');
    expect(htmlOf(code(5_600))).toContain('data-code-language="JavaScript"><pre><span></span><code>let x;\nlet');
    expect(htmlOf(`$$${'x+'.repeat(900)}x$$`)).toContain('class="katex"');
    expect(htmlOf(`$$${'x+'.repeat(1_001)}x$$`)).toContain('<span class="tex-error">$$x+');
    const many = htmlOf('$$x$$ '.repeat(1_660));
    expect(many).toContain('class="katex"');
    expect(many.endsWith('<span class="tex-error">$$x$$</span> </p>')).toBe(true);
  });

  test('a formula cannot define names, write files or open addresses', () => {
    for (const formula of [
      '\\def\\a{x}\\a',
      '\\let\\a=x',
      '\\newcommand{\\a}{x}',
      '\\show x',
      '\\message{x}',
      '\\df@tag',
      '\\kern-999em x',
    ]) {
      expect(htmlOf(`$$${formula}$$`), formula).toContain('<span class="tex-error">');
    }
    expect(htmlOf('$$\\begin{matrix}a\\\\let\\end{matrix}$$')).toContain('class="katex"');
  });

  test('after the time limit, the text is rendered without highlighting and formulas', () => {
    const source = `**a** @**Full Name**\n\n${'$$x^2$$ '.repeat(500)}\n${'```js\nlet x = "a"\n```\n'.repeat(100)}`;
    const { html } = render(source, { milliseconds: 1 });
    expect(html).not.toContain('katex');
    expect(html).not.toContain('class="k"');
    expect(html).toContain('$$x^2$$');
    expect(violationsOf(html)).toEqual([]);
  });

  test('HTML of more than 100 times the longest message is refused', () => {
    expect(() => htmlOf('🥰'.repeat(10_000))).toThrow(UnrenderableError);
    expect(htmlOf('🥰'.repeat(5_000)).length).toBeGreaterThan(500_000);
  });
});
