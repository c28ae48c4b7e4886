import { expect, test } from 'vitest';
import { channelLink, topicLink } from '../../src/web/type-ahead/link-syntax.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const rename = (person: Person, full_name: string) => person.ok('PATCH', '/settings', { full_name });

/** Sends a direct message to oneself. @returns The ids of the users that its HTML mentions, in order. */
async function mentionedIn(person: Person, content: string): Promise<number[]> {
  const { id } = await person.ok('POST', '/messages', { type: 'direct', to: [person.id], content });
  const { message } = await person.ok('GET', `/messages/${id}`, {});
  return [...message.content.matchAll(/data-user-id="(\d+)"/g)].map(([, found]) => Number(found));
}

const mentionName = async (person: Person, id: number): Promise<string> =>
  (await person.query('query ($id: ID!) { user(by: { id: $id }) { mentionName } }', { id: globalId('User', id) })).user
    .mentionName;

test('a mention resolves to active accounts first, then to the exact spelling, then to the oldest account', async () => {
  const { owner, member, moderator, guest } = await createOrganization();
  await rename(member, 'sam ray');
  await rename(owner, 'Sam Ray');
  await rename(guest, 'Zo Lind');
  const [oldest = 0] = [owner.id, member.id].sort((a, b) => a - b);
  const texts = '@**Sam Ray** @**sam ray** @**SAM RAY** @**Zo Lind**';
  expect(await mentionedIn(moderator, texts)).toEqual([owner.id, member.id, oldest, guest.id]);

  // If a user takes the name of another user, mentions of this name refer to the older account.
  await rename(moderator, 'Zo Lind');
  const [older = 0] = [guest.id, moderator.id].sort((a, b) => a - b);
  expect(await mentionedIn(owner, '@**Zo Lind** @**zo lind**')).toEqual([older, older]);

  await owner.ok('DELETE', `/users/${member.id}`);
  expect(await mentionedIn(owner, '@**sam ray**')).toEqual([owner.id]);
});

test('the mention text of a user contains the id if another account has the same name in any case', async () => {
  const { owner, member, guest } = await createOrganization();
  await rename(owner, 'Sam Ray');
  await rename(member, 'SAM ray');
  await rename(guest, 'Sam Rayner');
  expect(await mentionName(guest, owner.id)).toBe(`Sam Ray|${owner.id}`);
  expect(await mentionName(guest, member.id)).toBe(`SAM ray|${member.id}`);
  expect(await mentionName(guest, guest.id)).toBe('Sam Rayner');
  for (const id of [owner.id, member.id, guest.id]) {
    expect(await mentionedIn(guest, `@**${await mentionName(guest, id)}**`)).toEqual([id]);
  }
  await rename(owner, 'Ada');
  expect(await mentionName(guest, member.id)).toBe('SAM ray');
});

test('a mention can follow a quote or table mark, and its pipe does not end a cell', async () => {
  const { owner, guest } = await createOrganization();
  await rename(owner, 'Sam Ray');
  const table = `|a|\n|-|\n|@**Sam Ray**|\n|@_**Sam Ray|${owner.id}**|\n|@**Sam Ray\\|${owner.id}**|`;
  for (const [content, count] of [
    [table, 3],
    ['>@**Sam Ray**', 1],
    ['hi,@**Sam Ray**—@**Sam Ray**', 2],
  ] as const) {
    expect(await mentionedIn(guest, content), content).toEqual(Array(count).fill(owner.id));
  }
});

/** Sends a direct message to oneself. @returns The names of the groups that its HTML mentions, in order. */
async function groupsIn(person: Person, content: string): Promise<string[]> {
  const { id } = await person.ok('POST', '/messages', { type: 'direct', to: [person.id], content });
  const { message } = await person.ok('GET', `/messages/${id}`, {});
  return [...message.content.matchAll(/data-user-group-id="\d+">@?([^<]*)</g)].map(([, name = '']) => name);
}

test('groups are mentioned by names with stars at their ends, or with several stars', async () => {
  const { owner } = await createOrganization();
  const names = ['x*', '*x', 'a**b', '*mid*', '**y**', 'z', 'z*', '*q**r', '***', 'a`b`', '`c`'];
  for (const name of names) {
    await owner.ok('POST', '/user_groups/create', { name, description: '', members: [owner.id] });
  }
  // The chat page inserts this text if the user selects a suggested group.
  for (const name of names) {
    expect(await groupsIn(owner, `@*${name}* `), name).toEqual([name]);
    expect(await groupsIn(owner, `so (@_*${name}*), **bold** *and* more`), name).toEqual([name]);
  }
  for (const [content, ...mentioned] of [
    // If several names are possible, the longest one is mentioned.
    ['@*z* @*z** @*z**b', 'z', 'z*', 'z*'],
    ['@**x* and @*x** and **@*z* is bold**', '*x', 'x*', 'z'],
    ['| a | b |\n|-|-|\n| @**x* | @*a**b* |', '*x', 'a**b'],
    ['`@*x**` a@*x** @**w* @**w** @*w** @*w*', ...[]],
  ] as const) {
    expect(await groupsIn(owner, content), content).toEqual(mentioned);
  }
});

test('a mention of a user stays one, also if a group has its name between stars', async () => {
  const { owner, member } = await createOrganization();
  await rename(member, 'Sam Ray');
  for (const name of ['*Sam Ray', '*Sam Ray*', '*Sam Ray**', '*all*', '*Zo*', 'Sam Ray']) {
    await owner.ok('POST', '/user_groups/create', { name, description: '', members: [owner.id] });
  }
  for (const content of ['@**Sam Ray**', '*for @**sam ray***', '***@**Sam Ray*****', `@**Sam Ray|${member.id}** *x*`]) {
    expect(await mentionedIn(owner, content), content).toEqual([member.id]);
    expect(await groupsIn(owner, content), content).toEqual([]);
  }
  expect(await groupsIn(owner, '@**all** @**topic** @**Zo Lind**')).toEqual([]);
  expect(await groupsIn(owner, '@**Zo** @**Sam Ray* @*Sam Ray*')).toEqual(['*Zo*', '*Sam Ray', 'Sam Ray']);
});

test('the links that the page inserts for channels and topics with special characters lead to them', async () => {
  const { owner } = await createOrganization();
  for (const name of ['st*r & <x>', '*x', 'x*', 'a**b', '[b] `c`', 'a>b', '$$', '@**x**']) {
    const { id } = await owner.ok('POST', '/channels/create', { name, subscribers: [owner.id] });
    const channel = { databaseId: id, name };
    const links = [channelLink(channel), topicLink(channel, 'st*r & <x>')];
    const sent = await owner.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: links.join(' ') });
    const { message } = await owner.ok('GET', `/messages/${sent.id}`, {});
    const found = [...message.content.matchAll(/<a[^>]*href="[^"]*#narrow\/channel\/(\d+)-[^"]*"[^>]*>(.*?)<\/a>/g)];
    expect(
      found.map(([, to]) => Number(to)),
      name,
    ).toEqual([id, id]);
    const [, , label = ''] = found[0] ?? [];
    const entity = (_: string, code: string) => String.fromCharCode(Number(code));
    expect(label.replaceAll(/&#(\d+);/g, entity).replaceAll('&gt;', '>'), name).toBe(`#${name}`);
    expect(message.content.replaceAll(/<a.*?<\/a>/g, ''), name).toBe('<p> </p>');
  }
});
