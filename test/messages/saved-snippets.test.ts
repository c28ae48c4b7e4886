import { describe, expect, test } from 'vitest';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const snippet = { title: 'Welcome', content: 'Welcome **aboard**!' };

async function save(person: Person, fields: object = {}): Promise<number> {
  return (await person.ok('POST', '/saved_snippets', { ...snippet, ...fields })).saved_snippet_id;
}

const list = async (person: Person) => (await person.ok('GET', '/saved_snippets')).saved_snippets;

describe('POST /saved_snippets', () => {
  test.concurrent('saves a snippet without surrounding whitespace', async () => {
    const { guest } = await createOrganization();
    const before = Math.floor(Date.now() / 1000);
    const id = await save(guest, { title: '  Welcome ', content: '\nWelcome **aboard**!\n' });
    const [saved] = await list(guest);
    expect(saved).toEqual({ id, ...snippet, date_created: expect.any(Number) });
    expect(saved.date_created).toBeGreaterThanOrEqual(before);
  });

  test.concurrent('accepts texts of the maximum length, counted in code points', async () => {
    const { member } = await createOrganization();
    const longest = { title: '👋'.repeat(60), content: '👋'.repeat(10_000) };
    await save(member, longest);
    expect(await list(member)).toMatchObject([longest]);
  });

  test.concurrent('accepts duplicate titles', async () => {
    const { member } = await createOrganization();
    expect(await save(member)).not.toBe(await save(member));
  });

  test.concurrent.for<[string, object, string]>([
    ['a blank title', { title: '  ' }, 'title cannot be blank'],
    ['blank content', { content: '\n' }, 'content cannot be blank'],
    ['a title that is too long', { title: 't'.repeat(61) }, 'title is too long (limit: 60 characters)'],
    ['content that is too long', { content: 'c'.repeat(10_001) }, 'content is too long (limit: 10000 characters)'],
    ['a null byte in the title', { title: 'a\0b' }, 'title must not contain null bytes'],
    ['a null byte in the content', { content: 'a\0b' }, 'content must not contain null bytes'],
  ])('refuses %s, and so does PATCH', async ([, fields, msg]) => {
    const { member } = await createOrganization();
    const id = await save(member);
    const refusal = { status: 400, body: { result: 'error', code: 'BAD_REQUEST', msg } };
    expect(await member.rest('POST', '/saved_snippets', { ...snippet, ...fields })).toMatchObject(refusal);
    expect(await member.rest('PATCH', `/saved_snippets/${id}`, { ...fields })).toMatchObject(refusal);
    expect(await list(member)).toMatchObject([{ id, ...snippet }]);
  });

  test.concurrent.for([['title'], ['content']])('requires %s', async ([name]) => {
    const { member } = await createOrganization();
    const { status, body } = await member.rest('POST', '/saved_snippets', { ...snippet, [name as string]: undefined });
    expect([status, body.code, body.var_name]).toEqual([400, 'REQUEST_VARIABLE_MISSING', name]);
    expect(await list(member)).toEqual([]);
  });
});

describe('PATCH /saved_snippets/{saved_snippet_id}', () => {
  test.concurrent('changes the given fields only', async () => {
    const { member } = await createOrganization();
    const id = await save(member);
    await member.ok('PATCH', `/saved_snippets/${id}`, { title: ' Hello ' });
    expect(await list(member)).toMatchObject([{ id, title: 'Hello', content: snippet.content }]);
    await member.ok('PATCH', `/saved_snippets/${id}`, { content: 'Good day' });
    expect(await list(member)).toMatchObject([{ id, title: 'Hello', content: 'Good day' }]);
  });

  test.concurrent('succeeds without changes, and sends no events', async () => {
    const { member } = await createOrganization();
    const id = await save(member);
    const heard = await member.receiving();
    await member.ok('PATCH', `/saved_snippets/${id}`);
    expect(await heard()).toEqual([]);
  });
});

test.concurrent('an unknown snippet is answered with 404, and so is a snippet of another user', async () => {
  const { member, owner } = await createOrganization();
  const foreign = await save(owner);
  for (const id of [foreign, 2_000_000_000, 2 ** 31, 10 ** 20]) {
    for (const [method, parameters] of [
      ['PATCH', { title: 'mine' }],
      ['PATCH', {}],
      ['DELETE', {}],
    ] as const) {
      const { status, body } = await member.rest(method, `/saved_snippets/${id}`, parameters);
      expect([status, body.code, body.msg]).toEqual([404, 'BAD_REQUEST', 'Saved snippet does not exist.']);
    }
  }
  expect(await list(owner)).toMatchObject([{ id: foreign, ...snippet }]);
});

test.concurrent('DELETE /saved_snippets/{saved_snippet_id} deletes a snippet of the viewer', async () => {
  const { member } = await createOrganization();
  const [first, second] = [await save(member), await save(member)];
  await member.ok('DELETE', `/saved_snippets/${first}`);
  expect(await list(member)).toMatchObject([{ id: second }]);
});

test.concurrent("GET /saved_snippets lists only the viewer's snippets", async () => {
  const { member, owner } = await createOrganization();
  await save(owner);
  expect(await list(member)).toEqual([]);
  expect((await member.query('{ savedSnippets { edges { node { databaseId } } } }')).savedSnippets.edges).toEqual([]);
});

test.concurrent('snippet events reach only clients of the author', async () => {
  const { member, owner } = await createOrganization();
  const heard = await member.receiving();
  await save(owner);
  const id = await save(member);
  await member.ok('PATCH', `/saved_snippets/${id}`, { title: 'Hello' });
  await member.ok('DELETE', `/saved_snippets/${id}`);
  const saved = { id, ...snippet, date_created: expect.any(Number) };
  expect(await heard()).toEqual([
    { type: 'saved_snippets', op: 'add', saved_snippet: saved },
    { type: 'saved_snippets', op: 'update', saved_snippet: { ...saved, title: 'Hello' } },
    { type: 'saved_snippets', op: 'remove', saved_snippet_id: id },
  ]);
});

test.concurrent('every snippet endpoint names the parameters that it ignored', async () => {
  const { member } = await createOrganization();
  const one = async () => ({ path: `/saved_snippets/${await save(member)}` });
  await expectIgnoredParameters(member, 'GET', async () => ({ path: '/saved_snippets' }));
  await expectIgnoredParameters(member, 'POST', async () => ({ path: '/saved_snippets', parameters: snippet }));
  await expectIgnoredParameters(member, 'PATCH', one, 'saved_snippet_id');
  await expectIgnoredParameters(member, 'DELETE', one, 'saved_snippet_id');
});
