import { expect, test } from 'vitest';
import { RequestTimeoutError } from '../../src/platform/errors.ts';
import { OutgoingLimiter } from '../../src/platform/outgoing-limiter.ts';

/** Returns a function that sends a request of an organization, which runs until `end` is called. */
function requests(total: number) {
  const limiter = new OutgoingLimiter(total);
  const running: string[] = [];
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const ask = (organizationId: number, url: string) => {
    const asked = limiter.run({ organizationId, url }, () => {
      running.push(`${organizationId} ${url}`);
      return promise;
    });
    // Refusals are checked by the tests that expect them.
    asked.catch(() => undefined);
    return asked;
  };
  const count = (organizationId: number) => running.filter((one) => one.startsWith(`${organizationId} `)).length;
  return { ask, count, end };
}

/** Waits until all promises that are settled have called their functions. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const URLS = ['https://slow.example/a', 'https://slow.example/b'];

test('an organization that sends many requests to a host does not hold up those of others to the same host', async () => {
  const { ask, count, end } = requests(16);
  const many = Array.from({ length: 54 }, () => ask(1, 'https://slow.example/a'));
  await expect(ask(1, 'https://slow.example/a')).rejects.toThrow(RequestTimeoutError);
  const others = URLS.map((url) => ask(2, url));
  await settled();
  expect([count(1), count(2)]).toEqual([4, 2]);
  end();
  await Promise.all([...many, ...others]);
});

test('requests to a slow host leave permits of the organization to its other hosts', async () => {
  const { ask, count, end } = requests(16);
  const many = Array.from({ length: 20 }, () => ask(1, 'https://slow.example/a'));
  const other = [1, 2, 3].map((i) => ask(1, `https://${i}.example/`));
  await settled();
  expect(count(1)).toBe(6);
  end();
  await Promise.all([...many, ...other]);
});

test('a quarter of the permits is left to organizations without running requests', async () => {
  const { ask, count, end } = requests(12);
  const many = [1, 2].flatMap((id) => Array.from({ length: 8 }, (_, i) => ask(id, `https://${i}.example/`)));
  await settled();
  expect(count(1) + count(2)).toBe(9);
  const others = [3, 4, 5].map((id) => ask(id, 'https://0.example/'));
  await settled();
  expect([3, 4, 5].map(count)).toEqual([1, 1, 1]);
  end();
  await Promise.all([...many, ...others]);
});
