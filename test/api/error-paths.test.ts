import { expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

/** Runs a mutation that must fail. @returns The code and path of its error. */
async function refusal(person: Person, name: string, input: Json): Promise<Json> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const query = `mutation ($input: ${type}!) { renamed: ${name}(input: $input) { ... on ServiceError { code path } } }`;
  return (await person.query(query, { input })).renamed;
}

const draft = (content: string) => ({ content });

test.concurrent('an error contains the path of the input field that it concerns', async () => {
  const { owner, member } = await createOrganization();
  const channelId = await channelOf(owner, 'general', [owner, member]);
  const messageId = await say(member, channelId, 'topic');
  const { saved_snippet_id: savedSnippetId } = await member.ok('POST', '/saved_snippets', { title: 'a', content: 'b' });
  const { ids } = await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'begun' }] });
  const cases: readonly (readonly [string, Json, string, readonly string[]])[] = [
    ['createSavedSnippet', { title: ' ', content: 'b' }, 'BAD_REQUEST', ['input', 'title']],
    ['createSavedSnippet', { title: 'a', content: 'x'.repeat(10_001) }, 'BAD_REQUEST', ['input', 'content']],
    ['updateSavedSnippet', { savedSnippetId, content: '\0' }, 'BAD_REQUEST', ['input', 'content']],
    ['createReminder', reminder(messageId, 'x'.repeat(501)), 'BAD_REQUEST', ['input', 'note']],
    // The path of an error contains the index of a list element, and the parents of a nested field.
    ['createDrafts', { drafts: [draft('a'), draft(' ')] }, 'BAD_REQUEST', ['input', 'drafts', '1', 'content']],
    ['updateDraft', { draftId: ids[0], draft: draft(' ') }, 'BAD_REQUEST', ['input', 'draft', 'content']],
    [
      'updateDraft',
      { draftId: ids[0], draft: { ...draft('a'), to: { direct: Array.from({ length: 501 }, () => member.id) } } },
      'BAD_REQUEST',
      ['input', 'draft', 'to', 'direct'],
    ],
    ['editMessage', edit(messageId), 'EXPECTATION_MISMATCH', ['input', 'prevContentSha256']],
    ['registerEventQueue', { idleTimeoutSeconds: 60, narrow: terms(21) }, 'BAD_REQUEST', ['input', 'narrow']],
  ];
  for (const [name, input, code, path] of cases) {
    expect([name, await refusal(member, name, input)]).toEqual([name, { code, path }]);
  }
});

test.concurrent('the path of an object that does not exist leads to its id; without a single cause, there is no path', async () => {
  const { member } = await createOrganization();
  const at = (...path: string[]) => ({ code: 'BAD_REQUEST', path: ['input', ...path] });
  expect(await refusal(member, 'deleteSavedSnippet', { savedSnippetId: 0 })).toEqual(at('savedSnippetId'));
  expect(await refusal(member, 'removeReaction', { messageId: 0, emoji: { name: 'car' } })).toEqual(at('messageId'));
  const group = await member.mutate(
    'createUserGroup',
    { name: 'Crew', description: '', memberIds: [] },
    'userGroup { databaseId }',
  );
  const unchanged = { userGroupId: group.userGroup.databaseId };
  expect(await refusal(member, 'updateUserGroupMembers', unchanged)).toEqual({ code: 'BAD_REQUEST', path: null });
});

const reminder = (messageId: number, note: string) => ({ messageId, note, scheduledAt: '2099-01-01T00:00:00Z' });
const edit = (messageId: number) => ({ messageId, content: 'b', prevContentSha256: '0'.repeat(64) });
const terms = (count: number) => ({ is: Array.from({ length: count }, () => 'DIRECT') });
