import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { DRAFT, integer, refused, success } from '../helpers/shapes.ts';
import { channelOf } from '../helpers/talk.ts';

const { owner, member } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member]);

const note = (content: string) => ({ type: '', to: [], topic: '', content });
const save = (drafts: unknown) => member.rest('POST', '/drafts', { drafts });

describe.concurrent('4.8 POST /drafts', () => {
  test('answers with the ids of the new drafts in submission order', async () => {
    const { body } = await save([note('one'), note('two'), note('three')]);
    expect(body).toEqual(success({ ids: [integer, integer, integer] }));
    const { drafts } = await member.ok('GET', '/drafts');
    const contents = body.ids.map((wanted: number) => drafts.find(({ id }: Json) => id === wanted).content);
    expect(contents).toEqual(['one', 'two', 'three']);
  });

  test.for([
    ['an empty list', []],
    ['no list, because drafts is optional', undefined],
  ] as const)('accepts %s', async ([, drafts]) => {
    expect((await save(drafts)).body).toEqual(success({ ids: [] }));
  });

  test.for([
    ['no channel', []],
    ['two channels', [general, general + 1]],
  ] as const)('rejects a channel draft to %s', async ([, to]) => {
    expect(await save([note('fine'), { type: 'stream', to, topic: 'a', content: 'b' }])).toMatchObject(refused());
    const { drafts } = await member.ok('GET', '/drafts');
    expect(drafts.filter(({ content }: Json) => content === 'fine')).toEqual([]);
  });

  test.for(['drafts', '{}', '[1]'])('rejects %s, which is not a JSON list of drafts', async (drafts) => {
    expect(await save(drafts)).toMatchObject(refused());
  });

  test("sends an event to the user's clients only", async () => {
    const { member, owner } = await createOrganization();
    const [own, others] = [await member.receiving(), await owner.receiving()];
    const { ids } = await member.ok('POST', '/drafts', { drafts: [note('told')] });
    expect(await own()).toEqual([{ type: 'drafts', op: 'add', drafts: [{ ...DRAFT, ...note('told'), id: ids[0] }] }]);
    expect(await others()).toEqual([]);
  });
});
