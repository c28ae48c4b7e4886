import { parseFragment, serialize, type DefaultTreeAdapterTypes as Tree } from 'parse5';
import { expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

/** Message texts that contain the word "release", and Markdown that is difficult for a parser. */
const TEXTS: Readonly<Record<string, string>> = {
  'a formula in a line': 'The release $$release = \\text{release} + x_{release}$$ is near',
  'a formula by itself': 'release\n\n```math\n\\frac{release}{\\sqrt{release}} \\text{ the release }\n```\n',
  'several formulas': '$$release$$ and $$\\text{release}$$, release',
  'an invalid formula': '$$\\release{$$ release',
  'code in a line': 'call `release()` of release',
  'a block of code': '```python\ndef release(release):\n    return "release" # release\n```\n',
  'a link': '[release](https://release.example/release?release=release "release") of release',
  'a bare link': 'https://release.example/release and release',
  'an emoji beside it': ':octopus: release :tada:',
  'a list, a table, a quote': '* release\n\n| release | b |\n|---|---|\n| release | *release* |\n\n> release\n',
  'a spoiler': '```spoiler release\nrelease **release**\n```\n',
  'what looks like markup': 'release <b>release</b> &lt;release&gt; <math>release</math> &release;',
  'a time': '<time:2026-11-22T10:00:00Z> release',
};

/** Returns the highlighted texts of an HTML document, and the document without the highlights. */
function unmarked(html: string): { readonly marks: readonly string[]; readonly plain: string } {
  const fragment = parseFragment(html);
  const marks: string[] = [];
  const walk = (node: Tree.ParentNode) => {
    node.childNodes = node.childNodes.flatMap((child) => {
      if (!('childNodes' in child)) return [child];
      walk(child);
      const isMark = child.tagName === 'span' && child.attrs.some(({ value }) => value === 'highlight');
      if (!isMark) return [child];
      marks.push(serialize(child));
      return child.childNodes;
    });
  };
  walk(fragment);
  return { marks, plain: serialize(fragment) };
}

const parsed = (html: string) => serialize(parseFragment(html));

test('matches are marked in any text without changing the parsed document', async () => {
  const { member } = await createOrganization();
  const channel = await channelOf(member, 'general', [member]);
  const ids = new Map<number, string>();
  for (const [name, text] of Object.entries(TEXTS)) ids.set(await say(member, channel, 'release', text), name);
  for (const operand of ['release', '"release"', 'releases', '"the release"']) {
    const narrow = [{ operator: 'search', operand }];
    const { messages } = await member.ok('GET', '/messages', { anchor: 'newest', num_before: 100, narrow });
    if (operand !== '"the release"') expect(messages).toHaveLength(ids.size);
    for (const { id, content, match_content, match_subject } of messages as Json[]) {
      const what = `${operand} in ${ids.get(id)}: ${match_content}`;
      const { marks, plain } = unmarked(match_content);
      expect(plain, what).toBe(parsed(content));
      for (const mark of marks)
        expect(['release', 'the release'], what).toContain(mark.toLowerCase().replace('&nbsp;', ' '));
      if (operand === 'release') expect(marks.length, what).toBeGreaterThan(0);
      // The source of a formula, which the HTML contains, is not highlighted.
      expect(match_content.match(/<math.*?<\/math>/gs), what).toEqual(content.match(/<math.*?<\/math>/gs));
      if (operand === 'release') expect(match_subject).toBe('<span class="highlight">release</span>');
    }
  }
});
