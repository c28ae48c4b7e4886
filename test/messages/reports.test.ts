import { expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Parameters as Fields, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, messagesIn, say } from '../helpers/talk.ts';

/** Creates an organization with a channel to which reports are sent. The owner and the moderator can read this channel. */
async function moderated(more: Fields = {}) {
  const made = await createOrganization();
  const { owner, moderator } = made;
  const moderation = await channelOf(owner, 'moderation', [owner, moderator], { invite_only: true, ...more });
  await owner.ok('PATCH', '/realm', { moderation_request_channel_id: moderation });
  return { ...made, moderation };
}

const report = (person: Person, id: number, parameters: Fields = {}) =>
  person.ok('POST', `/messages/${id}/report`, { report_type: 'spam', ...parameters });
const mention = ({ name, id }: Person) => `@_**${name}|${id}**`;

test.concurrent('refuses in the documented order, in both APIs', async () => {
  const { owner, member, guest } = await createOrganization();
  const hidden = await say(owner, await channelOf(owner, 'hidden', [owner], { invite_only: true }), 'topic');
  const wrong = { report_type: 'boring', description: 'x'.repeat(1001) };
  const refusal = async (person: Person, messageId: number, fields: Fields) => {
    const { report_type, description } = { report_type: 'spam', ...fields } as Fields;
    const parameters = { report_type, description };
    const { status, body } = await person.rest('POST', `/messages/${messageId}/report`, parameters);
    const input = { messageId, reportType: String(report_type).toUpperCase(), description };
    // The GraphQL schema refuses values that are not in the enum, so only other errors are compared.
    if (report_type !== wrong.report_type)
      expect(await person.tryMutation('reportMessage', input)).toMatchObject({ code: body.code });
    return [status, body.code, body.msg];
  };
  const long = { report_type: 'other', description: 'x'.repeat(1001) };
  expect(await refusal(member, hidden, wrong)).toEqual([400, 'BAD_REQUEST', 'Invalid report_type']);
  const tooLong = 'description is too long (limit: 1000 characters)';
  expect(await refusal(member, hidden, long)).toEqual([400, 'BAD_REQUEST', tooLong]);
  const blank = { report_type: 'other', description: ' ' };
  expect(await refusal(member, hidden, blank)).toEqual([400, 'BAD_REQUEST', 'An explanation is required.']);
  const off = [400, 'BAD_REQUEST', 'Message reporting is not enabled in this organization.'];
  expect(await refusal(member, hidden, {})).toEqual(off);
  const moderation = await channelOf(owner, 'moderation', [owner], { invite_only: true });
  await owner.ok('PATCH', '/realm', { moderation_request_channel_id: moderation });
  for (const id of [hidden, 0, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
    for (const person of [member, guest]) {
      expect(await refusal(person, id, {})).toEqual([400, 'BAD_REQUEST', 'Invalid message(s)']);
    }
  }
  await owner.ok('DELETE', `/streams/${moderation}`);
  expect(await refusal(member, hidden, {})).toEqual(off);
});

test.concurrent('notifies only the moderators of the reporter and the message', async () => {
  const { owner, moderator, member, guest, administrator, moderation } = await moderated();
  const id = await say(member, await channelOf(owner, 'general', [owner, member, guest]), 'Sale');
  const heard = await moderator.receiving();
  const others = await Promise.all([member, guest, administrator].map((person) => person.receiving()));
  await report(guest, id, { description: 'Look.' });
  // Sends a second report, a report by a user who is not subscribed, and a report about one's own message.
  await administrator.mutate('reportMessage', { messageId: id, reportType: 'NORMS' }, 'reportedMessage { id }');
  await report(member, id, { report_type: 'other', description: 'Mea culpa' });
  const events = messagesIn(await heard());
  expect(events[0]).toMatchObject({
    flags: [],
    message: { sender_full_name: 'Notification Bot', stream_id: moderation, subject: 'member moderation' },
  });
  const { sent_at } = (await owner.query(`{ message(by: { id: "${globalId('Message', id)}" }) { sent_at: sentAt } }`))
    .message;
  const [time] = /<time:[^>]+>/.exec(events[0].message.content) ?? [];
  expect(Date.parse(time?.slice(6, -1) ?? '')).toBe(Date.parse(sent_at));
  expect(events.map(({ message }) => message.content)).toEqual(
    [
      [guest, '**Spam**. Look.'],
      [administrator, '**Violates community norms**. '],
      [member, '**Other reason**. Mea culpa'],
    ].map(([reporter, reason]) =>
      [
        `${mention(reporter as Person)} reported a message sent by ${mention(member)} at ${time}.`,
        ...['```quote', reason, '```', ''],
        ...[`\`\`\` spoiler Original message at #**general>Sale@${id}**`, 'hello', '```'],
      ].join('\n'),
    ),
  );
  for (const other of others) expect(messagesIn(await other())).toEqual([]);
});

test.concurrent('lists the participants of a conversation, up to a limit', async () => {
  const { owner, moderator, member, guest, administrator } = await moderated();
  const direct = async (...to: Person[]) =>
    (await member.ok('POST', '/messages', { type: 'direct', to: to.map(({ id }) => id), content: 'psst' })).id;
  const heard = await moderator.receiving();
  const [pair, group, note] = [await direct(guest), await direct(guest, owner, administrator), await direct(member)];
  await report(guest, pair);
  await report(member, pair);
  await report(guest, group);
  await report(member, note);
  const lines = messagesIn(await heard()).map(({ message }) => message.content.split('\n'));
  const what = lines.map(([line]) => line.replace(/ at <time:.*/, ''));
  const sent = `reported a direct message sent by ${mention(member)}`;
  const [first, second, third] = [guest, owner, administrator].map(mention).sort();
  expect(what).toEqual([
    `${mention(guest)} ${sent}`,
    `${mention(member)} ${sent} to ${mention(guest)}`,
    `${mention(guest)} ${sent} to ${first}, ${second}, and ${third}`,
    `${mention(member)} ${sent}`,
  ]);
  const members = [member.id, guest.id].sort((a, b) => a - b).join();
  expect(lines[0]?.[5]).toBe(`\`\`\` spoiler [Original message](#narrow/dm/${members}-dm/near/${pair})`);
});

test.concurrent('quotes any content unchanged, without mentions, and without breaking out of the quote', async () => {
  const { owner, moderator, member, guest } = await moderated();
  const channel = await channelOf(owner, 'general', [owner, member, guest]);
  const heard = await moderator.receiving({ apply_markdown: true });
  const content = `@**all** @**moderator|${moderator.id}**\n\`\`\`\`\n\`\`\` spoiler x`;
  const markup = await say(member, channel, '`a` ~ [b](c) > **all** $$x$$', content);
  await report(guest, markup, { description: 'see\n```python\n````quote\n@**all**' });
  const numbered = await say(member, channel, 'room@7', 'hello');
  await report(guest, numbered, { description: '~~~\nx' });
  const long = await say(member, channel, 'long', 'x'.repeat(10_000));
  await report(guest, long, { description: 'y'.repeat(1000) });
  const [first, second, third] = messagesIn(await heard());
  for (const { flags } of [first, second, third]) expect(flags).toEqual([]);
  // Matches the three parts of a report with any content: the reporter, the reason, and the message.
  const parts = new RegExp(
    '^<p>.*</p>\n<blockquote>\n([^]*)\n</blockquote>\n<div class="spoiler-block"><div class="spoiler-header">\n<p>Original ' +
      'message at (<a .*</a>)</p>\n</div><div class="spoiler-content" aria-hidden="true">\n([^]*)\n</div></div>$',
  );
  const [, why, place, what] = parts.exec(first.message.content) ?? [];
  expect(why).not.toContain('codehilite');
  expect(why).toContain('<span class="user-mention channel-wildcard-mention silent" data-user-id="*">all</span>');
  expect(place).toMatch(/^<a href="#narrow\/channel\/[^"]+\/near\/\d+">#general &gt; .*<\/a>$/);
  expect(what).toContain('``` spoiler x');
  expect(parts.exec(second.message.content)?.[2]).toContain(`near/${numbered}">#general &gt; room@7 @ 💬</a>`);
  expect(parts.exec(third.message.content)?.[3]).toMatch(/x{8000}.*\n\[message truncated\]<\/p>$/);
});

test.concurrent('uses the empty topic if the channel permits no other', async () => {
  const { owner, moderator, guest, member } = await moderated({ topics_policy: 'empty_topic_only' });
  const id = await say(member, await channelOf(owner, 'general', [member, guest]), 'topic');
  const heard = await moderator.receiving({
    client_capabilities: { notification_settings_null: true, empty_topic_name: true },
  });
  await report(guest, id);
  expect(messagesIn(await heard()).map(({ message }) => message.subject)).toEqual(['']);
});
