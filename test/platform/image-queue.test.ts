import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RequestTimeoutError } from '../../src/platform/errors.ts';
import { ImageQueue } from '../../src/platform/images/queue.ts';
import { heldImages } from '../helpers/held-images.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';

describe('a queue for expensive work', () => {
  /**
   * Returns an image queue, the order in which its jobs start, and a function that adds a job. The job ends when its `end` is
   * called.
   */
  function queued(bounds = { ofAccount: 8, total: 20 }) {
    const queue = new ImageQueue(bounds);
    const order: string[] = [];
    let running = 0;
    const send = (account: number, name: string) => {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const done = queue.run(account, async () => {
        running++;
        expect(running).toBe(1);
        order.push(name);
        await ended;
        running--;
      });
      return { done, end };
    };
    return { queue, order, send };
  }

  test('runs one job at a time, and next one of the account that used the least time', async () => {
    const { order, send } = queued();
    const works = [send(1, 'a1'), send(1, 'a2'), send(1, 'a3'), send(2, 'b1'), send(2, 'b2'), send(3, 'c1')];
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
    expect(order.slice(0, 3)).toEqual(['a1', 'b1', 'c1']);
    expect(order.filter((name) => name.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
  });

  test('lets a new account wait for one job, whatever others have queued', async () => {
    const { order, send } = queued();
    const works = [1, 2, 3].flatMap((account) => [1, 2, 3, 4].map((n) => send(account, `${account}.${n}`)));
    // Ends one job of each account.
    const done = works.filter((_, i) => i % 4 === 0);
    for (const { end } of done) end();
    await Promise.all(done.map((work) => work.done));
    const late = send(4, 'late');
    for (const { end } of [...works, late]) end();
    await Promise.all([...works, late].map(({ done }) => done));
    expect(order.indexOf('late')).toBe(4);
  });

  test('continues after a job that fails', async () => {
    const { queue } = queued();
    const failed = queue.run(1, () => Promise.reject(new Error('no')));
    const next = queue.run(1, async () => 'done');
    await expect(failed).rejects.toThrow('no');
    expect([await next, await queue.run(2, async () => 'again'), queue.waiting]).toEqual(['done', 'again', 0]);
  });

  test('refuses jobs beyond the limit of an account', async () => {
    const { queue, send } = queued({ ofAccount: 2, total: 20 });
    const works = [send(1, 'runs'), send(1, 'waits'), send(1, 'waits')];
    await expect(send(1, 'over').done).rejects.toBeInstanceOf(RequestTimeoutError);
    works.push(send(2, 'of another'));
    expect(queue.waiting).toBe(3);
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
  });

  test('when full, drops the newest job of the longest line in favor of an account with fewer jobs', async () => {
    const { queue, order, send } = queued({ ofAccount: 3, total: 4 });
    const first = send(9, 'runs');
    const long = [send(1, '1.1'), send(1, '1.2'), send(1, '1.3')];
    const other = send(2, '2.1');
    const late = send(3, '3.1');
    await expect(long[2]?.done).rejects.toBeInstanceOf(RequestTimeoutError);
    const last = send(4, '4.1');
    await expect(long[1]?.done).rejects.toBeInstanceOf(RequestTimeoutError);
    await expect(send(5, '5.1').done).rejects.toBeInstanceOf(RequestTimeoutError);
    expect(queue.waiting).toBe(4);
    const works = [first, ...long.slice(0, 1), other, late, last];
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
    expect(order.toSorted()).toEqual(['1.1', '2.1', '3.1', '4.1', 'runs']);
  });
});

describe('uploads of images', () => {
  let service: InProcess;
  beforeAll(async () => {
    service = await startInProcess();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test('of one user and their bots do not delay those of another user: REST, GraphQL, avatars and emoji', async () => {
    const { owner, administrator, bot } = await createOrganization({}, { on: service });
    // Bypasses the limiter of accounts. If the event loop is delayed, this limiter runs the requests of an account one after
    // another. Then only one of them would be in the image queue.
    vi.spyOn(service.app.accountLimiter, 'run').mockImplementation((_account, work) => work());
    const order: string[] = [];
    const noted = async (name: string, uploading: Promise<unknown>) => {
      await uploading;
      order.push(name);
    };
    using images = heldImages();
    const flood = [noted('first', owner.rest('POST', '/users/me/avatar', { file: PNG }))];
    await images.until(0);
    flood.push(
      noted('owner', owner.rest('POST', '/users/me/avatar', { file: PNG })),
      noted('owner', bot.rest('POST', '/users/me/avatar', { file: PNG })),
      noted('owner', owner.rest('POST', '/realm/emoji/tide', { file: PNG })),
      noted('owner', owner.tryMutation('setAvatar', { image: PNG }, 'user { id }')),
    );
    await images.until(4);
    const neighbour = noted('neighbour', administrator.rest('POST', '/users/me/avatar', { file: PNG }));
    await images.until(5);
    images.release();
    await Promise.all([...flood, neighbour]);
    // The image of the other user is decoded next. The two changes may commit in either order.
    expect(order.slice(0, 3)).toContain('neighbour');
    expect(order).toHaveLength(6);
  });
});
