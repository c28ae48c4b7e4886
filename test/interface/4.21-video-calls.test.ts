import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Integrated, startIntegrated } from '../helpers/integrations.ts';
import type { Person } from '../helpers/person.ts';
import { organisation } from '../helpers/server.ts';
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

// One provider for all: one test after the other.
describe('4.21 POST /calls/videoprovider/create', () => {
  test('answers with the url', async () => {
    const { member } = integrated.house;
    await integrated.allowCalls(member);
    expect((await create(member)).body).toEqual(success({ url: text }));
  });

  test('registration tells whether the user holds a token, and an event when they get one', async () => {
    const { guest } = integrated.house;
    expect(await hasToken(guest)).toBe(false);
    const heard = await guest.hearing({ event_types: ['has_videoprovider_token'] });
    await integrated.allowCalls(guest);
    expect(await hasToken(guest)).toBe(true);
    expect(await heard()).toEqual([{ type: 'has_videoprovider_token', value: true }]);
  });

  test('refuses who holds none', async () => {
    expect(await create(integrated.house.moderator)).toMatchObject({ status: 400, body: { result: 'error' } });
  });

  test('takes no parameters', async () => {
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

  test('refuses where the integration is not configured', async () => {
    const { member } = await organisation();
    expect(await create(member)).toMatchObject(refused());
  });
});
