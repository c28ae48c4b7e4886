import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { encodeFragment } from '../../src/markdown/channel-links.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import type { Person } from '../helpers/person.ts';
import { channelLink, demoChat, message, newName, notSent, open, sidebarOf, write } from '../helpers/web.ts';

describe.runIf(hasChromium)(`topics in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('an open topic stays open when it is resolved, and when it is unresolved', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const topic = newName('leak');
    await say(chat.person('moderator'), 'general', topic, 'It drips');
    for (const { page } of [iris, bela]) await open(page, 'general', topic);
    await act(iris.page, 'Mark as resolved');
    for (const { page } of [iris, bela]) {
      await topicLink(page, 'general', `${topic} resolved`).waitFor();
      await page.getByRole('heading', { name: `✔ ${topic}`, level: 1 }).waitFor();
      await message(page, 'It drips').waitFor();
    }
    await write(bela.page, 'It drips no more');
    await message(iris.page, 'It drips no more').waitFor();
    await act(iris.page, 'Mark as unresolved');
    for (const { page } of [iris, bela]) {
      await topicLink(page, 'general', topic).waitFor();
      await page.getByRole('heading', { name: `› ${topic}`, level: 1 }).waitFor();
      await message(page, 'It drips no more').waitFor();
    }
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('the open view, the composer and drafts follow a renamed or moved topic', async () => {
    await using gus = await chat.enter('guest');
    const { page, person } = gus;
    const iris = chat.person('owner');
    const [first, second, third] = [newName('pump'), newName('bilge pump'), newName('spare parts')];
    const { id } = await say(iris, 'general', first, 'It leaks');
    await say(iris, 'general', first, 'Still');
    const { id: otherId } = await say(iris, 'general', newName('elsewhere'), 'Another topic');
    const move = (messageId: number, to: Readonly<Record<string, unknown>>) =>
      iris.ok('PATCH', `/messages/${messageId}`, to);
    const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();
    const field = page.getByRole('form', { name: 'Write a message' }).getByLabel(/^Message /);
    const draftsAt = async () => {
      const { drafts } = await person.ok('GET', '/drafts');
      return drafts.flatMap(({ topic, content }: { topic: string; content: string }) =>
        content.startsWith('Half') ? [[topic, content]] : [],
      );
    };
    await open(page, 'general', first);
    await field.fill('Half a ');
    await expect.poll(draftsAt).toEqual([[first, 'Half a ']]);
    // Moving one message of several does not change the view.
    await move(id, { topic: second, propagate_mode: 'change_one' });
    await message(page, 'Still').waitFor();
    await move(id, { topic: first, propagate_mode: 'change_all' });
    await message(page, 'It leaks').waitFor();
    await heading(`› ${first}`);
    await move(id, { topic: second, propagate_mode: 'change_all' });
    await heading(`› ${second}`);
    // The text field still has the focus.
    await page.keyboard.type('thought');
    await expect.poll(() => field.inputValue()).toBe('Half a thought');
    await expect.poll(draftsAt).toEqual([[second, 'Half a thought']]);
    const { subscriptions } = await person.ok('GET', '/users/me/subscriptions');
    const website = subscriptions.find(({ name }: { name: string }) => name === 'website').stream_id;
    await move(id, { topic: third, stream_id: website, propagate_mode: 'change_later' });
    await page.getByRole('heading', { name: `website › ${third}`, level: 1 }).waitFor();
    await page.keyboard.type(', now whole');
    await page.keyboard.press('Control+Enter');
    await message(page, 'Half a thought, now whole').waitFor();
    const narrow = [{ operator: 'topic', operand: third }];
    const { messages } = await person.ok('GET', '/messages', {
      anchor: 'newest',
      num_before: 9,
      num_after: 0,
      narrow,
    });
    expect(new Set(messages.map(({ stream_id: at }: { stream_id: number }) => at))).toEqual(new Set([website]));
    await expect.poll(draftsAt).toEqual([]);
    // The draft of a topic is moved with it even if the topic is not open.
    const to = { type: 'stream', to: [website], topic: third, content: 'Half of another', timestamp: 1 };
    await person.ok('POST', '/drafts', { drafts: [to] });
    await expect.poll(() => field.inputValue()).toBe('Half of another');
    await open(page, 'general');
    await move(id, { topic: second, propagate_mode: 'change_all' });
    await expect.poll(draftsAt).toEqual([[second, 'Half of another']]);
    await move(otherId, { topic: second, stream_id: website, propagate_mode: 'change_all' });
    await open(page, 'website', second);
    await expect.poll(() => field.inputValue()).toBe('Half of another');
    expect(gus.problems).toEqual([]);
  });

  test('a message that is waiting to be sent is sent to the current location of its topic', async () => {
    await using gus = await chat.enter('guest');
    const { page, person } = gus;
    const iris = chat.person('owner');
    const [first, second, said] = [newName('anchor'), newName('chain'), newName('is it heavy?')];
    const { id } = await say(iris, 'website', first, 'It rusts');
    await open(page, 'website', first);
    await message(page, 'It rusts').waitFor();
    await page.context().setOffline(true);
    await write(page, said);
    await notSent(page).getByText(said).waitFor();
    await iris.ok('PATCH', `/messages/${id}`, { topic: second, propagate_mode: 'change_all' });
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: `website › ${second}`, level: 1 }).waitFor();
    await message(page, said).waitFor();
    const { messages } = await person.ok('GET', '/messages', { anchor: 'newest', num_before: 9, num_after: 0 });
    const sent = messages.filter(({ content }: { content: string }) => content.includes(said));
    expect(sent.map(({ subject }: { subject: string }) => subject)).toEqual([second]);
  });

  test('a draft follows a topic that was renamed while no page was open', async () => {
    await using gus = await chat.enter('guest');
    const { page, person } = gus;
    const iris = chat.person('owner');
    const [first, second, said] = [newName('winch'), newName('capstan'), newName('half of a turn')];
    const { id } = await say(iris, 'website', first, 'It squeaks');
    await open(page, 'website', first);
    await page
      .getByRole('form', { name: 'Write a message' })
      .getByLabel(/^Message /)
      .fill(said);
    const places = async () => {
      const { drafts } = await person.ok('GET', '/drafts');
      return drafts.flatMap((draft: { topic: string; content: string }) => (draft.content === said ? draft.topic : []));
    };
    await expect.poll(places).toEqual([first]);
    // Renames the topic while the page is closed. The text stored in the tab still belongs to the old name.
    await page.goto('about:blank');
    await iris.ok('PATCH', `/messages/${id}`, { topic: second, propagate_mode: 'change_all' });
    expect(await places()).toEqual([second]);
    await page.goto(chat.server.url);
    await open(page, 'website', second);
    const field = page.getByRole('form', { name: 'Write a message' }).getByLabel(/^Message /);
    await expect.poll(() => field.inputValue()).toBe(said);
    await field.press('Control+Enter');
    await message(page, said).waitFor();
    await expect.poll(places).toEqual([]);
  });

  test('a topic list that was left while it was being read again contains the new names of topics', async () => {
    await using gus = await chat.enter('guest');
    const { page } = gus;
    const [first, second, third] = [newName('pier'), newName('jetty'), newName('quay')];
    const { id } = await say(chat.person('owner'), 'website', first, 'It sways');
    const rename = (topic: string) =>
      chat.person('owner').ok('PATCH', `/messages/${id}`, {
        ...{ topic, propagate_mode: 'change_all', send_notification_to_new_thread: false },
      });
    await open(page, 'website');
    await topicLink(page, 'website', `${first} 1 unread`)
      .or(topicLink(page, 'website', first))
      .waitFor();
    const readings = [1, 2].map(() => ({ begun: Promise.withResolvers<void>(), end: Promise.withResolvers<void>() }));
    let count = 0;
    await page.route('**/graphql', async (route) => {
      const isList = route.request().postData()?.includes('query ChannelTopics') === true;
      const reading = isList ? readings[count++] : undefined;
      if (reading === undefined) return route.continue();
      const response = await route.fetch();
      reading.begun.resolve();
      await reading.end.promise;
      await route.fulfill({ response }).catch(() => undefined);
    });
    const [before, after] = readings;
    await rename(second);
    await before?.begun.promise;
    await rename(third);
    await page.getByRole('feed').getByText(third).waitFor();
    before?.end.resolve();
    await after?.begun.promise;
    await channelLink(page, 'general').click();
    await sidebarOf(page).getByRole('list', { name: 'Topics in general' }).waitFor();
    after?.end.resolve();
    await open(page, 'website', third);
    await message(page, 'It sways').waitFor();
    expect(gus.problems).toEqual([]);
  });

  test('a user follows and mutes a topic, in all windows', async () => {
    await using here = await chat.enter('member');
    await using there = await chat.enter('member');
    const topic = newName('rota');
    await say(chat.person('owner'), 'general', topic, 'Who is on duty?');
    await open(here.page, 'general', topic);
    await open(there.page, 'general', topic);
    const steps = [
      ['Follow topic', 'You now follow this topic.', `${topic} followed`],
      ['Unfollow topic', 'This topic uses the default setting of its channel.', topic],
      ['Mute topic', 'This topic is muted.', `${topic} muted`],
      ['Unmute topic', 'This topic uses the default setting of its channel.', topic],
    ] as const;
    for (const [action, said, name] of steps) {
      await act(here.page, action);
      await here.page.getByText(said).last().waitFor();
      for (const { page } of [here, there]) await topicLink(page, 'general', name).waitFor();
    }
    expect([...here.problems, ...there.problems]).toEqual([]);
  });

  test('messages in a muted topic are not counted for its channel', async () => {
    await using gus = await chat.enter('guest');
    const iris = chat.person('owner');
    const [loud, quiet] = [newName('loud'), newName('quiet')];
    for (const topic of [loud, quiet]) await say(iris, 'general', topic, 'Beginning');
    await gus.person.ok('POST', '/mark_all_as_read');
    await open(gus.page, 'general', quiet);
    await act(gus.page, 'Mute topic');
    await topicLink(gus.page, 'general', `${quiet} muted`).waitFor();
    await open(gus.page, 'website', 'launch');
    await expect.poll(() => channelLink(gus.page, 'general').textContent()).toBe('general');
    await say(iris, 'general', quiet, 'Unheard');
    await say(iris, 'general', loud, 'Heard');
    await expect.poll(() => channelLink(gus.page, 'general').textContent()).toBe('general1 unread');
    await channelLink(gus.page, 'general').click();
    await topicLink(gus.page, 'general', `${quiet} muted 1 unread`).waitFor();
  });

  test('many messages in many topics, listed or not, cause no read of the topic list', async () => {
    await using gus = await chat.enter('guest');
    const { page } = gus;
    const name = newName('many').replace(' ', '-');
    const iris = chat.person('owner');
    const principals = [iris.id, chat.person('guest').id];
    await iris.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name }], principals });
    const topics = Array.from({ length: 40 }, (_, i) => `topic ${String(i).padStart(2, '0')}`);
    for (const topic of topics.slice(0, 32)) await say(iris, name, topic, 'First');
    await channelLink(page, name).click();
    const list = sidebarOf(page).getByRole('list', { name: `Topics in ${name}` });
    await list.getByRole('link', { name: /^topic 31/ }).waitFor();
    let readings = 0;
    page.on('request', (request) => {
      if (/query (ChannelTopics|TopicsOfChannel)\b/.test(request.postData() ?? '')) readings++;
    });
    for (let i = 0; i < 100; i++) await say(iris, name, topics[i % topics.length] ?? '', `Message ${i}`);
    const newest = async () => (await list.getByRole('link').allTextContents()).slice(0, 3);
    await expect
      .poll(newest)
      .toEqual(['topic 19', 'topic 18', 'topic 17'].map((text) => expect.stringContaining(text)));
    expect(readings).toBe(0);
    expect(gus.problems).toEqual([]);
  });

  test('all topics of a channel are listed, filtered by a part of their names, and have actions', async () => {
    await using gus = await chat.enter('guest');
    const { page } = gus;
    const [tea, coffee] = [newName('tea'), newName('coffee')];
    for (const topic of [tea, coffee]) await say(chat.person('owner'), 'general', topic, `About ${topic}`);
    await channelLink(page, 'general').click();
    await sidebarOf(page).getByRole('link', { name: 'All topics' }).click();
    const list = page.getByRole('list', { name: 'Topics in general' }).last();
    await list.getByRole('link', { name: `${coffee} 1 unread` }).waitFor();
    await page.getByRole('searchbox', { name: 'Filter topics' }).fill(tea.toUpperCase());
    await expect.poll(() => list.getByRole('link').count()).toBe(1);
    await list.getByRole('button', { name: `Actions on ${tea}` }).click();
    await page.getByRole('menuitem', { name: 'Mark as read' }).click();
    await list.getByRole('link', { name: tea, exact: true }).waitFor();
    await list.getByRole('link', { name: tea }).click();
    await message(page, `About ${tea}`).waitFor();
    expect(gus.problems).toEqual([]);
  });

  test('links written by the service and by other clients open their target in the page', async () => {
    await using gus = await chat.enter('guest');
    const { page, person } = gus;
    const [iris, { url }] = [chat.person('owner'), chat.server];
    const [topic, later, index] = [newName('crane 50% (a.b)'), newName('moved'), newName('index')];
    const said = newName('The crane');
    const { id } = await say(iris, 'general', topic, said);
    const [unnamed, other] = [newName('No name'), newName('Was moved')];
    const { id: unnamedId } = await say(iris, 'general', '', unnamed);
    const { id: movedId } = await say(iris, 'general', newName('before'), other);
    const { messages } = await iris.ok('GET', '/messages', { message_ids: [id] });
    const general = messages[0].stream_id;
    await iris.ok('PATCH', `/messages/${movedId}`, { topic: later });
    const direct = newName('Privately');
    const { id: directId } = await iris.ok('POST', '/messages', {
      type: 'direct',
      to: [gus.person.id],
      content: direct,
    });
    const { user_id: me } = await person.ok('GET', '/users/me');
    const links: readonly (readonly [source: string, title: string, text?: string])[] = [
      ['#**general**', 'general'],
      [`#**general>${topic}**`, `general› ${topic}`, said],
      [`#**general>${topic}@${id}**`, `general› ${topic}`, said],
      ['#**general>**', 'general› general chat', unnamed],
      [`#**general>@${unnamedId}**`, 'general› general chat', unnamed],
      [`[moved](#narrow/channel/${general}/topic/gone/near/${movedId})`, `general› ${later}`, other],
      [`[moved too](#narrow/stream/${general}-general/topic/gone/with/${movedId})`, `general› ${later}`, other],
      [`[deleted](#narrow/channel/${general}/topic/${encodeFragment(topic)}/near/987654)`, '', said],
      [`[direct](#narrow/dm/${me},${iris.id}-dm/near/${directId})`, 'Iris Haddad', direct],
      [
        `[slash](#narrow/channel/${general}-general/topic/${encodeFragment(topic)}/near/${id}/)`,
        `general› ${topic}`,
        said,
      ],
      [`[both](#narrow/dm/${me},${iris.id}-dm)`, 'Iris Haddad', direct],
      ['[scheduled](#scheduled)', 'Scheduled'],
      ['[drafts](#drafts)', 'Drafts'],
      ['[starred](#narrow/is/starred)', 'Starred'],
      [`[hers](#narrow/sender/${iris.id}-iris/topic/${encodeFragment(later)})`, 'Search', other],
      [`[here](${url}/people/groups)`, 'Groups'],
    ];
    await say(iris, 'general', index, links.map(([source]) => `- ${source}`).join('\n'));
    await open(page, 'general', index);
    const list = page.locator('.message-content li a');
    for (const [i, [source, title, text]] of links.entries()) {
      await list.nth(i).click();
      const heading = page.getByRole('heading', { level: 1 });
      if (title !== '') await expect.poll(() => heading.textContent(), { message: source }).toContain(title);
      if (text !== undefined) await message(page, text).first().waitFor();
      await page.goBack();
      await page.getByRole('heading', { name: `› ${index}`, level: 1 }).waitFor();
    }
    expect(page.context().pages()).toHaveLength(1);
    await page.goto(`${url}/#narrow/channel/${general}-general/topic/${encodeFragment(later)}`);
    await page.getByRole('heading', { name: `› ${later}`, level: 1 }).waitFor();
    expect(gus.problems).toEqual([]);
  });
});

const say = (person: Person, to: string, topic: string, content: string) =>
  person.ok('POST', '/messages', { type: 'channel', to, topic, content });

/** Runs an action from the menu of the open topic. */
async function act(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'Topic actions' }).click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}

/** Returns the link of a topic in the sidebar. @param name Accessible name, including the labels such as the unread count. */
const topicLink = (page: Page, channel: string, name: string): Locator =>
  sidebarOf(page)
    .getByRole('list', { name: `Topics in ${channel}` })
    .getByRole('link', { name, exact: true });
