import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { organisation } from '../helpers/server.ts';
import { DRAFT, integer, refused, success } from '../helpers/shapes.ts';
import { channelOf } from '../helpers/talk.ts';

const { owner, member } = await organisation();
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
    ['none, for drafts is optional', undefined],
  ] as const)('takes %s', async ([, drafts]) => {
    expect((await save(drafts)).body).toEqual(success({ ids: [] }));
  });

  test.for([
    ['no channel', []],
    ['two channels', [general, general + 1]],
  ] as const)('refuses a channel draft to %s', async ([, to]) => {
    expect(await save([note('fine'), { type: 'stream', to, topic: 'a', content: 'b' }])).toMatchObject(refused());
    const { drafts } = await member.ok('GET', '/drafts');
    expect(drafts.filter(({ content }: Json) => content === 'fine')).toEqual([]);
  });

  test.for(['drafts', '{}', '[1]'])('refuses %s: the list is JSON', async (drafts) => {
    expect(await save(drafts)).toMatchObject(refused());
  });

  test("tells the user's clients, and nobody else", async () => {
    const { member, owner } = await organisation();
    const [own, others] = [await member.hearing(), await owner.hearing()];
    const { ids } = await member.ok('POST', '/drafts', { drafts: [note('told')] });
    expect(await own()).toEqual([{ type: 'drafts', op: 'add', drafts: [{ ...DRAFT, ...note('told'), id: ids[0] }] }]);
    expect(await others()).toEqual([]);
  });
});
