import { describe, expect, test } from 'vitest';
import { bothDoors, furnish, NOBODY, note, type Who, type World } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { toTopic } from '../helpers/talk.ts';

describe('drafts', () => {
  const toInput = ({ type, to, topic, ...draft }: typeof note) => ({
    ...draft,
    ...(type === 'stream' && { to: toTopic(to[0] ?? 0, topic) }),
    ...(type === 'private' && { to: { direct: to } }),
  });
  const INVALID: Readonly<Record<string, (world: World) => object>> = {
    'a blank one': () => ({ content: ' ' }),
    'a null byte': () => ({ content: 'a\0b' }),
    'a null byte in the topic': ({ general }) => ({ type: 'stream', to: [general], topic: 'a\0b' }),
    'a channel that is not there': () => ({ type: 'stream', to: [NOBODY] }),
    'a user who is not there': () => ({ type: 'private', to: [NOBODY] }),
  };

  test.concurrent('POST /drafts and createDrafts', async () => {
    const create = bothDoors('POST', '/drafts', 'createDrafts');
    const act = (drafts: (world: World) => object[], code?: string) =>
      create(
        'member',
        (world) => ({ drafts: drafts(world).map((draft) => ({ ...note, ...draft })) }),
        (world) => ({ drafts: drafts(world).map((draft) => toInput({ ...note, ...draft })) }),
        code,
      );
    const refused = Object.entries(INVALID).map(
      ([name, draft]) => [name, act((world) => [{}, draft(world)], 'BAD_REQUEST')] as const,
    );
    await expectParity(furnish, {
      'one of each kind': act(({ general, guest }) => [
        { type: 'stream', to: [general], topic: 'greetings' },
        { type: 'private', to: [guest.id], topic: 'dropped' },
        { to: [1], topic: 'dropped' },
      ]),
      none: act(() => []),
      ...Object.fromEntries(refused),
    });
  });

  test.concurrent('PATCH /drafts/{draft_id} and updateDraft', async () => {
    const act = (change: (world: World) => object, code?: string, id = ({ drafts }: World) => drafts[0]) =>
      bothDoors('PATCH', (world) => `/drafts/${id(world)}`, 'updateDraft')(
        'member',
        (world) => ({ draft: { ...note, ...change(world) } }),
        (world) => ({ draftId: id(world), draft: toInput({ ...note, ...change(world) }) }),
        code,
      );
    const refused = Object.entries(INVALID).filter(([name]) => !name.startsWith('a blank'));
    await expectParity(furnish, {
      'another one': act(({ general }) => ({ type: 'stream', to: [general], topic: 'new', content: 'changed' })),
      'one that is not there': act(
        () => ({}),
        'BAD_REQUEST',
        () => NOBODY,
      ),
      ...Object.fromEntries(refused.map(([name, change]) => [name, act(change, 'BAD_REQUEST')])),
    });
  });

  test.concurrent('DELETE /drafts/{draft_id} and deleteDraft', async () => {
    const act = (who: Who, id: (world: World) => number, code?: string) =>
      bothDoors('DELETE', (world) => `/drafts/${id(world)}`, 'deleteDraft')(
        who,
        () => ({}),
        (world) => ({ draftId: id(world) }),
        code,
      );
    await expectParity(furnish, {
      one: act('member', ({ drafts }) => drafts[0]),
      'the same again': act('member', ({ drafts }) => drafts[0], 'BAD_REQUEST'),
      "another's": act('owner', ({ drafts }) => drafts[1], 'BAD_REQUEST'),
      'one that is not there': act('member', () => NOBODY, 'BAD_REQUEST'),
    });
  });

  test.concurrent('GET /drafts, /saved_snippets, /channel_folders and drafts, savedSnippets, channelFolders', async () => {
    const { owner, member } = await createOrganization();
    await member.ok('POST', '/drafts', {
      drafts: [
        { ...note, timestamp: 5 },
        { ...note, timestamp: 7 },
      ],
    });
    await member.ok('POST', '/saved_snippets', { title: 'a', content: 'b' });
    for (const name of ['A', 'B']) await owner.ok('POST', '/channel_folders/create', { name, description: '*c*' });
    const { drafts, savedSnippets, channelFolders } = await member.query(`{
      drafts { edges { node { databaseId type channel { databaseId } recipients { databaseId } topicName content lastEditedAt } } }
      savedSnippets { edges { node { databaseId title content createdAt } } }
      channelFolders { edges { node { databaseId name description renderedDescription order isArchived createdAt
        creator { databaseId } } } } }`);
    const seconds = (time: string) => Math.floor(Date.parse(time) / 1000);
    const nodes = ({ edges }: Json) => edges.map(({ node: { databaseId: id, ...node } }: Json) => ({ id, ...node }));
    // GraphQL returns the last edited draft first. REST returns it last.
    expect((await member.ok('GET', '/drafts')).drafts.toReversed()).toEqual(
      nodes(drafts).map(({ lastEditedAt, type: _, channel, recipients, topicName: topic, ...draft }: Json) => ({
        ...{ ...draft, topic },
        to: [...(channel === null ? [] : [channel]), ...recipients].map(({ databaseId }: Json) => databaseId),
        type: '',
        timestamp: seconds(lastEditedAt),
      })),
    );
    expect((await member.ok('GET', '/saved_snippets')).saved_snippets).toEqual(
      nodes(savedSnippets).map(({ createdAt, ...snippet }: Json) => ({ ...snippet, date_created: seconds(createdAt) })),
    );
    expect((await member.ok('GET', '/channel_folders')).channel_folders).toEqual(
      nodes(channelFolders).map(({ createdAt, renderedDescription, isArchived, creator, ...folder }: Json) => ({
        ...folder,
        ...{ date_created: seconds(createdAt), rendered_description: renderedDescription, is_archived: isArchived },
        creator_id: creator.databaseId,
      })),
    );
  });
});
