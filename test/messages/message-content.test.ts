import { describe, expect, test } from 'vitest';
import { partsOf } from '../../src/markdown/html-parts.ts';
import { renderMarkdown, renderMessage } from '../../src/markdown/render.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { directory } from '../helpers/markdown-golden.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

const FIELDS = `mentions { type isSilent user { databaseId } userGroup { databaseId } } links { text url } images { title url }`;
const read = async (by: Person, id: number): Promise<Json> =>
  (await by.query(`{ organization { url } message(by: { id: "${globalId('Message', id)}" }) { ${FIELDS} } }`)).message;

describe('the content of a message, as data', () => {
  test('has each mention once, in the order of the text', async () => {
    const { owner, member, guest, moderator } = await createOrganization();
    const channel = await channelOf(owner, 'general', [owner, member, guest, moderator]);
    const { group_id } = await owner.ok('POST', '/user_groups/create', { name: 'crew', description: '', members: [] });
    const content = [
      `@_**${moderator.name}|${moderator.id}** @**${member.name}** @*crew* @_**${member.name}|${member.id}** @**all**`,
      `@**topic** \`@**${owner.name}**\``,
      `> @**${guest.name}** @_*crew*`,
    ].join('\n\n');
    const id = await say(owner, channel, 'a', content);
    const mention = (type: string, more: object = {}) => ({
      ...{ type, isSilent: false, user: null, userGroup: null },
      ...more,
    });
    const user = ({ id: databaseId }: Person, isSilent: boolean) => mention('USER', { user: { databaseId }, isSilent });
    const expected = (group: object | null) => [
      user(moderator, true),
      user(member, false),
      mention('GROUP', { userGroup: group }),
      mention('CHANNEL'),
      mention('TOPIC'),
      user(guest, true),
    ];
    expect((await read(member, id)).mentions).toEqual(expected({ databaseId: group_id }));
    // Guests see no groups.
    expect((await read(guest, id)).mentions).toEqual(expected(null));
    await owner.ok('PATCH', `/messages/${id}`, { content: 'nothing' });
    expect(await read(member, id)).toEqual({ mentions: [], links: [], images: [] });
  });

  test('has links and images with absolute URLs', async () => {
    const { owner, member } = await createOrganization();
    const channel = await channelOf(owner, 'general', [owner, member]);
    const { organization } = await owner.query('{ organization { url } }');
    const first = await say(owner, channel, 'a & b', 'x');
    const content = [
      'See **[the bold &amp; :tada:](https://example.com/a?b=1&c="2")** or https://example.org, mail ann@example.com',
      '`https://example.net` #**general** [here](/#narrow/is/starred) [file](/user_uploads/1/a.txt) [other](//example.edu/x)',
      'https://example.com/a.png',
      '[a "cat"](https://example.com/cat.jpg?x=1&y=2)',
      `#**general>a & b@${first}**`,
    ].join('\n\n');
    const { links, images } = await read(member, await say(owner, channel, 'a', content));
    const { protocol } = new URL(organization.url);
    const channelUrl = `${organization.url}/#narrow/channel/${channel}-general`;
    expect(links).toEqual([
      { text: 'the bold & :tada:', url: 'https://example.com/a?b=1&c="2"' },
      { text: 'https://example.org', url: 'https://example.org' },
      { text: 'ann@example.com', url: 'mailto:ann@example.com' },
      { text: '#general', url: channelUrl },
      { text: 'here', url: `${organization.url}/#narrow/is/starred` },
      { text: 'file', url: `${organization.url}/user_uploads/1/a.txt` },
      { text: 'other', url: `${protocol}//example.edu/x` },
      { text: 'a "cat"', url: 'https://example.com/cat.jpg?x=1&y=2' },
      { text: '#general > a & b @ 💬', url: `${channelUrl}/topic/a.20.26.20b/near/${first}` },
    ]);
    expect(images).toEqual([
      { title: null, url: 'https://example.com/a.png' },
      { title: 'a "cat"', url: 'https://example.com/cat.jpg?x=1&y=2' },
    ]);
  });

  test('is in the event of the message', async () => {
    const { owner, member } = await createOrganization();
    const channel = await channelOf(owner, 'general', [owner, member]);
    const { queue_id: queueId } = await member.register({ event_types: ['message'] });
    await using stream = await member.events(`... on MessageSentEvent { message { ${FIELDS} } }`, { queueId });
    const id = await say(owner, channel, 'a', `@**${member.name}** https://example.com`);
    expect(await stream.next()).toEqual({ message: await read(member, id) });
  });
});

test('the parts of long hostile HTML are found in linear time', () => {
  const sources = ['[a](b.png)', '[<a href="', '@**', '<span class="user-mention', '&quot;', '[x]( "', '"\'<>'];
  for (const source of sources) {
    const html = renderMarkdown(source.repeat(10_000 / source.length));
    const before = performance.now();
    const { links, mentions } = partsOf(html);
    expect(performance.now() - before).toBeLessThan(500);
    expect(mentions).toEqual([]);
    for (const link of links) expect(link.text).not.toContain('<a ');
  }
});

test('players and images are found in the order of the text', () => {
  const [song, sea, clip] = ['song.mp3', 'sea.png', 'clip.mp4'].map((name) => `/user_uploads/2/${name}`);
  const source = `![a & "b"](${song}) ![c](${sea}) ![](${sea})\n\n[d](${clip})\n\n![](${song}) [e](${sea})`;
  const { players, images, links } = partsOf(renderMessage(source, directory).html);
  expect(players).toEqual([
    { type: 'audio', href: song, title: 'a & "b"' },
    { type: 'video', href: clip, title: null },
    { type: 'audio', href: song, title: 'song.mp3' },
  ]);
  expect(images.map(({ href, title }) => [href, title])).toEqual([
    [sea, 'c'],
    [sea, null],
    [sea, 'e'],
  ]);
  expect(links.map(({ href }) => href)).toEqual([clip, sea]);
});
