import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Integrated, startIntegrated } from '../helpers/integrations.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { startService } from '../helpers/service.ts';
import { refused, success, text } from '../helpers/shapes.ts';

let integrated: Integrated;
beforeAll(async () => {
  integrated = await startIntegrated(startService);
});
afterAll(() => integrated[Symbol.asyncDispose]());

const create = (by: Person, parameters: object = {}) =>
  by.rest('POST', '/calls/videoprovider/create', { ...parameters });
const hasToken = async (person: Person) =>
  (await person.register({ fetch_event_types: ['video_calls'] })).has_videoprovider_token;

// The tests share one provider, so they run one after another.
describe('4.21 POST /calls/videoprovider/create', () => {
  test('answers with the url', async () => {
    const { member } = integrated.house;
    await integrated.allowCalls(member);
    expect((await create(member)).body).toEqual(success({ url: text }));
  });

  test('registration returns whether the user has a token, and an event reports a new one', async () => {
    const { guest } = integrated.house;
    expect(await hasToken(guest)).toBe(false);
    const heard = await guest.receiving({ event_types: ['has_videoprovider_token'] });
    await integrated.allowCalls(guest);
    expect(await hasToken(guest)).toBe(true);
    expect(await heard()).toEqual([{ type: 'has_videoprovider_token', value: true }]);
  });

  test('rejects users without a token', async () => {
    expect(await create(integrated.house.moderator)).toMatchObject({ status: 400, body: { result: 'error' } });
  });

  test('has no parameters', async () => {
    const { owner } = integrated.house;
    await integrated.allowCalls(owner);
    for (const [extra, ignored] of [
      [{}, undefined],
      [{ unknown: 1 }, ['unknown']],
      [{ zebra: 'z', 'apple[]': 'a', url: 1 }, ['apple[]', 'url', 'zebra']],
    ] as const) {
      const { body } = await create(owner, extra);
      expect([body.url, body.ignored_parameters_unsupported]).toEqual([text, ignored]);
    }
  });

  test('rejects requests if the integration is not configured', async () => {
    const { member } = await createOrganization();
    expect(await create(member)).toMatchObject(refused());
  });
});
