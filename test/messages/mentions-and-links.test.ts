import { afterAll, beforeAll, expect, test } from 'vitest';
import { referencesIn } from '../../src/markdown/references.ts';
import { renderMessage } from '../../src/markdown/render.ts';
import { loadDirectory } from '../../src/messages/sending/directory.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

let service: InProcess;
let there: Organization;

beforeAll(async () => {
  service = await shareInProcess({ counts: true });
  there = await createOrganization({}, { on: service });
});
afterAll(() => service[Symbol.asyncDispose]());

/** Renders a text with the permissions of its author. @returns The HTML, and the number of database queries. */
async function rendered(author: Pick<Person, 'id'>, source: string) {
  const { app } = service;
  const { organization, ...user } = await app.db.user.findFirstOrThrow({
    where: { id: author.id },
    include: { organization: true },
  });
  let result = '';
  const queries = await service.queriesOf(async () => {
    const directory = await loadDirectory(
      app.db,
      app,
      { id: user.id, role: user.role, organization, user },
      referencesIn(source),
    );
    result = renderMessage(source, directory).html.replace(/^<p>|<\/p>$/g, '');
  });
  return { html: result, queries: queries.length };
}

const channel = async (by: Person, settings: object) =>
  (await by.ok('POST', '/channels/create', { subscribers: [by.id], ...settings })).id;
const send = async (by: Person, to: number, topic: string) =>
  (await by.ok('POST', '/messages', { type: 'channel', to, topic, content: 'x' })).id;

test('users, groups, channels and topics are found if their author can see them', async () => {
  const { member, guest, administrator } = there;
  const open = await channel(member, { name: 'Open' });
  const secret = await channel(member, { name: 'Secret', invite_only: true });
  await send(member, open, 'Plans');
  const last = await send(member, open, 'plans');
  const namesake = await there.signUp('Ann', 'member');
  const ann = await there.signUp('Another', 'member');
  await administrator.ok('PATCH', `/users/${ann.id}`, { full_name: 'ANN' });
  await service.app.db.user.updateMany({ where: { id: namesake.id }, data: { isActive: false } });

  const link = `<a class="stream" data-stream-id="${open}" href="/#narrow/channel/${open}-Open">#Open</a>`;
  const topic =
    `<a class="stream-topic" data-stream-id="${open}" ` +
    `href="/#narrow/channel/${open}-Open/topic/PLANS/with/${last}">#Open &gt; PLANS</a>`;
  const unknown = await rendered(guest, '#**Open** #**Open>PLANS** #**open** #**Secret**');
  expect(unknown.html).toBe('#**Open** #**Open&gt;PLANS** #**open** #**Secret**');
  const text = '#**Open** #**Open>PLANS** #**open** #**Secret**';
  expect((await rendered(administrator, text)).html).toBe(`${link} ${topic} #**open** #**Secret**`);
  expect((await rendered(member, '#**Secret>new**')).html).toBe(
    `<a class="stream-topic" data-stream-id="${secret}" href="/#narrow/channel/${secret}-Secret/topic/new">#Secret &gt; new</a>`,
  );

  // If an active and a deactivated user have the same name, a mention refers to the active user.
  const people = await rendered(
    member,
    `@**ann** @_**Ann|${namesake.id}** @**|${ann.id}** @*Role:Administrators* @**Nobody**`,
  );
  expect(people.html).toMatch(
    new RegExp(
      `^<span class="user-mention" data-user-id="${ann.id}">@ANN</span> ` +
        `<span class="user-mention silent" data-user-id="${namesake.id}">Ann</span> ` +
        `<span class="user-mention" data-user-id="${ann.id}">@ANN</span> ` +
        '<span class="user-group-mention" data-user-group-id="\\d+">@Administrators</span> @\\*\\*Nobody\\*\\*$',
    ),
  );
});

test('a topic of which its author received only a part links to the last message that they received', async () => {
  const { member, moderator, owner } = there;
  const settings = { name: 'Protected', invite_only: true, history_public_to_subscribers: false };
  const id = await channel(member, settings);
  await send(member, id, 't');
  await member.ok('POST', '/users/me/subscriptions', {
    subscriptions: [{ name: 'Protected' }],
    principals: [moderator.id],
  });
  expect((await rendered(moderator, '#**Protected>t**')).html).not.toContain('/with/');
  const second = await send(member, id, 't');
  expect((await rendered(moderator, '#**Protected>t**')).html).toContain(`/topic/t/with/${second}"`);
  expect((await rendered(owner, '#**Protected>t**')).html).toBe('#**Protected&gt;t**');
});

test('texts of the service itself link to every channel', async () => {
  const id = await channel(there.member, { name: 'Hidden', invite_only: true });
  const bot = await service.app.db.user.findFirstOrThrow({
    where: { organizationId: there.organization.id, isSystem: true },
  });
  expect((await rendered(bot, '#**Hidden>t@7**')).html).toContain(
    `href="/#narrow/channel/${id}-Hidden/topic/t/near/7"`,
  );
});

test('objects of another organization are not found', async () => {
  const elsewhere = await createOrganization({}, { on: service });
  await channel(elsewhere.owner, { name: 'Elsewhere' });
  const text = `@**|${elsewhere.owner.id}** #**Elsewhere** #**Elsewhere>t**`;
  expect((await rendered(there.owner, text)).html).toBe(text.replaceAll('>', '&gt;'));
});

test('takes one query for each kind of object, however many a text mentions, and none for plain text', async () => {
  const { member } = there;
  await channel(member, { name: 'Counted' });
  await rendered(member, '#**Counted**');
  const count = async (source: string) => (await rendered(member, source)).queries;
  expect(await count('nothing, * not * even #1 @all')).toBe(0);
  expect(await count('@**all** @**topic**')).toBe(0);
  const users = `@**|${there.owner.id}** @**|${there.member.id}**`;
  expect(await count(`${users} **and** *more*`)).toBe(1);
  // Names of unknown users can be the names of groups that contain asterisks.
  expect(await count('@**a** @**b** @**c|1** @**|2**')).toBe(2);
  expect(await count('@**a** @*g* @*h* #**Counted>a** #**Counted>b** #**Counted** #**No>c**')).toBe(4);
});

test('the participants of a topic are read once for a message that mentions them', async () => {
  const { member } = there;
  const to = await channel(member, { name: 'Participants' });
  await send(member, to, 'talk');
  const reads = async (work: () => Promise<unknown>) => {
    const queries = await service.queriesOf(work);
    return queries.filter((query) => /WITH topic AS/.test(query)).length;
  };
  const content = 'a question for @**topic**';
  let id = 0;
  const sends = async () => {
    ({ id } = await member.ok('POST', '/messages', { type: 'channel', to, topic: 'talk', content }));
  };
  expect(await reads(sends)).toBe(1);
  expect((await member.ok('GET', `/messages/${id}`)).message.flags).toContain('topic_wildcard_mentioned');
  expect(await reads(() => member.ok('PATCH', `/messages/${id}`, { content: `${content}!` }))).toBe(1);
});
